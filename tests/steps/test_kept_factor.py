"""The factors that a projection keeps for the first step of the next one."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.sets.interface import knows_every_row
from advmdp.kernels.steps.interface import EVALUATIONS, RESIDUAL
from advmdp.steps.workspace import new_solver

SIZES, N_ACTIONS, N = (1, 4, 5, 3, 1), 3, 60
MDP = am.families.random_mdp(SIZES, N_ACTIONS, seed=3)
LOSSES = am.losses.Stochastic(np.random.default_rng(5).random(MDP.layout.n_rows))


def learner_of(name: str) -> am.UOBREPS | am.OREPS:
    if name == "o-reps":
        return am.OREPS(MDP.layout, transitions=MDP.transitions, n_episodes=4 * N)
    return am.UOBREPS(MDP.layout, n_episodes=4 * N, log_scale=0.05)


def play(learner: am.UOBREPS | am.OREPS, n_episodes: int, seed: int) -> am.Run:
    return am.play(MDP, LOSSES, learner, n_episodes, seed=seed)


def kept_of(learner: am.UOBREPS | am.OREPS) -> dict[str, np.ndarray]:
    return {name: a for name, a in learner.state().items() if ".kept." in name}


@pytest.mark.parametrize("name", ["o-reps", "uob-reps"])
def test_results_are_those_without_it(name: str) -> None:
    """Whatever stands in the factors, a step ends at the same measure, certified."""
    learner = learner_of(name)
    play(learner, N, seed=1)
    state = learner.state()
    kept = kept_of(learner)
    assert len(kept) == 2
    assert all(array.all() for key, array in kept.items() if key.endswith("is_there"))
    policies = []
    rng = np.random.default_rng(0)
    for change in ("as kept", "nothing kept", "noise", "zeros"):
        other = learner_of(name)
        changed = dict(state)
        for key in kept:
            if key.endswith("is_there"):
                changed[key] = np.array([change != "nothing kept"], dtype=np.uint8)
            elif change == "noise":
                changed[key] = rng.normal(size=kept[key].shape)
            elif change == "zeros":
                changed[key] = np.zeros_like(kept[key])
        other.restore(changed)
        play(other, 1, seed=2)
        policies.append(np.concatenate([table.ravel() for table in other.policy()]))
        assert other.kernel_state.step.solver.certificate.figures[RESIDUAL] <= 1e-10
    assert np.abs(policies[0] - state["step.measure.policy"]).max() > 1e-4  # the step has moved it
    for policy in policies[1:]:
        assert np.allclose(policy, policies[0], rtol=0.0, atol=1e-8)


def test_it_saves_no_evaluation_and_no_certificate() -> None:
    """The first direction is as good as a new one: as many evaluations, to one in a step."""
    learner = learner_of("o-reps")
    play(learner, N, seed=1)
    fresh = learner_of("o-reps")
    state = learner.state()
    fresh.restore(state | {key: np.zeros_like(array) for key, array in kept_of(learner).items()})
    counts = []
    for each in (learner, fresh):
        play(each, 1, seed=2)
        counts.append(int(each.kernel_state.step.solver.certificate.counts[EVALUATIONS]))
    assert counts[0] <= counts[1] + 1


def test_a_file_without_it_can_be_read() -> None:
    learner = learner_of("uob-reps")
    play(learner, N, seed=1)
    lacking = {key: a for key, a in learner.state().items() if ".kept." not in key}
    again = learner_of("uob-reps")
    play(again, 3, seed=9)
    again.restore(lacking)
    assert not any(array.any() for array in kept_of(again).values())
    name = next(key for key in kept_of(learner) if key.endswith("entries"))
    with pytest.raises(am.InvalidInput, match="other parts"):
        again.restore({key: a for key, a in learner.state().items() if key != name})


def test_a_factor_of_the_future_is_refused() -> None:
    learner = learner_of("uob-reps")
    state = learner.state()
    for key in kept_of(learner):
        wrong = {**state, key: np.full_like(state[key], 2 if key.endswith("is_there") else np.nan)}
        with pytest.raises(am.InvalidInput):
            learner.restore(wrong)


def test_who_keeps() -> None:
    """A projector's answers do not depend on one another, and files of wide layouts stay small."""
    assert new_solver(MDP.layout).kept.entries.size == 0
    wide = am.UOBREPS(am.Layout((1, 13, 1), 2), n_episodes=9)
    assert all(array.size == 0 for array in kept_of(wide).values())


def test_only_a_known_transition_knows_every_row() -> None:
    assert knows_every_row(learner_of("o-reps").kernel_state.rows)
    assert not knows_every_row(learner_of("uob-reps").kernel_state.rows)
