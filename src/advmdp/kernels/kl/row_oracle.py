"""The row problem of the relative-entropy step, for rows of every status (``sets/held``)."""

from __future__ import annotations

import math
from typing import Any

from ..model.graph import Graph, row_begin, row_dot, row_size
from ..model.measure import Measure
from ..model.row_status import is_bound, is_free, is_known
from ..runtime.targets import kernel, leaf
from ..sets.held import (
    hold_point,
    hold_resting,
    hold_scaled,
    hold_written,
    is_written,
    written_gain,
)
from ..sets.interface import has_tightness, solve_row, solve_row_in_logs
from ..sets.log_domain import normalise_in_logs, weigh_in_logs
from .dual import Dual


@leaf
def rests(r: int, rows: Any, dual: Dual) -> bool:
    """Whether a row is written and known to lie in its set."""
    return (
        has_tightness(rows)
        and is_bound(rows, r)
        and is_written(dual.held, r)
        and bool(dual.held.tight[r] <= 1.0)
    )


@leaf
def solve_any_row(
    graph: Graph, r: int, measure: Measure, rows: Any, dual: Dual, at_zero: bool
) -> float:
    """Solve the row problem; returns e^gain, or a number below SMALLEST if floats cannot hold it.

    ``at_zero`` says that beta is zero: a row that lies in its set is its own solution there.
    """
    if is_free(rows, r):
        growth = row_dot(graph, r, measure.chance, dual.tilt)
        hold_scaled(dual.held, r, 1.0 / growth)
        return growth
    if at_zero and rests(r, rows, dual):
        hold_resting(graph, r, measure.chance, dual.held)
        return 1.0
    if is_known(rows, r):
        hold_point(dual.held, r, row_dot(graph, r, measure.chance, dual.beta))
        return math.exp(dual.held.gain[r])
    return solve_row(  # type: ignore[no-any-return]
        graph, r, measure.chance, dual.tilt, dual.beta, rows, dual.held
    )


@kernel
def solve_any_row_in_logs(graph: Graph, r: int, measure: Measure, rows: Any, dual: Dual) -> None:
    """The same on the safe path: p_beta is always written, nothing can overflow."""
    held = dual.held
    if is_known(rows, r):
        hold_point(held, r, row_dot(graph, r, measure.chance, dual.beta))
        return
    weigh_in_logs(graph, r, measure.chance, dual.beta, held.work)
    if is_free(rows, r):
        log_scale = normalise_in_logs(
            row_begin(graph, r), row_size(graph, r), held.work, held.group
        )
        hold_written(held, r, log_scale, 1.0, 0.0, 0.0)
        held.gain[r] = written_gain(graph, r, measure.chance, dual.beta, held)
    else:
        solve_row_in_logs(graph, r, measure.chance, dual.beta, rows, held)
