"""A known transition: a set of one element.  Every row is KNOWN, or has a single successor.

Where layers are narrow it is also held as a matrix for every layer, once by rows and once by
successors, with a zero where a row does not lead: what a sweep needs of it are products with these,
which are found in registers and cost the same whether a support was declared or not.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    layer_of,
    owner_of,
    row_begin,
    row_dot,
    row_size,
    successor_of,
)
from ..model.row_status import KNOWN, Marks
from ..model.visits import Visits
from ..runtime.dispatch import Borrowed
from ..runtime.storage import Common, Switch
from ..runtime.targets import kernel, leaf
from . import interface
from .held import HeldRows
from .interface import Matrices, Order


class KnownRows(NamedTuple):
    """P itself."""

    status: Common[Marks]  # (R,)
    transition: Common[Floats]  # (E,)
    along: Common[Floats]  # layer after layer, (rows, successors); empty where one is wide
    across: Common[Floats]  # the same as (successors, rows)
    least_occupancy: Switch[float] = 0.0


@interface.maximise_row.register(KnownRows)
@leaf
def maximise_known(graph: Graph, r: int, rows: KnownRows, value: Floats, order: Order) -> float:
    return row_dot(graph, r, rows.transition, value)


@interface.largest_probability.register(KnownRows)
@leaf
def known_probability(graph: Graph, r: int, position: int, rows: KnownRows) -> float:
    return rows.transition[row_begin(graph, r) + position]


@interface.known_transition.register(KnownRows)
@leaf
def transition_itself(rows: KnownRows) -> Borrowed:
    return Borrowed(rows.transition)


@interface.knows_every_row.register(KnownRows)
@leaf
def every_row(rows: KnownRows) -> bool:
    return True


@interface.known_matrices.register(KnownRows)
@leaf
def own_matrices(chance: Floats, rows: KnownRows) -> Matrices:
    return Matrices(rows.along, rows.across)


@kernel
def write_matrices(graph: Graph, r: int, rows: KnownRows) -> None:
    """Row r in the matrices of its layer."""
    here = layer_of(graph, owner_of(graph, r))
    begin = 0
    for k in range(here):
        n_rows = (layer_end(graph, k) - layer_begin(graph, k)) * graph.n_actions
        begin += n_rows * (layer_end(graph, k + 1) - layer_begin(graph, k + 1))
    there = layer_end(graph, here)
    width = layer_end(graph, here + 1) - there
    n_rows = (there - layer_begin(graph, here)) * graph.n_actions
    row = r - layer_begin(graph, here) * graph.n_actions
    for y in range(width):
        rows.along[begin + row * width + y] = 0.0
        rows.across[begin + y * n_rows + row] = 0.0
    for j in range(row_size(graph, r)):
        y = successor_of(graph, r, j) - there
        p = rows.transition[row_begin(graph, r) + j]
        rows.along[begin + row * width + y] = p
        rows.across[begin + y * n_rows + row] = p


@interface.make_row_known.register(KnownRows)
@kernel
def write_transition(graph: Graph, r: int, transition: Floats, rows: KnownRows) -> None:
    begin = row_begin(graph, r)
    rows.status[r] = KNOWN
    for e in range(begin, begin + row_size(graph, r)):
        rows.transition[e] = transition[e]
    if rows.along.shape[0] > 0:
        write_matrices(graph, r, rows)


@interface.solve_row.register(KnownRows)
@leaf
def no_bound_row(
    graph: Graph,
    r: int,
    chance: Floats,
    tilt: Floats,
    beta: Floats,
    rows: KnownRows,
    held: HeldRows,
) -> float:
    """Never asked: no row is BOUND."""
    return -1.0


@interface.solve_row_in_logs.register(KnownRows)
@leaf
def no_bound_row_in_logs(
    graph: Graph, r: int, chance: Floats, beta: Floats, rows: KnownRows, held: HeldRows
) -> None:
    """Never asked: no row is BOUND."""


@interface.learns_from_counts.register(KnownRows)
@kernel
def nothing_to_learn(rows: KnownRows) -> bool:
    return False


@interface.rebuild_row.register(KnownRows)
@leaf
def rebuild_nothing(graph: Graph, r: int, visits: Visits, log_term: float, rows: KnownRows) -> None:
    """What is known does not change."""


@interface.copy_row.register(KnownRows)
@leaf
def copy_nothing(graph: Graph, r: int, rows: KnownRows, target: KnownRows) -> None:
    """What is known does not change."""


@interface.mean_width.register(KnownRows)
@kernel
def no_width(rows: KnownRows) -> float:
    return 0.0


@interface.contains_row.register(KnownRows)
@leaf
def is_known_row(
    graph: Graph, r: int, transition: Floats, rows: KnownRows, tolerance: float
) -> bool:
    begin = row_begin(graph, r)
    for e in range(begin, begin + row_size(graph, r)):
        if abs(transition[e] - rows.transition[e]) > tolerance:
            return False
    return True


@interface.log_scale_to_contain.register(KnownRows)
@leaf
def no_log_scale(
    graph: Graph, r: int, transition: Floats, visits: Visits, log_term: float, rows: KnownRows
) -> float:
    return 0.0
