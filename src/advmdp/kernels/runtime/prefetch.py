"""Asking memory for an entry before it is read.

A processor foresees who reads a table from its beginning to its end.  Entries in an order that is
found out on the way it meets one by one, and waits for each as long as for forty multiplications.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .targets import compiles_for_cpu, leaf

Floats = NDArray[np.float64]

FETCHES = compiles_for_cpu()
"""Whether ``fetch`` does anything."""

SINGLE = "llvm.prefetch.p0"  # of the memory that a pointer shows


def write_fetch(builder: Any, pointer: Any) -> None:
    """The instruction; also for addresses behind the end of a table."""
    from llvmlite import ir

    short = ir.IntType(32)
    pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, short, short, short])
    found = builder.module.globals.get(SINGLE) or ir.Function(builder.module, kind, SINGLE)
    builder.call(found, [pointer, short(0), short(3), short(1)])  # to be read, keep it near, data


@leaf
def _no_fetch(table: Floats, index: int) -> None:
    """Other targets hide the time by playing other runs."""


def _fetch() -> Callable[[Floats, int], None]:
    """``fetch`` for the target."""
    if not FETCHES:
        return _no_fetch
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def fetch(context: Any, table: Any, index: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            data = context.make_array(table)(context, builder, values[0]).data
            write_fetch(builder, builder.gep(data, [values[1]]))
            return context.get_dummy_value()

        return types.void(table, types.int64), write

    return cast("Callable[[Floats, int], None]", fetch)


fetch = _fetch()
"""Ask for ``table[index]``, which need not exist."""
