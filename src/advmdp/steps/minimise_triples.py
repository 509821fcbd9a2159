"""The minimum of <q, C> + R(q), R on triples, over the measures of a box of transitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels.ftrl.regulariser import BARRIER
from advmdp.kernels.ftrl.triples.dual import TripleProblem
from advmdp.kernels.ftrl.triples.minimum import minimise_triples
from advmdp.kernels.model.measure import join
from advmdp.kernels.model.row_status import KNOWN
from advmdp.kernels.sets.box import BoxRows
from advmdp.kernels.sets.confidence import make_rows_known
from advmdp.kernels.steps.interface import ITERATIONS
from advmdp.layout import Floats, Layout
from advmdp.number_checks import shown
from advmdp.steps.confidence import BoxSet, KnownTransition
from advmdp.steps.ftrl_workspace import new_fixed_measure, new_triple_dual
from advmdp.steps.minimum import Minimum, is_triple_table, value_of
from advmdp.steps.workspace import free_boxes


def minimise_over_set(cost: Any, transitions: Any, regulariser: Any, constraints: Any) -> Minimum:
    """The certified minimum for a regulariser on triples, see ``minimise``."""
    if constraints is not None:
        raise InvalidInput('with on="triples" they are not implemented', field="constraints")
    layout, rows = _boxes(transitions)
    record = regulariser.record(layout)
    if record.weight == 0.0:
        record = record._replace(kind=BARRIER)
    known = np.repeat(rows.status == KNOWN, layout.row_sizes())
    if record.barrier.max() > 0.0:
        _refuse_impossible(layout, rows.upper, known)
    chance = np.repeat(1.0 / layout.row_sizes(), layout.row_sizes())
    chance[known] = rows.lower[known]
    costs = _triple_costs(layout, cost)
    measure, dual = new_fixed_measure(layout, chance), new_triple_dual(layout)
    graph, problem = layout.graph(), TripleProblem(rows, record)
    certified = any(
        minimise_triples(graph, costs, measure, problem, dual, in_logs) for in_logs in (None, True)
    )
    residual, gap, _ = dual.certificate.figures.tolist()
    iterations = int(dual.certificate.counts[ITERATIONS])
    if not certified:
        raise UncertifiedStep(
            f"minimise: flow residual {residual:.1e} after {iterations} iterations; "
            "scale costs and weights to fewer magnitudes"
        )
    q = np.zeros(layout.n_entries)
    join(graph, measure, q)
    counted = q > 0.0
    barrier = np.repeat(record.barrier, layout.row_sizes())[counted]
    value = value_of(q[counted], costs[counted], record._replace(barrier=barrier))
    return Minimum(layout.triples(q), value, gap, residual, iterations, converged=True)


def boxes_of(known: KnownTransition) -> BoxRows:
    """A known transition as boxes without width, every row known."""
    rows = free_boxes(known.layout)
    everything = np.full(known.layout.n_rows, True)
    make_rows_known(known.layout.graph(), everything, known.known_transition(), rows)
    return rows


def _boxes(transitions: Any) -> tuple[Layout, BoxRows]:
    """The layout and the set."""
    if isinstance(transitions, KnownTransition):
        return transitions.layout, boxes_of(transitions)
    if isinstance(transitions, BoxSet):
        return transitions.layout, transitions.rows
    raise InvalidInput(
        f'with on="triples" give a BoxSet or a KnownTransition, not {shown(transitions)}',
        field="transitions",
    )


def _refuse_impossible(layout: Layout, upper: Floats, known: Any) -> None:
    """A triple that cannot happen has a logarithm of minus infinity."""
    if ((upper <= 0.0) & ~known).any():
        row = int(layout.entry_rows()[np.flatnonzero((upper <= 0.0) & ~known)[0]])
        raise InvalidInput(
            f"upper bound zero at {layout.name_of_row(row)}; leave a triple that cannot happen out "
            "of the layout's successors",
            field="transitions",
        )


def _triple_costs(layout: Layout, cost: Any) -> Floats:
    """Costs over entries; of a pair table the same for all successors."""
    if is_triple_table(layout, cost):
        return layout.flat_triples(cost, "cost")
    return np.repeat(layout.flat_pairs(cost, "cost"), layout.row_sizes())
