"""States in descending order of a value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats
from ..runtime.indices import place
from ..runtime.storage import Private
from ..runtime.targets import kernel, leaf

FEW = 24  # up to so many states are ranked by counting, which has no branches to mispredict


@kernel
def sort_descending(keys: Private[Floats], order: NDArray[np.int64], n: int) -> None:
    """order[:n] = the positions 0 .. n-1 by descending keys (Shell sort)."""
    for i in range(n):
        order[i] = i
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for i in range(gap, n):
            item = order[i]
            j = i
            while j >= gap and keys[order[j - gap]] < keys[item]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 3


@leaf
def rank_descending(value: Floats, begin: int, n: int, order: NDArray[np.int64]) -> int:
    """order[:n] = the positions of value[begin : begin + n] in descending order, equals as they
    are; returns how many of them are positive.  Each is counted against all others."""
    start = place(begin)
    positive = 0
    for i in range(n):
        here = value[start + i]
        before = 0
        for j in range(n):
            before += 1 if value[start + j] > here else 0
        for j in range(i):
            before += 1 if value[start + j] == here else 0
        order[before] = i
        positive += 1 if here > 0.0 else 0
    return positive
