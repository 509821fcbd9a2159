"""Lines of merged rows that are carried over: what stands is what would be formed anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.kl.merged.carried_lines import LONG, NOT_IN
from tests.reference.contract import assert_same_state, drive, follow, losses_of, made

MDP = am.families.random_mdp((1, 35, 33, 1), 2, seed=4)
SHARP: dict[str, float] = {"log_scale": 0.0005, "eta_scale": 8.0}


def learner_of(name: str, n_episodes: int = 400) -> Any:
    """With sets that bind after a while, where there are sets."""
    parameters: dict[str, Any] = SHARP if name == "uob-reps" else {}
    if name == "uob-reps":
        return am.UOBREPS(MDP.layout, n_episodes, **parameters)
    return made(name, MDP)


def merged_rows(learner: Any) -> Any:
    """The lines of a learner."""
    return learner.kernel_state.step.solver.dual.merged


@pytest.mark.parametrize("name", ["uob-reps", "uc-o-reps-box", "ada-uc-o-reps"])
def test_a_learner_that_forgets_its_lines_has_the_same_bits(name: str) -> None:
    keeps, forgets = learner_of(name), learner_of(name)
    n = 12 if name != "uob-reps" else 120
    for t in range(n):
        for one in (keeps, forgets):
            follow(one, MDP, t, t + 1)
        merged_rows(forgets).weight[:] = np.nan
        merged_rows(forgets).table[:] = np.nan
    assert_same_state(keeps, forgets)


def test_lines_stand_and_are_those_of_their_rows() -> None:
    learner = learner_of("uob-reps")
    layout = MDP.layout
    some_left_out = False
    for t in range(300):
        follow(learner, MDP, t, t + 1)
        if t % 20:
            continue
        merged, measure = merged_rows(learner), learner.kernel_state.step.measure
        lines = layout.lines()
        for x in range(layout.n_states - 1):
            begin, end = (int(lines.row_start[i]) for i in (x, x + 1))
            if end - begin < LONG:
                own = merged.weight[x * layout.n_actions : (x + 1) * layout.n_actions]
                assert np.isnan(own).all()  # as soon formed anew
                continue
            expected = np.zeros(end - begin)
            for r in range(x * layout.n_actions, (x + 1) * layout.n_actions):
                if merged.weight[r] == NOT_IN:
                    some_left_out = True
                    continue
                assert merged.weight[r] == max(measure.policy[r], 0.0)
                first = int(layout.row_start[r])
                chance = np.maximum(measure.chance[first : first + end - begin], 0.0)
                expected = expected + merged.weight[r] * chance
            assert (merged.table[begin:end] == expected).all()
    assert some_left_out


def test_what_is_restored_into_a_used_learner_finds_no_lines_of_it() -> None:
    learner = learner_of("uob-reps")
    drive(learner, MDP, 0, 30)
    saved = learner.state()
    drive(learner, MDP, 30, 60)
    once = learner.state()
    other = am.UOBREPS(MDP.layout, 400, **SHARP)
    flipped = [1.0 - table for table in losses_of(MDP, 3)]
    am.play(MDP, am.losses.Stochastic(flipped), other, 60, seed=9)
    for used in (learner, other):
        used.restore(saved)
        assert np.isnan(merged_rows(used).weight).all()
        drive(used, MDP, 30, 60)
        again = used.state()
        assert all(np.array_equal(once[part], again[part]) for part in once)
