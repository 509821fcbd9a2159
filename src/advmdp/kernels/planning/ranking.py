"""States in descending order of a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lanes.registers import in_registers, repeat
from ..lanes.vectors import N_LANES, Lanes
from ..model.graph import Floats
from ..runtime.storage import Private
from ..runtime.targets import kernel, leaf

FEW = 24  # up to so many states are ranked by counting, which has no branches to mispredict


@leaf
def comes_before(keys: Floats, i: int, j: int) -> bool:
    """Whether i comes before j: the larger key, or of equal ones the first, as in any ranking."""
    return bool(keys[i] > keys[j]) or (bool(keys[i] == keys[j]) and i < j)


@kernel
def sort_descending(keys: Private[Floats], order: NDArray[np.int64], n: int) -> None:
    """order[:n] = the positions 0 .. n-1 by descending keys, equals as they are (Shell sort)."""
    for i in range(n):
        order[i] = i
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for i in range(gap, n):
            item = order[i]
            j = i
            while j >= gap and comes_before(keys, item, order[j - gap]):
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 3


def _rank_descending(builder: Any, value: Any, begin: Any, n: Any, order: Any) -> Any:
    from llvmlite import ir

    numbers = ir.VectorType(n.type, N_LANES)
    first_eight = numbers(list(range(N_LANES)))

    def eight(block: Any, held: Sequence[Any]) -> list[Any]:
        """Count for eight states how many come before them, and write them there."""
        base = builder.mul(block, block.type(N_LANES))
        lanes = Lanes(builder, n)
        lanes.stop_after(builder.sub(n, base))
        own = lanes.load(builder.gep(value, [builder.add(begin, base)]))
        own_number = builder.add(lanes.spread(base), first_eight)

        def passed(j: Any, before: Sequence[Any]) -> list[Any]:
            other = lanes.spread(builder.load(builder.gep(value, [builder.add(begin, j)])))
            earlier = builder.icmp_signed("<", lanes.spread(j), own_number)
            equal = lanes.both(lanes.equal(other, own), earlier)
            ahead = builder.or_(lanes.less(own, other), equal)
            return [builder.sub(before[0], builder.sext(ahead, numbers))]  # -1 where it is

        (place,) = repeat(builder, n, [numbers([0] * N_LANES)], passed)
        for i in range(N_LANES):
            number = builder.add(base, base.type(i))
            with builder.if_then(builder.icmp_signed("<", number, n)):
                rank = builder.extract_element(place, ir.IntType(32)(i))
                builder.store(number, builder.gep(order, [rank]))
        positive = lanes.count(lanes.less(lanes.every(0.0), own))
        return [lanes.add(held[0], positive)]

    blocks = builder.sdiv(builder.add(n, n.type(N_LANES - 1)), n.type(N_LANES))
    lanes = Lanes(builder, n)
    (positive,) = repeat(builder, blocks, [lanes.every(0.0)], eight)
    return lanes.tree(positive, lanes.add)


@in_registers(_rank_descending, returns=True)
def rank_descending(value: Floats, begin: int, n: int, order: NDArray[np.int64]) -> float:
    """order[:n] = the positions of value[begin : begin + n] in descending order, equals as they
    are; returns how many of them are positive.  Each is compared with all others."""
    positive = 0.0
    for i in range(n):
        here = value[begin + i]
        before = 0
        for j in range(n):
            before += 1 if value[begin + j] > here else 0
        for j in range(i):
            before += 1 if value[begin + j] == here else 0
        order[before] = i
        positive += 1.0 if here > 0.0 else 0.0
    return positive
