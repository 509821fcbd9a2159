"""A learner played side by side with its slow transcription, and what every learner must do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import advmdp as am
from advmdp.layout import Table


class Shadow:
    """Plays the learner, tells both what happened, and calls ``compare`` before each episode."""

    def __init__(self, learner: Any, plain: Any, compare: Callable[[Any, Any], None]) -> None:
        self.learner, self.plain, self.compare = learner, plain, compare
        self.feedback = learner.feedback

    def policy(self) -> Table:
        self.compare(self.learner, self.plain)
        policy: Table = self.learner.policy()
        return policy

    def update(self, feedback: Any) -> None:
        self.learner.update(feedback)
        self.plain.update(list(feedback.states), list(feedback.actions), feedback.losses)


def assert_greedy(policy: Table, costs: Table, tolerance: float = 1e-9) -> None:
    """One action with probability one, of least cost; sums may be rounded in another order."""
    for chosen, cost in zip(policy, costs, strict=True):
        assert set(np.unique(chosen)) <= {0.0, 1.0}
        assert np.array_equal(chosen.sum(axis=1), np.ones(len(chosen)))
        paid = (chosen * cost).sum(axis=1)
        assert (paid <= cost.min(axis=1) + tolerance).all()


def assert_same_both_ways(
    mdp: am.LayeredMDP, losses: am.losses.LossProcess, make: Callable[[], Any], n_episodes: int
) -> None:
    """The compiled loop and the protocol loop give the same run and the same state."""
    learners = make(), make()
    fast = am.play(mdp, losses, learners[0], n_episodes, seed=4, compiled=True)
    slow = am.play(mdp, losses, learners[1], n_episodes, seed=4, compiled=False)
    assert fast.compiled
    assert not slow.compiled
    for field in ("regret", "expected_loss", "realised_loss", "best_loss"):
        assert np.array_equal(getattr(fast, field), getattr(slow, field)), field
    one, other = (learner.state() for learner in learners)
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def assert_resumes(
    mdp: am.LayeredMDP, losses: am.losses.LossProcess, make: Callable[[], Any], n_episodes: int
) -> None:
    """A state saved in the middle and restored into a new learner has the identical future."""
    first, second = make(), make()
    am.play(mdp, losses, first, n_episodes // 2, seed=6)
    second.restore(first.state())
    rest = n_episodes - n_episodes // 2
    runs = [am.play(mdp, losses, learner, rest, seed=7) for learner in (first, second)]
    assert np.array_equal(runs[0].expected_loss, runs[1].expected_loss)
    one, other = first.state(), second.state()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def worlds() -> dict[str, am.LayeredMDP]:
    """A dense random MDP, one with scattered successors, one with rows of several widths."""
    return {
        "dense": am.families.random_mdp((1, 3, 2, 4, 1), 2, seed=0),
        "scattered": am.families.random_mdp((1, 5, 6, 5, 1), 3, seed=1, n_successors=2),
        "river": am.families.river_swim(length=4, horizon=6),
    }


def random_mean(mdp: am.LayeredMDP, seed: int = 0) -> Table:
    """Mean losses, uniform on [0, 1]."""
    return mdp.layout.pairs(np.random.default_rng(seed).random(mdp.layout.n_rows))


def optimal_values(mdp: am.LayeredMDP, loss: Table) -> Table:
    """Q*(x, a) under the true transition, by the Bellman equation."""
    value, table = np.zeros(1), []
    for step, cost in zip(mdp.transitions[::-1], loss[::-1], strict=True):
        table.append(cost + step @ value)
        value = table[-1].min(axis=1)
    return table[::-1]
