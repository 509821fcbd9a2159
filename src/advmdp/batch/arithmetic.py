"""``max`` and ``min`` of floats inside a GPU thread, exactly as numba compiles them for the CPU.

numba.cuda takes them from the card's library, where ``max(nan, 0.0)`` is 0.0; on the CPU it is NaN,
and the kernels look for a NaN to find out that floats could not hold a row.  One comparison and a
choice are also half of the instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.cuda import types
from numba.cuda.extending import lower_builtin


def _choice(order: str) -> Callable[..., Any]:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first, second = (
            context.cast(builder, value, kind, types.float64)
            for value, kind in zip(args, signature.args, strict=True)
        )
        return builder.select(builder.fcmp_ordered(order, second, first), second, first)

    return lower


lower_builtin(max, types.float64, types.float64)(_choice(">"))
lower_builtin(min, types.float64, types.float64)(_choice("<"))
