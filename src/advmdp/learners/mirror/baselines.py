"""Baselines of loss estimates: how they are chosen, and their arrays."""

from __future__ import annotations

import math
import warnings

import numpy as np

from advmdp.checks.numbers import shown, whole_number
from advmdp.errors import InvalidInput, UnsafeChoice
from advmdp.kernels.learners.mirror.baseline import DAMPED, NO_BASELINE, UNDAMPED, Baseline
from advmdp.layout import Layout
from advmdp.learners.tuning import checked_rate

KINDS = {"damped": DAMPED, "undamped": UNDAMPED}
MEMORY = 5
"""Visits that the means of a baseline average over."""
UNDAMPED_IS_UNSAFE = (
    "baseline='undamped': an action that was given up and becomes good is not found again; "
    "use baseline='damped'"
)


def no_baseline() -> Baseline:
    """Estimates as the papers have them: zero off the path."""
    nothing = np.zeros(0)
    none = np.zeros(0, dtype=np.int64)
    return Baseline(NO_BASELINE, 1, 0.0, math.inf, nothing, none, *(nothing,) * 4, none)


def chosen_baseline(
    layout: Layout, kind: str | None, memory: int, damping: float
) -> Baseline | None:
    """The baseline that a learner was asked for; ``damping`` is gamma_0."""
    memory = whole_number(memory, "baseline_memory")
    damping = checked_rate(damping, "damping")
    if kind is None:
        return None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"{shown(kind)} is not 'damped', 'undamped' or None", field="baseline")
    if kind == "undamped":
        warnings.warn(UNDAMPED_IS_UNSAFE, UnsafeChoice, stacklevel=3)  # whoever makes the learner
    return estimates_of_all_pairs(layout, KINDS[kind], memory, damping)


def estimates_of_all_pairs(
    layout: Layout, kind: int, memory: int = 1, damping: float = 0.0
) -> Baseline:
    """The arrays for estimates of all pairs, also of those off the path."""
    rows, layers = layout.n_rows, layout.n_layers
    return Baseline(
        kind=kind,
        memory=memory,
        damping=damping,
        limit=math.inf,  # that of the learner's step takes its place
        mean=np.zeros(rows),
        seen=np.zeros(rows, dtype=np.int64),
        reach=np.zeros(layout.n_states),
        estimate=np.zeros(rows),
        inner=np.zeros(1),
        old_mean=np.zeros(layers),
        old_seen=np.zeros(layers, dtype=np.int64),
    )
