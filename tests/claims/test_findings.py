"""Whatever a claim finds can be stored and drawn."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from advmdp.claims import (
    confidence,
    hedge,
    implicit_exploration,
    key_lemma,
    occupancy,
    upper_bounds,
    visit_sums,
)
from advmdp.claims.finding import Finding
from advmdp.reports.figures.panels import vertical_range
from tests.claims.broken import rng

TINY: dict[str, Callable[[], Finding]] = {
    "occupancy": lambda: occupancy.examine(1, rng()),
    "confidence": lambda: confidence.examine(confidence.Size(3, 30, 2), rng()),
    "upper bounds": lambda: upper_bounds.examine(upper_bounds.Size(1, 2, 1, 50), rng()),
    "hedge": lambda: hedge.examine(hedge.Size(1, 50), rng()),
    "implicit exploration": lambda: implicit_exploration.examine(
        implicit_exploration.Size(5, 20), rng()
    ),
    "visit sums": lambda: visit_sums.examine(visit_sums.Size(2, 30), rng()),
    "key lemma": lambda: key_lemma.examine(key_lemma.Size((20, 40), (2, 3), 20, 1), rng()),
}


@pytest.mark.parametrize("name", TINY)
def test_data_are_plain_and_panels_can_be_drawn(name: str) -> None:
    finding = TINY[name]()
    assert json.loads(json.dumps(finding.data, allow_nan=False)) == finding.data
    for panel in finding.panels:
        low, high = vertical_range(panel)
        assert low < high
        for series in panel.series:
            assert series.x.shape == series.y.shape
            assert np.isfinite(series.y).all()
            assert (series.x > 0).all() or not panel.x_log


def test_the_same_seed_finds_the_same() -> None:
    first, second = (TINY["confidence"]() for _ in range(2))
    assert first.data == second.data
