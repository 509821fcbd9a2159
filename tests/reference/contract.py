"""What the contract of all learners is checked with: small worlds, changing losses, a driver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import advmdp as am
from advmdp.layout import Table
from advmdp.learners.base import Compiled, offers
from advmdp.learners.catalogue import LEARNERS
from tests.reference.plain_hedge import sample_path
from tests.reference.plain_stochastic import Averages
from tests.reference.worlds import DENSE, GRID, N_EPISODES, WORLDS, knowing, made

__all__ = ["DENSE", "GRID", "N_EPISODES", "WORLDS", "knowing", "made"]

COMPILED = [name for name, entry in LEARNERS.items() if offers(entry.make, Compiled)]
"""Learners whose state is a record of arrays; the others are made of such learners."""


def losses_of(mdp: am.LayeredMDP, t: int) -> Table:
    """Changing losses: anything, then coin flips, all ones, nothing, five episodes each."""
    table = np.random.default_rng([7, t]).random(mdp.layout.n_rows)
    kinds = [table, table.round(), np.ones_like(table), np.zeros_like(table)]
    return mdp.layout.pairs(kinds[t // 5 % 4])


def feedback_of(learner: Any, states: Any, actions: Any, losses: Table) -> Any:
    """What the learner's setting lets it see of an episode."""
    if learner.feedback == "full":
        return am.FullInformation(states, actions, losses)
    seen = [losses[k][states[k], a] for k, a in enumerate(actions)]
    if learner.feedback == "aggregate":
        return am.Aggregate(states, actions, float(sum(seen)))
    return am.Trajectory(states, actions, seen)


def flat(policy: Table) -> NDArray[np.float64]:
    return np.concatenate([layer.ravel() for layer in policy])


def follow(learner: Any, mdp: am.LayeredMDP, start: int, stop: int) -> NDArray[np.float64]:
    """Play episodes start .. stop - 1; the policies of all of them and of the next."""
    policies = [flat(learner.policy())]
    for t in range(start, stop):
        rng = np.random.default_rng([11, t])
        states, actions = sample_path(rng, mdp.transitions, learner.policy())
        learner.update(feedback_of(learner, states, actions, losses_of(mdp, t)))
        policies.append(flat(learner.policy()))
    return np.array(policies)


def doubling(name: str, mdp: am.LayeredMDP, first: int | None = 5, **parameters: Any) -> Any:
    entry = LEARNERS[name]
    if entry.knows_transition:
        parameters["transitions"] = mdp.transitions
    return am.Doubling(entry.make, mdp.layout, first, **parameters)


def drive(learner: Any, mdp: am.LayeredMDP, start: int, stop: int) -> Averages:
    """Like ``follow``, but ends with an update, not with a policy; counts for itself."""
    past = Averages(mdp.layout.layer_sizes, mdp.layout.n_actions)
    for t in range(start, stop):
        rng, losses = np.random.default_rng([11, t]), losses_of(mdp, t)
        states, actions = sample_path(rng, mdp.transitions, learner.policy())
        learner.update(feedback_of(learner, states, actions, losses))
        past.add(states, actions, [losses[k][states[k], a] for k, a in enumerate(actions)])
    return past


def assert_same_state(first: Any, second: Any) -> None:
    one, two = first.state(), second.state()
    assert one.keys() == two.keys()
    for part in one:
        np.testing.assert_array_equal(one[part], two[part], err_msg=part)
