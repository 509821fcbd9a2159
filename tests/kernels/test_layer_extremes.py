"""The pass that fills two states from all rows of a layer: eight rows at a time, no others."""

from __future__ import annotations

import numpy as np
from numba import njit

from advmdp.kernels.planning.layer_extremes import pour

PADDING = 9  # rows around those of the layer that may not change


@njit  # type: ignore[untyped-decorator]
def poured(*arguments):  # type: ignore[no-untyped-def]
    pour(*arguments)


def test_rows_are_filled_one_state_after_the_other() -> None:
    rng = np.random.default_rng(0)
    for size in [*range(1, 20), 24, 33]:
        lower, room = rng.random((2, 2 * size))
        total, left = rng.random((2, size + 2 * PADDING))
        wanted, rest = total.copy(), left.copy()
        for m in range(size):
            for at, worth in ((m, 0.7), (size + m, 0.3)):
                take = min(rest[PADDING + m], room[at])
                wanted[PADDING + m] += (lower[at] + take) * worth
                rest[PADDING + m] -= take
        columns = (lower, 0, room, 0, lower, size, room, size)
        poured(*columns, total, PADDING, left, PADDING, size, 0.7, 0.3)
        assert np.array_equal(total, wanted)
        assert np.array_equal(left, rest)
