"""Asking memory for an entry before it is read.

A processor foresees who reads a table from its beginning to its end.  Entries in an order that is
found out on the way it meets one by one, and waits for each as long as for forty multiplications.
"""

from __future__ import annotations

from typing import Any

from ..runtime.targets import compiles_for_cpu
from .line_sums import Floats
from .registers import in_registers

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


def _fetch(builder: Any, table: Any, index: Any) -> None:
    write_fetch(builder, builder.gep(table, [index]))


@in_registers(_fetch)
def fetch(table: Floats, index: int) -> None:
    """Ask for ``table[index]``, which need not exist; other targets meanwhile play other runs."""
