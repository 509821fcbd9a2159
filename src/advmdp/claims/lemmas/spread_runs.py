"""The spread K of the key lemma in one run, its bounds, and sweeps of such runs along an axis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from advmdp.claims.references.lemma_bounds import key_lemma_bound
from advmdp.claims.references.regret_bounds import upper_bound
from advmdp.layout import Floats, Layout
from advmdp.learners.tuning import width_log_term

ACTIONS, DELTA = 2, 0.1
BOX, BALL = "box", "L1"


class SpreadRun(NamedTuple):
    """K of one run, and what its bound is made of."""

    layers: tuple[int, ...]
    n_episodes: int
    log_scale: float
    spread: float
    """K."""
    inverse: list[float]
    """The sums of q / max(1, N) by layer."""
    root: list[float]
    """The sums of q / sqrt(max(1, N)) by layer."""
    covered: bool

    @property
    def layout(self) -> Layout:
        """The layout of the run."""
        return Layout(self.layers, ACTIONS)

    @property
    def trivial(self) -> float:
        """The largest K that any sets allow."""
        return float(self.n_episodes * sum(self.layers[1:-1]))

    @property
    def leading(self) -> float:
        """L |X| sqrt(|A| T ln(T |X| |A| / delta))."""
        return upper_bound(self.layout, self.n_episodes, DELTA)

    @property
    def bound(self) -> float:
        """The bound with the constants of the proof; for the box set only."""
        log_term = self.log_scale * width_log_term(self.layout, self.n_episodes, DELTA)
        return key_lemma_bound(self.layout, log_term, self.inverse, self.root)


class Sweep(NamedTuple):
    """Runs along one axis: a row for each instance, a column for each place on the axis."""

    kind: str
    """The set: ``BOX`` or ``BALL``."""
    log_scale: float
    x: list[float]
    runs: list[list[SpreadRun]]

    @property
    def name(self) -> str:
        """The set and the factor on its log term."""
        return f"{self.kind}, log term x {self.log_scale:g}"

    def column_means(self, quantity: str) -> Floats:
        """The means over instances of an attribute of the runs."""
        table = [[float(getattr(run, quantity)) for run in row] for row in self.runs]
        means: Floats = np.array(table).mean(axis=0)
        return means

    @property
    def last_slope(self) -> float:
        """The exponent between the last two places: before, the growth has not settled."""
        rise = np.diff(np.log(self.column_means("spread")))
        return float(rise[-1] / np.diff(np.log(self.x))[-1])
