"""The worlds that are measured: random transitions, coin-flip losses, fixed seeds."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

import advmdp as am
from benchmarks.machine import Timing, stopwatch


@dataclass(frozen=True)
class Shape:
    """Layer sizes and number of actions."""

    sizes: tuple[int, ...]
    n_actions: int

    def __str__(self) -> str:
        """Runs of equal layers in short: 1,10x5,1 x4."""
        parts = []
        for size, run in groupby(self.sizes):
            length = len(list(run))
            parts.append(f"{size}x{length}" if length > 2 else ",".join([str(size)] * length))
        return f"{','.join(parts)} x{self.n_actions}"


SMALL = Shape((1, 3, 3, 1), 2)
MIDDLE = Shape((1, *[10] * 5, 1), 4)
BROAD = Shape((1, *[30] * 4, 1), 5)
LARGE = Shape((1, *[100] * 5, 1), 10)


@dataclass(frozen=True)
class World:
    """A transition and a loss process on one layout."""

    mdp: am.LayeredMDP
    losses: am.losses.LossProcess

    @property
    def layout(self) -> am.Layout:
        """The layout of both."""
        return self.mdp.layout


def make_world(shape: Shape, n_successors: int | None = None, seed: int = 0) -> World:
    """Dirichlet rows and means uniform on [0, 1]."""
    mdp = am.families.random_mdp(shape.sizes, shape.n_actions, seed, n_successors=n_successors)
    mean = np.random.default_rng(seed + 1).random(mdp.layout.n_rows)
    return World(mdp, am.losses.Stochastic(mean))


def seasoned(world: World, horizon: int, log_scale: float, warm_up: Sequence[int]) -> am.UOBREPS:
    """A learner that has played ``warm_up`` episodes; compiling is over when it returns."""
    learner = am.UOBREPS(world.layout, n_episodes=horizon, log_scale=log_scale)
    for stretch, n_episodes in enumerate(warm_up):
        am.play(world.mdp, world.losses, learner, n_episodes, seed=100 + stretch, checkpoints=[1])
    return learner


def timed_stretch(
    world: World,
    learner: am.UOBREPS,
    n_episodes: int,
    *,
    compiled: bool = True,
    repeats: int = 3,
) -> tuple[Timing, am.Run]:
    """The same episodes from the same learner, several times; the fastest.

    Each repetition plays a copy, so the work is identical and the minimum is fair.  While even the
    fastest was disturbed there are more of them.
    """
    best: tuple[Timing, am.Run] | None = None
    for attempt in range(3 * repeats):
        if best is not None and attempt >= repeats and not best[0].noisy:
            break
        fresh = copy.deepcopy(learner, {id(learner.layout): learner.layout})

        def stretch(fresh: am.UOBREPS = fresh) -> am.Run:
            return am.play(
                world.mdp,
                world.losses,
                fresh,
                n_episodes,
                seed=1,
                checkpoints=[n_episodes],
                compiled=compiled,
            )

        answer = stopwatch(stretch)
        if best is None or answer[0].wall < best[0].wall:
            best = answer
    assert best is not None
    return best
