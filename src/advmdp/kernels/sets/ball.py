"""The L1 ball: |p - centre|_1 <= width, if wanted with a floor under every probability.

Built from counters it is the set of the paper's supplement (Weissman et al., 2003); with a floor
alpha it is the shifted set of Bandit UC-O-REPS, every p replaced by (1 - alpha n) p + alpha.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.graph import Floats, Graph, row_begin, row_dot, row_size, row_tilt, successor_of
from ..model.row_status import BOUND, FREE, KNOWN, Marks, is_free
from ..model.visits import Visits
from ..runtime.dispatch import Borrowed
from ..runtime.indices import int64
from ..runtime.storage import Lasting, Switch
from ..runtime.targets import kernel, leaf
from . import interface
from .ball_clamp import ball_distance, ball_scale, clamp, floor_scale
from .ball_clamp_logs import clamp_in_logs
from .held import (
    LARGEST,
    SMALLEST,
    HeldRows,
    hold_scaled,
    hold_written,
    release,
    written_gain,
)
from .interface import Order


class BallRows(NamedTuple):
    """A centre and a radius for every row; of a KNOWN row its transition, and zero."""

    status: Lasting[Marks]  # (R,)
    centre: Lasting[Floats]  # (E,)
    width: Lasting[Floats]  # (R,)
    floor: Switch[float] = 0.0  # the least probability of a successor
    least_occupancy: Switch[float] = 0.0


# ---------------------------------------------------------------------- linear functions


@interface.maximise_row.register(BallRows)
@leaf
def shift_ball(graph: Graph, r: int, rows: BallRows, value: Floats, order: Order) -> float:
    """Half the width moves from the worst successors to the best one; the floor stays under all."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    least = rows.floor
    total = row_dot(graph, r, rows.centre, value)
    j = order[0]
    left = min(0.5 * rows.width[r], 1.0 - least * (size - 1) - rows.centre[begin + j])
    total += left * value[successor_of(graph, r, j)]
    for back in range(size - 1):
        j = order[size - 1 - back]
        if left <= 0.0:
            break
        take = min(left, rows.centre[begin + j] - least)
        total -= take * value[successor_of(graph, r, j)]
        left -= take
    return total


@interface.maximise_printed.register(BallRows)
@leaf
def shift_ball_as_printed(
    graph: Graph, r: int, rows: BallRows, value: Floats, order: Order
) -> float:
    """Comp-Prob-UB of the supplement as it is printed, for comparison only.

    Its branch at width 1 overestimates for widths between 1 and 2, and with a single successor it
    takes away mass that it could not add, which underestimates.
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    width = rows.width[r]
    if width > 1.0:
        return value[successor_of(graph, r, order[0])]
    total = row_dot(graph, r, rows.centre, value)
    left = 0.5 * width
    for i in range(size):
        take = min(left, 1.0 - rows.centre[begin + order[i]])
        total += take * value[successor_of(graph, r, order[i])]
        left -= take
    left = 0.5 * width
    for back in range(size):
        j = order[size - 1 - back]
        take = min(left, rows.centre[begin + j])
        total -= take * value[successor_of(graph, r, j)]
        left -= take
    return total


@interface.largest_probability.register(BallRows)
@leaf
def most_in_ball(graph: Graph, r: int, position: int, rows: BallRows) -> float:
    centre = rows.centre[row_begin(graph, r) + position]
    return min(1.0 - rows.floor * (row_size(graph, r) - 1), centre + 0.5 * rows.width[r])


@interface.known_transition.register(BallRows)
@leaf
def known_in_ball(rows: BallRows) -> Borrowed:
    return Borrowed(rows.centre)


@interface.make_row_known.register(BallRows)
@leaf
def shrink_ball(graph: Graph, r: int, transition: Floats, rows: BallRows) -> None:
    """With a floor the distribution is shifted, as those of all other rows are."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    rows.status[r] = KNOWN
    rows.width[r] = 0.0
    for e in range(begin, begin + size):
        rows.centre[e] = (1.0 - rows.floor * size) * transition[e] + rows.floor


# ---------------------------------------------------------------------- the relative-entropy step


