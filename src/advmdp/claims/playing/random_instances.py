"""Random instances on which the lemmas are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.world import families, losses
from advmdp.world.loss_streams import LossProcess
from advmdp.world.mdp import LayeredMDP

LearnerFactory = Callable[..., MirrorDescent]
"""``make(layout, n_episodes, **settings)``; tests pass learners that are broken on purpose."""


class RandomInstance(NamedTuple):
    """An MDP, losses on it and the seed of a run."""

    mdp: LayeredMDP
    losses: LossProcess
    seed: int


def random_instance(
    sizes: Sequence[int], n_actions: int, rng: np.random.Generator
) -> RandomInstance:
    """Dirichlet rows and coin-flip losses with uniform means."""
    mdp = families.random_mdp(sizes, n_actions, seed=int(rng.integers(2**31)))
    mean = mdp.layout.pairs(rng.random(mdp.layout.n_rows))
    return RandomInstance(mdp, losses.Stochastic(mean), int(rng.integers(2**31)))


def switching_instance(
    sizes: Sequence[int], n_actions: int, rng: np.random.Generator, period: int
) -> RandomInstance:
    """Dirichlet rows; a random 0/1 loss table and its complement take turns."""
    mdp = families.random_mdp(sizes, n_actions, seed=int(rng.integers(2**31)))
    table = rng.integers(0, 2, mdp.layout.n_rows).astype(np.float64)
    tables: list[Any] = [mdp.layout.pairs(table), mdp.layout.pairs(1.0 - table)]
    return RandomInstance(mdp, losses.Switching(tables, period), int(rng.integers(2**31)))


def shape_name(sizes: Sequence[int], n_actions: int) -> str:
    """Layers and actions in short form.

    >>> shape_name((1, 3, 3, 1), 2)
    '1,3,3,1 x2'
    """
    return f"{','.join(str(n) for n in sizes)} x{n_actions}"
