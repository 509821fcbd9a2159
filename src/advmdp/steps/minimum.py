"""What a regularised minimum is given and what it returns, on pairs and on triples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from advmdp.checks.arguments import instance, is_sequence
from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels.ftrl.regulariser import ENTROPY, Regulariser
from advmdp.kernels.steps.interface import ITERATIONS, RESIDUAL, Certificate
from advmdp.layout import Floats, Layout, Table
from advmdp.steps.confidence import SUM_TOLERANCE


class PartialTransition:
    """A transition whose rows may sum to less than one; the rest ends the episode.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=1)
    >>> PartialTransition(layout, [np.array([[[0.5, 0.2]]]), np.ones((2, 1, 1))]).chance.sum()
    np.float64(2.7)
    """

    def __init__(self, layout: Layout, transitions: Any) -> None:
        self.layout = instance(layout, Layout, "layout")
        self.chance = layout.flat_triples(transitions, "transitions", fill=True)
        start = layout.row_start[:-1]
        total, smallest = (
            np.add.reduceat(self.chance, start),
            np.minimum.reduceat(self.chance, start),
        )
        wrong = (total > 1.0 + SUM_TOLERANCE) | (smallest < 0.0)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InvalidInput(
                f"{layout.name_of_row(row)} has sum {total[row]:.9g} and smallest entry "
                f"{smallest[row]:.3g}; use entries of at least 0 that sum to 1 or less",
                field="transitions",
            )


class Minimum(NamedTuple):
    """A certified minimum."""

    occupancy: Table
    """The minimiser, a triple table; its flow is conserved to rounding."""
    value: float
    """<q, cost> + R(q) of this measure."""
    gap: float
    """The value minus a lower bound on the minimum, without cancellation."""
    flow_residual: float
    """Largest |inflow - outflow| of the dual solution, before the exact finish."""
    iterations: int
    """Newton steps, over all multipliers that were tried."""
    converged: bool
    multipliers: tuple[float, ...] = ()
    """Of the constraints; zero where one is slack."""


def is_triple_table(layout: Layout, table: Any) -> bool:
    """Whether costs are those of triples: by their depth, or by the length of a flat vector."""
    depth, inner = 0, table
    while depth < 4 and is_sequence(inner) and len(inner) > 0:
        depth, inner = depth + 1, inner[0]
    return depth >= 4 or (depth == 1 and len(table) == layout.n_entries != layout.n_rows)


def value_of(q: Floats, costs: Floats, record: Regulariser) -> float:
    """<q, C> + R(q), for the pairs or triples that take part."""
    logs = np.log(q if q.all() else np.where(q > 0.0, q, 1.0))
    if record.kind == ENTROPY:
        regular = record.weight * (q @ logs - q.sum())
    else:
        regular = -record.weight * np.sqrt(q).sum() - record.barrier @ logs
    return float(q @ costs + regular)


def solve_certified(solve: Callable[[bool | None], bool], certificate: Certificate) -> int:
    """Solve on the fast path, or else on the safe one; returns the Newton steps."""
    certified = any(solve(in_logs) for in_logs in (None, True))
    iterations = int(certificate.counts[ITERATIONS])
    if not certified:
        raise UncertifiedStep(
            f"minimise: flow residual {certificate.figures[RESIDUAL]:.1e} after {iterations} "
            "iterations; scale costs and weights to fewer magnitudes"
        )
    return iterations
