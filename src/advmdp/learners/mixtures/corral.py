"""Corral: one of several bandit learners plays, and is told of it in proportion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_number
from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.kernels.learners.mirror.baseline import NO_BASELINE
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import (
    DeclaresFeedback,
    HasHorizon,
    HasLayout,
    Resumable,
)
from advmdp.learners.compiled import NO_LOSSES
from advmdp.learners.feedback import check_trajectory
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.saving.saveable import Saveable, Saved
from advmdp.learners.tuning import checked_horizon, checked_layout, scaled_rate
from advmdp.one_thread import OneThread

EPISODES, CHOSEN = 0, 1  # places in the clock
GROWING = ("rates", "largest")
PASSES = 200  # of the bisection, which halves an interval each time


def log_barrier_step(chances: Floats, costs: Floats, rates: Floats) -> Floats:
    """argmin over the simplex of <p, costs> + sum_i d(p_i / chances_i) / rates_i, d(f) = f-1-ln f.

    1 / p_i = 1 / chances_i + rates_i (costs_i - level), with the level at which they sum to one.

    >>> log_barrier_step(np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.ones(2)).round(4)
    array([0.382, 0.618])
    """
    low, high = float(costs.min()), float(costs.max())
    for _ in range(PASSES):
        level = 0.5 * (low + high)
        inverse = 1.0 / chances + rates * (costs - level)
        if inverse.min() > 0.0 and (1.0 / inverse).sum() < 1.0:
            low = level
        else:
            high = level
    found = 1.0 / (1.0 / chances + rates * (costs - low))
    normalised: Floats = found / found.sum()
    return normalised


class Corral(Saveable, HasLayout, DeclaresFeedback, HasHorizon, Resumable):
    """Several bandit learners, known or unknown transition; nearly as good as the best alone.

    Every episode draws a learner i with probability p_i and plays its policy.  With l the losses
    of the path, learner i learns from l / p_i, an estimate of what it would have lost if it had
    always played, and the others from nothing.  The p_i take a step of mirror descent with the log
    barrier and rates of their own on the costs (sum of l) / (L p_i) of i, 0 of the others; where
    1 / p_i exceeds all before, its rate grows by e^{1 / ln T}.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    learners
        A list, or names and learners: of the mirror-descent family with bandit feedback, without a
        baseline or a hint, made for this layout and for n_episodes.  They belong to the corral from
        then on.
    n_episodes
        The horizon T.
    eta
        The first rate; by default sqrt(M / T) for M learners, times ``eta_scale``.
    seed
        Of the draws.

    Guarantee [M: Theorem 4 of the reference with alpha = 1/2]: if the regret of learner i with
    losses weighted by 1 / p_i is at most R_i times the root of the largest 1 / p_i, then E[R_T] is
    of order M / eta + T eta + R_i^2 eta, up to logarithms and with losses as parts of L.  That the
    learners here are stable in this sense is not proved.  Cost of an episode: that of one learner.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> from advmdp.learners.mirror.uob_reps import UOBREPS
    >>> learners = {"careful": UOBREPS(layout, 100), "quick": UOBREPS(layout, 100, eta_scale=4.0)}
    >>> corral = Corral(layout, learners, n_episodes=100)
    >>> corral.chances
    {'careful': 0.5, 'quick': 0.5}

    Reference: Agarwal, Luo, Neyshabur, Schapire, "Corralling a band of bandit algorithms", COLT
    2017.
    """

    feedback: Literal["bandit"] = "bandit"  # type: ignore[assignment]

    def __init__(
        self,
        layout: Layout,
        learners: Any,
        n_episodes: int,
        eta: float | None = None,
        eta_scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.layout = checked_layout(layout)
        self.n_episodes = checked_horizon(n_episodes)
        self.seed = whole_number(seed, "seed", least=0, most=None)
        self._learners = _checked(self.layout, learners, self.n_episodes)
        size = len(self._learners)
        self.eta = scaled_rate(eta, math.sqrt(size / self.n_episodes), eta_scale, "eta")
        self._growth = math.exp(1.0 / math.log(max(self.n_episodes, 3)))
        self._one_thread = OneThread("learner")
        self._chances = np.full(size, 1.0 / size)
        self._rates = np.full(size, self.eta)
        self._largest = np.full(size, 2.0 * size)  # rho
        self._clock = np.zeros(2, dtype=np.int64)
        self._draw()

    # ------------------------------------------------------------------ the contract

    def policy(self) -> Table:
        """The policy of the coming episode, that of the learner which was drawn."""
        return self._acting.policy()

    def update(self, feedback: Any) -> None:
        """Learn from one episode played with ``policy()``."""
        episode = check_trajectory(self.layout, feedback)
        if self.episodes >= self.n_episodes:
            raise InvalidInput(
                f"update: all {self.n_episodes} episodes are played; "
                "make a learner with a larger n_episodes"
            )
        with self._one_thread:
            chosen = int(self._clock[CHOSEN])
            chance = float(self._mixed()[chosen])
            self._acting._learn(episode, (episode.losses / chance, NO_LOSSES))
            costs = np.zeros(len(self._chances))
            costs[chosen] = episode.losses.sum() / (self.layout.n_layers * chance)
            self._chances[:] = log_barrier_step(self._chances, costs, self._rates)
            rare = 1.0 / self._mixed() > self._largest
            self._largest[rare] = 2.0 / self._mixed()[rare]
            self._rates[rare] *= self._growth
            self._clock[EPISODES] += 1
            self._draw()

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._clock[EPISODES])

    @property
    def chances(self) -> dict[str, float]:
        """The probability with which each learner is drawn."""
        return dict(zip(self._learners, self._mixed().tolist(), strict=True))

    @property
    def acting(self) -> str:
        """The name of the learner that plays the coming episode."""
        return list(self._learners)[int(self._clock[CHOSEN])]

    @property
    def _acting(self) -> MirrorDescent:
        return self._learners[self.acting]

    def _mixed(self) -> Floats:
        """The chances, none of them below 1 / (M T)."""
        least = 1.0 / self.n_episodes
        return (1.0 - least) * self._chances + least / len(self._chances)

    def _draw(self) -> None:
        """A function of the seed and the episode, so that a run can be resumed anywhere."""
        uniform = np.random.default_rng([self.seed, self.episodes]).random()
        drawn = int(np.searchsorted(np.cumsum(self._mixed()), uniform, side="right"))
        self._clock[CHOSEN] = min(drawn, len(self._chances) - 1)

    # ------------------------------------------------------------------ keeping

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        with self._one_thread:
            found: Saved = {name: array.copy() for name, array in self._own().items()}
            for i, learner in enumerate(self._learners.values()):
                found |= {f"learner {i}.{name}": array for name, array in learner.state().items()}
        return found

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a corral made with the same arguments."""
        mine = self.state()
        if set(saved) != set(mine) or any(
            saved[name].shape != array.shape or saved[name].dtype != array.dtype
            for name, array in mine.items()
        ):
            raise InvalidInput(
                "restore: the saved state has other parts or shapes; restore into a corral of "
                "the same learners"
            )
        self._check(saved)
        try:
            self._restore_learners(saved)
        except AdvMDPError:
            self._restore_learners(mine)
            raise
        for name, array in self._own().items():
            array[...] = saved[name]

    def _check(self, saved: Mapping[str, NDArray[Any]]) -> None:
        episodes, chosen = saved["clock"].tolist()
        chances = saved["chances"]
        proper = (
            0 <= episodes <= self.n_episodes
            and 0 <= chosen < len(chances)
            and bool((chances > 0.0).all())
            and abs(float(chances.sum()) - 1.0) < 1e-9
            and all(
                bool((np.isfinite(saved[n]) & (saved[n] > 0)).all()) for n in ("rates", "largest")
            )
        )
        if not proper:
            raise InvalidInput("restore: the corral's numbers are none that a run has")

    def _restore_learners(self, saved: Mapping[str, NDArray[Any]]) -> None:
        for i, learner in enumerate(self._learners.values()):
            part = f"learner {i}."
            own = [name for name in saved if name.startswith(part)]
            learner.restore({name.removeprefix(part): saved[name] for name in own})

    def _own(self) -> Saved:
        return {
            "clock": self._clock,
            "chances": self._chances,
            "rates": self._rates,
            "largest": self._largest,
        }


def _checked(layout: Layout, given: Any, n_episodes: int) -> dict[str, MirrorDescent]:
    """Names and learners that take weighted losses."""
    if not isinstance(given, Mapping):
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise InvalidInput("learners: give a list of them, or names and learners")
        given = {f"learner {i}": learner for i, learner in enumerate(given)}
    if not given:
        raise InvalidInput("learners: none; give at least one")
    for name, learner in given.items():
        if not isinstance(learner, MirrorDescent) or learner.feedback != "bandit":
            raise InvalidInput(
                f"learners: {name} ({type(learner).__name__}) is not of the mirror-descent family "
                "with bandit feedback; give uob-reps, o-reps-bandit or another of these"
            )
        if learner.kernel_state.baseline.kind != NO_BASELINE:
            raise InvalidInput(f"learners: {name} has a baseline or a hint; make it without")
        if learner.layout != layout:
            raise InvalidInput(f"learners: {name} has another layout; build all on one")
        if learner.n_episodes - learner.episodes < n_episodes:
            raise InvalidInput(
                f"learners: {name} is made for n_episodes={learner.n_episodes}; make it for "
                f"{n_episodes} or more"
            )
    return {str(name): learner for name, learner in given.items()}
