"""States with different numbers of actions: the twin with copies, enumeration, both doors."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.model.visits import EPISODES
from advmdp.layout.actions import spread_path
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.feedback import check_trajectory
from tests.reference.contract import feedback_of, made

COUNTS = [[2], [1, 3, 2], [3, 1]]
SIZES = (1, 3, 2, 1)
RNG = np.random.default_rng(7)
LAYOUT = am.Layout(SIZES, COUNTS)
TRANSITIONS = [RNG.dirichlet(np.ones(m), (n, 3)) for n, m in pairwise(SIZES)]
TABLE = [RNG.random((n, 3)) for n in SIZES[:-1]]
GONE = [np.arange(3) >= np.array(counts)[:, None] for counts in COUNTS]
for transition, table, gone in zip(TRANSITIONS, TABLE, GONE, strict=True):
    transition[gone], table[gone] = np.nan, np.nan  # nobody asks for it
MDP = am.LayeredMDP(LAYOUT, TRANSITIONS)


def twin() -> tuple[am.LayeredMDP, Any]:
    """Equal counts: copies of the last action, declared to have its transition."""
    copied = [np.array(table) for table in MDP.transitions]
    costs = [np.array(table) for table in TABLE]
    pools, first = [], 0
    for table, cost, counts in zip(copied, costs, COUNTS, strict=True):
        pool = first + np.arange(cost.size).reshape(cost.shape)
        for x, n in enumerate(counts):
            table[x, n:], cost[x, n:], pool[x, n:] = table[x, n - 1], cost[x, n - 1], pool[x, n - 1]
        pools.append(pool)
        first += pool.size
    return am.LayeredMDP(am.Layout(SIZES, 3, shared_rows=pools), copied), costs


EQUAL, COSTS = twin()


@pytest.mark.parametrize(
    "name", ["uob-reps", "o-reps-bandit", "ucbvi-bf", "exp3-ix", "plan-window"]
)
def test_a_run_is_that_of_the_twin_with_copies(name: str) -> None:
    mine, theirs = (
        am.play(mdp, am.losses.Switching([table], 1), made(name, mdp, 60), 60, seed=3)
        for mdp, table in ((MDP, TABLE), (EQUAL, COSTS))
    )
    if name != "ucbvi-bf":  # which counts the copies apart if nobody tells it
        assert np.array_equal(mine.expected_loss, theirs.expected_loss)
    assert np.array_equal(mine.best_loss, theirs.best_loss)
    assert mine.compiled


def test_the_comparator_is_the_best_of_all_policies_that_exist() -> None:
    losses = am.losses.Stochastic(TABLE)
    n_episodes = 40
    run = am.play(MDP, losses, am.Uniform(LAYOUT), n_episodes, seed=1)
    stream = losses.begin(LAYOUT, 1)
    total = LAYOUT.pairs(sum(stream.table(t) for t in range(n_episodes)))
    choices = [range(n) for layer in COUNTS for n in layer]
    best = np.inf
    for chosen in product(*choices):
        value, left = np.zeros(1), list(chosen)
        for cost, move in zip(total[::-1], MDP.transitions[::-1], strict=True):
            here = [left.pop() for _ in cost][::-1]
            value = np.array([cost[x, a] + move[x, a] @ value for x, a in enumerate(here)])
        best = min(best, float(value[0]))
    assert run.best_loss[-1] == pytest.approx(best, abs=1e-9)


def test_losses_of_rows_in_place_are_those_of_the_last_action_coin_and_all() -> None:
    stream = am.losses.Adaptive(TABLE, strength=0.5, memory=0.5, noisy=True).begin(LAYOUT, 0)
    assert LAYOUT.stands_for is not None
    for t in range(20):
        table = stream.table(t)
        assert np.array_equal(table, table[LAYOUT.stands_for])
        stream.observe(np.array([2, 5, 17]), np.zeros(3))  # three rows in place of others
    pressure = stream.state()["pressure"]
    assert pressure[[1, 3, 15]] == pytest.approx(1.0, abs=1e-4)
    assert not pressure[[2, 5, 17]].any()


@pytest.mark.parametrize("name", LEARNERS)
def test_no_learner_gives_probability_to_actions_that_do_not_exist(name: str) -> None:
    learner = made(name, MDP, 20)
    rng = np.random.default_rng(0)
    for _ in range(20):
        policy = learner.policy()
        for part, gone in zip(policy, GONE, strict=True):
            assert (part[gone] == 0.0).all()
            assert part.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
        states, actions = [0], []
        for k, part in enumerate(policy):
            actions.append(int(rng.choice(3, p=part[states[-1]] / part[states[-1]].sum())))
            chances = MDP.transitions[k][states[-1], actions[-1]]
            states.append(int(rng.choice(len(chances), p=chances)))
        learner.update(feedback_of(learner, states, actions, TABLE))


def test_an_update_draws_the_row_by_the_learners_own_law() -> None:
    """Twenty thousand draws: an error of 0.025 is seven standard deviations."""
    policy = np.zeros(LAYOUT.n_rows)
    policy[3:6] = 0.2, 0.5, 0.3  # layer 1, state 0: one action, two rows in its place
    draws = np.random.default_rng(1).random(20_000)
    path = spread_path(LAYOUT, np.full(len(draws), 3), policy, draws)
    share = np.bincount(path - 3, minlength=3) / len(draws)
    assert share == pytest.approx([0.2, 0.5, 0.3], abs=0.025)
    kept = spread_path(LAYOUT, np.array([0, 6]), policy, np.array([0.9, 0.9]))
    assert kept.tolist() == [0, 6]  # actions that nothing stands for


def test_late_feedback_is_spread_by_the_policy_that_was_played() -> None:
    """Two episodes under way, finished in their order: the first record is the current policy."""
    late, prompt = (am.UOBREPS(LAYOUT, 10, eta=0.5, gamma=0.1) for _ in range(2))
    episode = am.Trajectory([0, 0, 1, 0], [1, 0, 0], [0.2, 1.0, 0.5])  # two rows have rows in place
    late.update(episode, late.issue())
    prompt.update(episode)
    assert all(map(np.array_equal, late.policy(), prompt.policy()))
    fixed, flat = late.issue().fixed, check_trajectory(LAYOUT, episode)
    fixed.policy[3:6] = 0.25, 0.75, 0.0  # another law than that of now
    seen = np.zeros(3)
    for number in range(2000):  # an error of 0.06 is six standard deviations
        late._state.visits.clock[EPISODES] = number
        seen[late._spread(flat, fixed.policy).path[1] - 3] += 1
    assert seen / 2000 == pytest.approx([0.25, 0.75, 0.0], abs=0.06)


def test_files_views_and_equality_know_the_counts(tmp_path: Path) -> None:
    learner = am.UOBREPS(LAYOUT, 30)
    am.play(MDP, am.losses.Stochastic(TABLE), learner, 10)
    learner.save(tmp_path / "counts.am")
    again = am.load(tmp_path / "counts.am")
    assert again.layout == LAYOUT != am.Layout(SIZES, 3)
    assert [counts.tolist() for counts in again.layout.action_counts] == COUNTS
    assert all(map(np.array_equal, again.policy(), learner.policy()))
    assert "n_actions=1 to 3" in repr(LAYOUT)
    assert ">1 to 3</td>" in LAYOUT._repr_html_()
    views = am.start_views(LAYOUT)
    assert [counts.tolist() for counts in views[0].layout.action_counts] == [[1], [3, 1]]
    assert views[0].layout.stands_for.tolist() == [0, 0, 0, 3, 4, 5, 6, 6, 6]  # type: ignore[union-attr]


def test_wrong_actions_and_policies_are_refused() -> None:
    named = am.Layout((1, 2, 1), [[2], [1, 2]], state_names=[["a"], ["b", "c"]])
    learner = am.UOBREPS(named, 10)
    with pytest.raises(am.InvalidInput, match=r"action 1 at step 1 does not exist in state b"):
        learner.update(am.Trajectory([0, 0, 0], [0, 1], [0.5, 0.5]))
    policy = [np.array([[0.5, 0.5]]), np.array([[0.5, 0.5], [0.5, 0.5]])]
    with pytest.raises(am.InvalidInput, match="layer 1, state b has no action 1"):
        am.upper_occupancy(policy, am.AnyTransition(named))
    for wrong in ([[2]], [[2], [1]], [[2], [0, 1]], [[2], [1.5, 2]], "22"):
        with pytest.raises(am.InvalidInput, match="n_actions"):
            am.Layout((1, 2, 1), wrong)
