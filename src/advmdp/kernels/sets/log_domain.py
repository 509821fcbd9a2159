"""Row problems in the log domain: for rows whose weights no float can hold side by side.

``work`` holds ln w = ln p~ + beta on entry and p_beta on exit.  Slow: for the safe path only.
"""

from __future__ import annotations

import math

from ..model.graph import Floats, Graph, row_begin, row_size, successor_of
from ..model.log_storage import logarithm
from ..model.row_status import Marks
from ..runtime.targets import kernel

HALVINGS = 110  # of a bracket of logarithms
MAX_PASSES = 200  # of a scalar Newton iteration
ROW_SUM_ROUNDING = 2e-15


@kernel
def weigh_in_logs(graph: Graph, r: int, table: Floats, beta: Floats, out: Floats) -> None:
    """Write ``ln table + beta[successor]`` to ``out``."""
    begin = row_begin(graph, r)
    for j in range(row_size(graph, r)):
        out[begin + j] = logarithm(table[begin + j]) + beta[successor_of(graph, r, j)]


@kernel
def largest_log(begin: int, size: int, work: Floats) -> float:
    """The largest ln w of a row."""
    top = -math.inf
    for j in range(size):
        top = max(top, work[begin + j])
    return top


@kernel
def spread(begin: int, size: int, work: Floats) -> tuple[float, float]:
    """The smallest and the largest finite ln w of a row."""
    low = math.inf
    high = -math.inf
    for j in range(size):
        value = work[begin + j]
        if value > -math.inf:
            low = min(low, value)
            high = max(high, value)
    return low, high


@kernel
def normalise_in_logs(begin: int, size: int, work: Floats, group: Marks) -> float:
    """Normalise; return the logarithm of the scale."""
    top = largest_log(begin, size, work)
    total = 0.0
    for j in range(size):
        total += math.exp(work[begin + j] - top)
    log_scale = -top - math.log(total)
    for j in range(size):
        work[begin + j] = math.exp(work[begin + j] + log_scale)
        group[begin + j] = 1
    return log_scale