@interface.solve_row.register(BallRows)
@leaf
def solve_ball_row(
    graph: Graph,
    r: int,
    chance: Floats,
    tilt: Floats,
    beta: Floats,
    rows: BallRows,
    held: HeldRows,
) -> float:
    """See ``ball_clamp`` for the scales a and b of the raised and the lowered entries."""
    release(held, r)
    total = row_dot(graph, r, chance, tilt)
    if not (total > SMALLEST):
        return -1.0
    hold_scaled(held, r, 1.0 / total)
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    row_tilt(graph, r, chance, tilt, 1.0, held.work)
    half = 0.5 * rows.width[r]
    floor = rows.floor
    a = held.scale[r]
    if floor > 0.0:
        a = floor_scale(begin, size, held.work, a, floor)
    b = a
    if ball_distance(begin, size, held.work, rows.centre, a, floor) > 2.0 * half:
        a = ball_scale(begin, size, held.work, rows.centre, a, half, floor, True)
        b = ball_scale(begin, size, held.work, rows.centre, b, half, floor, False)
    elif floor == 0.0:
        return 1.0 / held.scale[r]
    if not (SMALLEST < a < LARGEST and SMALLEST < b < LARGEST):
        return -1.0
    raised, lowered = clamp(begin, size, held.work, held.group, rows.centre, a, b, floor)
    hold_written(held, r, math.log(a), raised, math.log(b), lowered)
    held.gain[r] = written_gain(graph, r, chance, beta, held)
    return math.exp(held.gain[r])


@interface.solve_row_in_logs.register(BallRows)
@leaf
def solve_ball_row_in_logs(
    graph: Graph, r: int, chance: Floats, beta: Floats, rows: BallRows, held: HeldRows
) -> None:
    log_a, log_b, raised, lowered = clamp_in_logs(
        row_begin(graph, r),
        row_size(graph, r),
        held.work,
        held.group,
        rows.centre,
        rows.width[r],
        rows.floor,
    )
    hold_written(held, r, log_a, raised, log_b, lowered)
    held.gain[r] = written_gain(graph, r, chance, beta, held)


# ---------------------------------------------------------------------- counters


@interface.learns_from_counts.register(BallRows)
@kernel
def ball_learns(rows: BallRows) -> bool:
    return True


@interface.rebuild_row.register(BallRows)
@leaf
def weissman_row(graph: Graph, r: int, visits: Visits, log_term: float, rows: BallRows) -> None:
    """Radius sqrt(2 n ln(.) / N) around the empirical transition; everything when N = 0."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    cell = int64(visits.cell[r])
    n = visits.pairs[int64(visits.counter[r])]
    floor = rows.floor
    width = math.sqrt(2.0 * size * log_term / max(1, n)) if n > 0 else 2.0
    for j in range(size):
        centre = visits.triples[cell + j] / n if n > 0 else 1.0 / size
        rows.centre[begin + j] = (1.0 - floor * size) * centre + floor
    rows.width[r] = (1.0 - floor * size) * min(width, 2.0)
    rows.status[r] = FREE if size == 1 or (width >= 2.0 and floor == 0.0) else BOUND


@interface.copy_row.register(BallRows)
@leaf
def copy_ball_row(graph: Graph, r: int, rows: BallRows, target: BallRows) -> None:
    begin = row_begin(graph, r)
    target.status[r] = rows.status[r]
    target.width[r] = rows.width[r]
    for e in range(begin, begin + row_size(graph, r)):
        target.centre[e] = rows.centre[e]


@interface.mean_width.register(BallRows)
@kernel
def mean_ball_width(rows: BallRows) -> float:
    """The mean radius, as a share of 2."""
    total = 0.0
    for r in range(rows.width.shape[0]):
        total += rows.width[r]
    return total / (2.0 * rows.width.shape[0])


@interface.contains_row.register(BallRows)
@leaf
def ball_contains(
    graph: Graph, r: int, transition: Floats, rows: BallRows, tolerance: float
) -> bool:
    if is_free(rows, r):
        return True
    begin = row_begin(graph, r)
    distance = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        if transition[e] < rows.floor - tolerance:
            return False
        distance += abs(transition[e] - rows.centre[e])
    return distance <= rows.width[r] + tolerance


@interface.log_scale_to_contain.register(BallRows)
@leaf
def log_scale_of_ball(
    graph: Graph, r: int, transition: Floats, visits: Visits, log_term: float, rows: BallRows
) -> float:
    """|P - centre|_1 = sqrt(2 n factor log_term / N)."""
    begin = row_begin(graph, r)
    cell = int64(visits.cell[r])
    n = visits.pairs[int64(visits.counter[r])]
    size = row_size(graph, r)
    distance = 0.0
    for j in range(size):
        distance += abs(transition[begin + j] - visits.triples[cell + j] / n)
    return distance * distance * n / (2.0 * size * log_term)
