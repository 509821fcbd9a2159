"""Learners that are wrong on purpose: a claim that cannot tell them apart measures nothing."""

from __future__ import annotations

from typing import Any

import advmdp as am


class NarrowSets(am.UOBREPS):
    """Widths with a thousandth of the log term, whatever is asked for."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings | {"log_scale": 0.001})


class WideSets(am.UOBREPS):
    """Sets that never say anything."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings | {"log_scale": 1e6})


class HeavyStart(am.UOBREPS):
    """A first iterate that visits states of layer 1 more often than any transition allows."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._state.step.measure.mass[1] = 1.5


class NoEpochs(am.UOBREPS):
    """Counters so far below zero that no pair ever doubles: N stays 0."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._state.visits.pairs[:] = -(10**9)


class LyingRate(am.UOBREPS):
    """Says that it learns at a rate that is not its own."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.eta *= 1000.0


class LyingExploration(am.UOBREPS):
    """Explores far less than it says."""

    def __init__(self, layout: am.Layout, n_episodes: int, **settings: Any) -> None:
        super().__init__(layout, n_episodes, **settings)
        said = self.gamma
        super().__init__(layout, n_episodes, **settings | {"gamma_scale": 1e-6})
        self.gamma = said
