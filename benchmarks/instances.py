"""Projections as they occur inside a run, and how good an answer to one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tests.reference.tables import Table, box_error, divergence, flow_error, greatest_difference

import advmdp as am
from benchmarks.worlds import Shape, World, make_world

LOG_SCALE = 0.01  # sets that bite: the widths of the theory would still be vacuous
MOMENTS = (500, 1000, 2000, 4000, 8000)  # episodes before each instance


@dataclass(frozen=True)
class Instance:
    """argmin D(q || weights) over the measures whose transition lies in the box."""

    weights: Table
    box: am.BoxSet

    @property
    def lower(self) -> Table:
        """Lower bounds of the box."""
        return self.box.lower

    @property
    def upper(self) -> Table:
        """Upper bounds of the box."""
        return self.box.upper


@dataclass(frozen=True)
class Accuracy:
    """Errors of one answer; the differences are to our own certified projection."""

    flow: float
    box: float
    divergence: float
    entries: float

    def worst_with(self, other: Accuracy) -> Accuracy:
        """The larger of each error."""
        return Accuracy(
            max(self.flow, other.flow),
            max(self.box, other.box),
            max(self.divergence, other.divergence),
            max(self.entries, other.entries),
        )


def judge(instance: Instance, answer: Table, reference: am.Projection) -> Accuracy:
    """How far an answer is from feasible and from ours."""
    positive = [np.maximum(layer, 0.0) for layer in answer]
    return Accuracy(
        flow=flow_error(answer),
        box=box_error(answer, instance.lower, instance.upper),
        divergence=abs(divergence(positive, instance.weights) - reference.divergence),
        entries=greatest_difference(answer, reference.occupancy),
    )


def share_at_bounds(instance: Instance, answer: am.Projection) -> float:
    """The share of triples whose transition probability sits on a bound of the box."""
    layout = instance.box.layout
    at_bound = [
        ((p <= low + 1e-12) | (p >= high - 1e-12)).ravel()
        for p, low, high in zip(
            am.transition_of(answer.occupancy, layout), instance.lower, instance.upper, strict=True
        )
    ][:-1]  # the last layer leads to one state: its rows have nothing to choose
    return float(np.concatenate(at_bound).mean())


def instances_of_a_run(shape: Shape, moments: Sequence[int] = MOMENTS) -> list[Instance]:
    """The projections of one run at several moments, from wide sets to narrow ones."""
    world = make_world(shape)
    learner = am.UOBREPS(world.layout, n_episodes=moments[-1] + 1, log_scale=LOG_SCALE)
    rng = np.random.default_rng(2)
    found = []
    for seed, moment in enumerate(moments):
        missing = moment - learner.episodes
        am.play(world.mdp, world.losses, learner, missing, seed=seed, checkpoints=[missing])
        found.append(_next_projection(world, learner, rng))
    return found


def _next_projection(world: World, learner: am.UOBREPS, rng: np.random.Generator) -> Instance:
    """One episode by hand: the weights q_t e^{-eta l^_t} and the set of episode t + 1."""
    weights = [layer.copy() for layer in learner.occupancy()]
    policy, transitions = learner.policy(), world.mdp.transitions
    states, actions = [0], []
    for chances, rows in zip(policy, transitions, strict=True):
        x = states[-1]
        actions.append(int(rng.choice(len(chances[x]), p=chances[x] / chances[x].sum())))
        row = rows[x, actions[-1]]
        states.append(int(rng.choice(len(row), p=row)))
    # Every loss is one: an episode without losses would not move the iterate.
    learner.update(am.Trajectory(states, actions, np.ones(len(actions))))
    for k, estimate in enumerate(learner.estimate_of_last):
        weights[k][states[k], actions[k]] *= np.exp(-learner.eta * estimate)
    box = learner.confidence_set()
    assert isinstance(box, am.BoxSet)
    return Instance(weights, box)
