"""The minimum of <q, C> + R(q), R on triples, over the measures of a set of transitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.kernels.ftrl.regulariser import BARRIER, Regulariser
from advmdp.kernels.ftrl.triples.dual import TripleProblem
from advmdp.kernels.ftrl.triples.minimum import minimise_triples, triple_response
from advmdp.kernels.model.measure import join
from advmdp.kernels.model.row_status import KNOWN
from advmdp.kernels.planning.optimism import optimistic_response
from advmdp.kernels.sets.ball import BallRows
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.kernels.sets.confidence import make_rows_known
from advmdp.kernels.sets.interface import known_transition
from advmdp.layout import Floats, Layout
from advmdp.steps.confidence import BoxSet, KnownTransition, L1Set
from advmdp.steps.constraints import (
    TOLERANCE,
    Constraints,
    Inner,
    checked_constraints,
    find_multipliers,
    minimum_under,
)
from advmdp.steps.first_sets import free_boxes
from advmdp.steps.ftrl_workspace import new_fixed_measure, new_triple_dual
from advmdp.steps.minimum import (
    Minimum,
    PartialTransition,
    is_triple_table,
    solve_certified,
    value_of,
)
from advmdp.steps.workspace import new_reach


def minimise_over_set(cost: Any, transitions: Any, regulariser: Any, constraints: Any) -> Minimum:
    """The certified minimum for a regulariser on triples, see ``minimise``."""
    layout, rows = _rows_of(transitions)
    record = regulariser.record(layout)
    if record.weight == 0.0:
        record = record._replace(kind=BARRIER)
    if record.barrier.max() > 0.0 and isinstance(transitions, BoxSet):
        _refuse_impossible(layout, transitions.rows)
    limited = checked_constraints(layout, constraints)
    costs = _triple_costs(layout, cost, may_end=isinstance(transitions, PartialTransition))
    problem = _Problem(layout, rows, costs, record, limited)
    found = find_multipliers(limited, problem.minimum)
    return minimum_under(layout, problem.occupancy(), limited, found, problem)


class _Problem:
    """The minimum for any multipliers of the constraints, with its work space."""

    def __init__(
        self,
        layout: Layout,
        rows: BoxRows | BallRows,
        costs: Floats,
        record: Regulariser,
        limited: Constraints,
    ) -> None:
        self._layout, self.graph, self._costs, self._limited = (
            layout,
            layout.graph(),
            costs,
            limited,
        )
        chance = np.repeat(1.0 / layout.row_sizes(), layout.row_sizes())
        known = np.repeat(rows.status == KNOWN, layout.row_sizes())
        chance[known] = known_transition(rows).array[known]
        self._may_end = len(costs) > layout.n_entries
        self.measure = new_fixed_measure(layout, chance)
        self.dual = new_triple_dual(layout, may_end=self._may_end)
        self._set, self.iterations = TripleProblem(rows, record), 0
        for alone in np.eye(len(limited.limits)):
            self._refuse_unmet(alone)

    def minimum(self, multipliers: Floats) -> Inner:
        """The minimum of <q, cost + multipliers * tables> + R(q)."""
        if len(multipliers) > 1:
            self._refuse_unmet(multipliers)
        sizes, record = self._layout.row_sizes(), self._set.regulariser
        prices = multipliers @ self._limited.tables
        costs = self._costs + _with_ends(np.repeat(prices, sizes), prices, self._may_end)
        work = (self.graph, costs, self.measure, self._set, self.dual)
        self.iterations += solve_certified(
            lambda in_logs: minimise_triples(*work, in_logs), self.dual.certificate
        )
        q = self.occupancy()
        counted = q > 0.0
        entries = record._replace(barrier=np.repeat(record.barrier, sizes)[counted])
        pairs = np.repeat(self.measure.mass[:-1], self.graph.n_actions) * self.measure.policy
        value = value_of(q[counted], costs[: len(q)][counted], entries)
        if self._may_end:
            ended = pairs - np.add.reduceat(q, self._layout.row_start[:-1])
            value += float(ended @ costs[len(q) :])
        return Inner(value, pairs, self._responses)

    def occupancy(self) -> Floats:
        """The last minimiser over entries."""
        q = np.zeros(self._layout.n_entries)
        join(self.graph, self.measure, q)
        return q

    def _responses(self) -> Floats:
        """How q(x, a) changes with each multiplier, at the last minimum."""
        found = np.zeros_like(self._limited.tables)
        for table, change in zip(self._limited.tables, found, strict=True):
            triple_response(self.graph, self.measure, self.dual, table, change)
        return found

    def _refuse_unmet(self, weights: Floats) -> None:
        """No measure meets all constraints if none meets a weighted sum of them."""
        if self._may_end:  # planning is over whole episodes
            return
        table, limit = weights @ self._limited.tables, weights @ self._limited.limits
        reach, value = new_reach(self._layout), np.zeros(self._layout.n_states)
        answers = np.zeros(self._layout.n_rows), value, np.zeros(self._layout.n_rows)
        least = optimistic_response(self.graph, self._set.rows, table, reach, *answers)
        if least > limit + TOLERANCE * (1.0 + np.abs(table).max()):
            raise InvalidInput(
                f"no policy meets them: a weighted sum is at least {least:.6g} and may be "
                f"{limit:.6g} at most; raise a limit",
                field="constraints",
            )


def boxes_of(known: KnownTransition | PartialTransition) -> BoxRows:
    """A known transition as boxes without width, every row known."""
    layout, rows = known.layout, free_boxes(known.layout)
    chance = known.chance if isinstance(known, PartialTransition) else known.known_transition()
    make_rows_known(layout.graph(), np.full(layout.n_rows, True), chance, rows)
    return rows


def _rows_of(transitions: Any) -> tuple[Layout, BoxRows | BallRows]:
    """The layout and the set."""
    if isinstance(transitions, KnownTransition | PartialTransition):
        return transitions.layout, boxes_of(transitions)
    if isinstance(transitions, L1Set) and transitions.rows.floor > 0.0:
        raise InvalidInput(
            "a ball with a floor has no such row problem here; give one without",
            field="transitions",
        )
    if isinstance(transitions, BoxSet | L1Set):
        return transitions.layout, transitions.rows
    raise InvalidInput(
        "give a KnownTransition, a PartialTransition, a BoxSet or an L1Set, not "
        f"{shown(transitions)}",
        field="transitions",
    )


def _refuse_impossible(layout: Layout, rows: BoxRows) -> None:
    """A triple that cannot happen has a logarithm of minus infinity."""
    impossible = (rows.upper <= 0.0) & np.repeat(rows.status != KNOWN, layout.row_sizes())
    if impossible.any():
        row = int(layout.entry_rows()[np.flatnonzero(impossible)[0]])
        raise InvalidInput(
            f"upper bound zero at {layout.name_of_row(row)}; leave a triple that cannot happen out "
            "of the layout's successors",
            field="transitions",
        )


def _triple_costs(layout: Layout, cost: Any, *, may_end: bool) -> Floats:
    """Costs over entries, of a pair table the same for all successors, and for the early end."""
    if is_triple_table(layout, cost):
        return _with_ends(layout.flat_triples(cost, "cost"), np.zeros(layout.n_rows), may_end)
    pairs = layout.flat_pairs(cost, "cost")
    return _with_ends(np.repeat(pairs, layout.row_sizes()), pairs, may_end)


def _with_ends(entries: Floats, rows: Floats, may_end: bool) -> Floats:
    """Costs of the triples, and of what ends the episode if that can be."""
    return np.concatenate([entries, rows]) if may_end else entries
