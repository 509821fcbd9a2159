"""The paper's bounds on the regret and on its four terms.

Constants are those of the proofs where the paper gives them; where it says O(...) the constant is
1, and only the growth of the bound is meant.  |X| counts every state.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from advmdp.layout import Layout
from advmdp.learners.tuning import uob_reps_rate
from advmdp.reports.figures.panels import Series

UPPER, LOWER = "upper bound", "lower bound"
"""The bounds in figures."""
SLOWER_RATE = 2.0 / 3.0
"""The exponent of the next slower rate in the literature of the paper."""


def upper_bound(layout: Layout, n_episodes: int, delta: float) -> float:
    """L |X| sqrt(|A| T ln(T |X| |A| / delta)): Theorem 3, Lemma 5, and the main part of Lemma 6.

    >>> round(upper_bound(Layout(layer_sizes=(1, 3, 3, 1), n_actions=2), 10_000, 0.01))
    13824
    """
    inner = layout.n_actions * n_episodes * log(n_episodes * _pairs(layout) / delta)
    return layout.n_layers * layout.n_states * sqrt(inner)


def lower_bound(layout: Layout, n_episodes: int) -> float:
    """L sqrt(|X| |A| T), the order of the lower bound for every learner (Jin et al., 2018).

    >>> lower_bound(Layout(layer_sizes=(1, 3, 3, 1), n_actions=2), 10_000)
    1200.0
    """
    return layout.n_layers * sqrt(_pairs(layout) * n_episodes)


def bias1_bound(layout: Layout, n_episodes: int, delta: float) -> float:
    """Lemma 6: the order of the key lemma, gamma |X| |A| T, and Azuma's L sqrt(2 T ln(1/delta))."""
    gamma = uob_reps_rate(layout, n_episodes, delta)
    noise = layout.n_layers * sqrt(2.0 * n_episodes * log(1.0 / delta))
    return upper_bound(layout, n_episodes, delta) + gamma * _pairs(layout) * n_episodes + noise


def reg_bound(layout: Layout, n_episodes: int, delta: float) -> float:
    """The bound in the proof of Lemma 12 with its constants; holds with probability 1 - 5 delta.

    L ln(|X|^2 |A|) / eta + eta (|X| |A| T + L ln(L / delta) / (2 gamma)), with eta = gamma.
    """
    eta = uob_reps_rate(layout, n_episodes, delta)
    entropy = layout.n_layers * log(layout.n_states * _pairs(layout)) / eta
    noise = layout.n_layers * log(layout.n_layers / delta) / 2.0
    return entropy + eta * _pairs(layout) * n_episodes + noise


def bias2_bound(layout: Layout, n_episodes: int, delta: float) -> float:
    """The bound in the proof of Lemma 14 with its constants: L ln(|X| |A| / delta) / (2 gamma)."""
    gamma = uob_reps_rate(layout, n_episodes, delta)
    return layout.n_layers * log(_pairs(layout) / delta) / (2.0 * gamma)


def slope_of(x: ArrayLike, y: ArrayLike) -> float:
    """Slope of log y on log x by least squares: the exponent over the range of x.

    >>> slope_of([10, 100, 1000], [1, 100, 10000])
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0].round(12))


def bound_series(key: str, x: ArrayLike, y: ArrayLike) -> Series:
    """A bound as a plain line."""
    return Series(key, key, np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))


def _pairs(layout: Layout) -> int:
    return layout.n_states * layout.n_actions
