"""The fixed transition of an epoch, and the bonus for not knowing it, from the counters."""

from __future__ import annotations

import math

from ..model.graph import Floats, Graph, row_begin, row_size
from ..model.row_status import is_known
from ..model.visits import Visits
from ..runtime.indices import int64
from ..runtime.targets import kernel, leaf
from ..sets.box.rows import BoxRows

EMPIRICAL, LOWER = 0, 1


@leaf
def row_width(graph: Graph, r: int, visits: Visits, log_term: float) -> float:
    """min(1, sum over successors of min(1, the width of their interval)).

    The widths are those of the box set, with N - 1 in both terms.
    """
    n = float(visits.pairs[int64(visits.counter[r])])
    cell = int64(visits.cell[r])
    inverse = log_term / max(1.0, n - 1.0)
    total = 0.0
    for j in range(row_size(graph, r)):
        centre = visits.triples[cell + j] / max(1.0, n)
        total += min(1.0, 2.0 * math.sqrt(centre * inverse) + 14.0 / 3.0 * inverse)
    return 1.0 if n == 0.0 else min(1.0, total)


@leaf
def empirical_row(graph: Graph, r: int, visits: Visits, chance: Floats) -> None:
    """M / N, or the uniform distribution before the first visit."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    n = visits.pairs[int64(visits.counter[r])]
    cell = int64(visits.cell[r])
    for j in range(size):
        chance[begin + j] = 1.0 / size if n == 0 else visits.triples[cell + j] / float(n)


@kernel
def renew_rows(
    graph: Graph,
    visits: Visits,
    rows: BoxRows,
    model: int,
    log_term: float,
    bonus_scale: float,
    chance: Floats,
    bonus: Floats,
) -> None:
    """Every row of the transition and its bonus.

    Of a known row, or one with a single successor, there is nothing to learn: it has no bonus.
    """
    for r in range(bonus.shape[0]):
        begin = row_begin(graph, r)
        size = row_size(graph, r)
        if is_known(rows, r) or size == 1:
            bonus[r] = 0.0
            for e in range(begin, begin + size):
                chance[e] = rows.lower[e] if is_known(rows, r) else 1.0
            continue
        bonus[r] = bonus_scale * row_width(graph, r, visits, log_term)
        if model == EMPIRICAL:
            empirical_row(graph, r, visits, chance)
        else:
            for e in range(begin, begin + size):
                chance[e] = rows.lower[e]
