"""One number an episode: expectations by enumeration, one layer in closed form."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.layout import Table
from tests.reference.linear_programs import upper_occupancy_lp

MDP = am.families.random_mdp((1, 2, 2, 1), 2, seed=4)
LOSSES = [np.random.default_rng(5).random((n, 2)) for n in (1, 2, 2)]
EAGER = {"log_barrier": 0.1, "eta_scale": 2.0}


def known(n: int = 400) -> am.AggregateTsallisFTRL:
    return am.AggregateTsallisFTRL(MDP.layout, MDP.transitions, n, **EAGER)


def unknown(n: int = 400) -> am.AggregateUOBFTRL:
    return am.AggregateUOBFTRL(MDP.layout, n, log_scale=0.01, **EAGER)


def after_some(learner: Any) -> Any:
    am.play(MDP, am.losses.Stochastic(LOSSES), learner, 40, seed=3)
    return learner


def trajectories(policy: Table) -> Any:
    """All of them, with their probabilities."""
    for x1, x2, *actions in product(range(2), repeat=5):
        states = [0, x1, x2, 0]
        chance = 1.0
        for k, a in enumerate(actions):
            chance *= policy[k][states[k], a] * MDP.transitions[k][states[k], a, states[k + 1]]
        yield states, actions, chance


def advantages(policy: Table) -> tuple[Table, Table]:
    """(Q - V) / L and q(x), by backward and forward recursion."""
    value, found = np.zeros(1), []
    for table, chance, loss in reversed(list(zip(policy, MDP.transitions, LOSSES, strict=True))):
        q_values = loss + chance @ value
        value = (table * q_values).sum(axis=1)
        found.insert(0, (q_values - value[:, None]) / 3)
    mass = [np.ones(1)]
    for table, chance in zip(policy, MDP.transitions, strict=True):
        mass.append(np.einsum("x,xa,xay->y", mass[-1], table, chance))
    return found, mass


@pytest.mark.parametrize("make", [known, unknown])
def test_the_expectation_of_the_estimates(make: Any) -> None:
    learner = after_some(make())
    policy, saved, mean = learner.policy(), learner.state(), np.zeros(MDP.layout.n_rows)
    box = learner.confidence_set()
    for states, actions, chance in trajectories(policy):
        total = sum(LOSSES[k][states[k], a] for k, a in enumerate(actions))
        learner.update(am.Aggregate(states, actions, total))
        mean += chance * learner.kernel_state.baseline.estimate
        learner.restore(saved)
    advantage, mass = advantages(policy)
    if make is known:
        expected = advantage
    else:
        bounds = upper_occupancy_lp(policy, box.lower, box.upper)
        expected = []
        for k, table in enumerate(policy):
            ratio = mass[k] / (bounds[k] / table)[:, 0]
            assert (ratio <= 1 + 1e-9).all()
            expected.append(ratio[:, None] * (advantage[k] + 1 - table) - (1 - table))
            assert (expected[-1] <= advantage[k] + 1e-9).all()  # never above the advantage
    assert np.allclose(mean, MDP.layout.flat_pairs(expected), rtol=0, atol=1e-7)


def test_with_one_layer_the_sum_is_the_loss() -> None:
    """The estimates differ from those of bandit feedback by a constant for all actions.

    Each divides by its own probabilities, so that rounding grows by a tenth in every episode: 1e-13
    after the first, 1e-8 after the hundredth.
    """
    layout = am.Layout((1, 1), 3)
    arm = [np.ones((1, 3, 1))]
    one = am.AggregateTsallisFTRL(layout, arm, 300, log_barrier=0.1)
    two = am.TsallisFTRL(layout, arm, 300, log_barrier=0.1)
    rng = np.random.default_rng(0)
    for _ in range(100):
        assert np.allclose(one.policy()[0], two.policy()[0], rtol=0, atol=1e-6)
        action, loss = int(rng.choice(3, p=one.policy()[0][0])), float(rng.random())
        one.update(am.Aggregate([0, 0], [action], loss))
        two.update(am.Trajectory([0, 0], [action], [loss]))
    assert one.policy()[0].max() > 0.4


@pytest.mark.parametrize("make", [known, unknown])
def test_both_loops_use_nothing_but_the_sum(make: Any) -> None:
    losses = am.losses.Stochastic(LOSSES)
    one, two = make(), make()
    runs = [
        am.play(MDP, losses, x, 400, seed=1, compiled=c) for x, c in ((one, True), (two, False))
    ]
    assert np.array_equal(runs[0].regret, runs[1].regret)
    assert all(np.array_equal(a, two.state()[name]) for name, a in one.state().items())
    assert np.allclose(runs[0].decomposition.total(), runs[0].regret, atol=1e-7)


def test_it_learns_and_known_rows_are_the_known_learner() -> None:
    losses = am.losses.Stochastic([np.where(t > 0.5, 0.8, 0.2) for t in LOSSES])
    runs = [am.play(MDP, losses, make(4000), 4000, seed=2) for make in (known, unknown)]
    uniform = am.play(MDP, losses, am.Uniform(MDP.layout), 4000, seed=2)
    assert runs[0].regret[-1] < 0.35 * uniform.regret[-1]
    assert runs[1].regret[-1] < 0.8 * uniform.regret[-1]


def test_other_feedback_is_refused() -> None:
    learner = known()
    with pytest.raises(am.InvalidInput, match="give it an Aggregate, not a Trajectory"):
        learner.update(am.Trajectory([0, 0, 0, 0], [0, 0, 0], [0.5, 0.5, 0.5]))
    for total in (-0.1, 3.1, np.nan, "1"):
        with pytest.raises(am.InvalidInput, match="total"):
            learner.update(am.Aggregate([0, 0, 0, 0], [0, 0, 0], total))  # type: ignore[arg-type]
    assert learner.episodes == 0
    served = am.Service(learner)
    served.finish(served.begin(), {"states": [0, 0, 0, 0], "actions": [0, 0, 0], "total": 1.5})
    assert learner.episodes == 1
