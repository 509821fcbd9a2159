"""The random worlds in which the lemmas are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from advmdp.batch import card_name
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.learners.mirror_descent import MirrorDescent
from advmdp.world import families, losses
from advmdp.world.loss_streams import LossProcess
from advmdp.world.mdp import LayeredMDP

MakeLearner = Callable[..., MirrorDescent]
"""``make(layout, n_episodes, **settings)``: tests hand in learners that are broken on purpose."""


class World(NamedTuple):
    """An MDP, losses on it and the seed of a run."""

    mdp: LayeredMDP
    losses: LossProcess
    seed: int


def random_world(sizes: Sequence[int], n_actions: int, rng: np.random.Generator) -> World:
    """Dirichlet rows and coin-flip losses with uniform means."""
    mdp = families.random_mdp(sizes, n_actions, seed=int(rng.integers(2**31)))
    mean = mdp.layout.pairs(rng.random(mdp.layout.n_rows))
    return World(mdp, losses.Stochastic(mean), int(rng.integers(2**31)))


def switching_world(
    sizes: Sequence[int], n_actions: int, rng: np.random.Generator, period: int
) -> World:
    """Two random 0/1 tables in turns: what was best becomes bad."""
    mdp = families.random_mdp(sizes, n_actions, seed=int(rng.integers(2**31)))
    table = rng.integers(0, 2, mdp.layout.n_rows).astype(np.float64)
    tables: list[Any] = [mdp.layout.pairs(table), mdp.layout.pairs(1.0 - table)]
    return World(mdp, losses.Switching(tables, period), int(rng.integers(2**31)))


def seeded(lab: Lab, finding: Finding, *, on_card: bool = False) -> Finding:
    """The finding with the seed that everything in it was drawn from, and with the card if any.

    A card's trajectories part from a core's after some thousand episodes (docs/gpu.md).
    """
    where = f", played on {card_name()}" if on_card else ""
    return replace(finding, instances=f"{finding.instances}; seed {lab.seed}{where}")


def shape_name(sizes: Sequence[int], n_actions: int) -> str:
    """Layers and actions in the usual short form."""
    return f"{','.join(str(n) for n in sizes)} x{n_actions}"
