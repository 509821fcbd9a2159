"""The claims, in the order of the paper: the only table to edit when one is added."""

from __future__ import annotations

from collections.abc import Callable

from advmdp.claims import (
    confidence,
    hedge,
    implicit_exploration,
    key_lemma,
    occupancy,
    projection_dual,
    upper_bounds,
    visit_sums,
)
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab

CLAIMS: dict[str, Callable[[Lab], Finding]] = {
    "occupancy-measures": occupancy.measure,
    "confidence-sets": confidence.measure,
    "upper-occupancy": upper_bounds.measure,
    "projection-dual": projection_dual.measure,
    "hedge": hedge.measure,
    "implicit-exploration": implicit_exploration.measure,
    "visit-sums": visit_sums.measure,
    "key-lemma": key_lemma.measure,
}
