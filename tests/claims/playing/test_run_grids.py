"""Grids of runs: gaps, shapes, and measured grids that are in the order of their specs."""

from __future__ import annotations

import numpy as np
import pytest

from advmdp.claims.playing.regret_grids import measured_on, run_ids
from advmdp.claims.playing.run_grids import Gaps, gap_grid, horizon_grid, specs_of, values_on


def test_gaps_go_from_a_constant_to_the_root_of_the_horizon() -> None:
    for T in (10**3, 10**6):
        grid = gap_grid(T, 5)
        assert (grid[0], len(grid)) == (0.5, 5)
        assert grid[-1] == pytest.approx(4.0 * T**-0.5, rel=1e-4)
    parts = [losses["means"] for losses in Gaps(5, 2).losses(1000)]
    assert parts == ["gap"] * 5 + ["place"] * 2


def test_a_measured_grid_is_in_the_order_of_its_specs() -> None:
    grid = horizon_grid({"name": "uniform"}, [400, 800], Gaps(2, 1), 3)
    numbers = {spec.id: float(i) for i, spec in enumerate(grid.ravel())}
    measured = measured_on(grid, dict(sorted(numbers.items())))
    assert np.array_equal(measured.values.ravel(), np.arange(18.0))
    assert np.array_equal(values_on(grid, numbers), measured.values)
    assert (measured.n_replicates, measured.n_gaps, measured.horizons) == (3, 3, [400, 800])
    assert measured.losses[1][2] == grid[0, 1, 2].losses.label
    assert [layout.layer_sizes for layout in measured.layouts] == [(1, 3, 3, 1)] * 2
    assert run_ids([measured, measured]) == tuple(spec.id for spec in specs_of(grid))
