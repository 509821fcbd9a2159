"""The arrays of one run inside a GPU thread: a numba type that is only a pointer at run time.

Offset, shape and strides of a column belong to its *type*, so an element's address is the thread's
base pointer plus a multiple of the index plus a constant: one instruction, and the multiple is
shared by all columns that are read with the same index.  Three things that ordinary arrays cannot
tell the compiler are told here: an index is never negative, two columns never overlap, and the
common part is never written.  And loops are not unrolled: the machine code of an episode must fit
the instruction cache (measured on 1,5x4,1 x3: 430 KB unrolled, and warps wait for instructions 60%
of the time; 160 KB as written).

Kernels only read and write single elements and ask for shapes, so that is all a ``Lane`` can do.
"""

from __future__ import annotations

import hashlib
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr,
    models,
    register_model,
    type_callable,
)
from numba.cuda.np.numpy_support import from_dtype
from numba.cuda.typing.templates import AttributeTemplate

from advmdp.batch.columns import BatchColumn

GLOBAL = 1  # the address space of the card's memory
BASE = ir.IntType(64)  # an address


class Lane(types.Type):
    """One column as a thread sees it."""

    def __init__(self, column: BatchColumn, threads: int) -> None:
        dtype = np.dtype(column.dtype)
        self.column = column
        self.dtype = from_dtype(dtype)
        self.unit = dtype.itemsize * column.stride  # bytes between two entries
        # Not the column itself: numba writes the types of all arguments into a function's name.
        # The threads of a run belong to it because functions are compiled for a number of them.
        whole = hashlib.sha256(repr((column, threads)).encode()).hexdigest()
        super().__init__(f"Lane_{whole[:16]}")

    @property
    def key(self) -> Any:
        return self.name


@register_model(Lane)
class LaneModel(models.PrimitiveModel):
    """The base pointer."""

    def __init__(self, manager: Any, lane: Lane) -> None:
        super().__init__(manager, lane, BASE)


@type_callable(operator.getitem)
def type_getitem(context: Any) -> Any:
    return lambda lane, index: lane.dtype if isinstance(lane, Lane) else None


@type_callable(operator.setitem)
def type_setitem(context: Any) -> Any:
    return lambda lane, index, value: types.none if isinstance(lane, Lane) else None


@infer_getattr
class LaneAttributes(AttributeTemplate):
    """``shape`` is all there is."""

    key = Lane

    def resolve_shape(self, lane: Lane) -> Any:
        return types.UniTuple(types.int64, len(lane.column.shape))


@lower_getattr(Lane, "shape")
def lower_shape(context: Any, builder: Any, lane: Lane, value: Any) -> Any:
    kind = types.UniTuple(types.int64, len(lane.column.shape))
    sizes = [context.get_constant(types.int64, n) for n in lane.column.shape]
    return context.make_tuple(builder, kind, sizes)


def address(context: Any, builder: Any, lane: Lane, base: Any, index_type: Any, index: Any) -> Any:
    """base + index * unit + offset, the constant last so that the load can take it in."""
    short = ir.IntType(32)
    if isinstance(index_type, types.BaseTuple):
        numbers = [
            builder.trunc(context.cast(builder, part, kind, types.int64), short)
            for kind, part in zip(index_type, _unpack(builder, index), strict=True)
        ]
        flat = numbers[0]
        for number, size in zip(numbers[1:], lane.column.shape[1:], strict=True):
            flat = builder.add(builder.mul(flat, short(size)), number)
    else:
        flat = builder.trunc(context.cast(builder, index, index_type, types.int64), short)
    # LLVM would spell base + index * unit as four instructions on pairs of registers
    wide = ir.IntType(64)
    kind = ir.FunctionType(wide, [short, wide])
    step = ir.InlineAsm(kind, f"mad.wide.u32 $0, $1, {lane.unit}, $2;", "=l,r,l")
    there = builder.call(step, [flat, base], attrs=("readnone", "nounwind"))
    there = builder.add(there, wide(lane.column.offset))
    return builder.inttoptr(there, context.get_data_type(lane.dtype).as_pointer(GLOBAL))


def _unpack(builder: Any, value: Any) -> list[Any]:
    return [builder.extract_value(value, i) for i in range(len(value.type.elements))]


def mark(builder: Any, lane: Lane, instruction: Any) -> Any:
    """Say that columns do not overlap, that the common part never changes, and to keep it short."""
    builder.function.attributes.add("optsize")
    module = builder.module
    root = module.add_metadata(["columns of a batch"])
    kind = module.add_metadata([lane.column.name, root, ir.IntType(64)(0)])
    instruction.set_metadata("tbaa", module.add_metadata([kind, kind, ir.IntType(64)(0)]))
    if lane.column.common:
        instruction.set_metadata("invariant.load", module.add_metadata([]))
    return instruction


@lower_builtin(operator.getitem, Lane, types.Integer)
@lower_builtin(operator.getitem, Lane, types.BaseTuple)
def lower_getitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    lane, index_type = signature.args
    return read(
        context, builder, lane, address(context, builder, lane, args[0], index_type, args[1])
    )


def read(context: Any, builder: Any, lane: Lane, place: Any) -> Any:
    """The element at an address."""
    found = mark(builder, lane, builder.load(place, align=np.dtype(lane.column.dtype).itemsize))
    return context.data_model_manager[lane.dtype].from_data(builder, found)


@lower_builtin(operator.setitem, Lane, types.Integer, types.Any)
@lower_builtin(operator.setitem, Lane, types.BaseTuple, types.Any)
def lower_setitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    lane, index_type, value_type = signature.args
    place = address(context, builder, lane, args[0], index_type, args[1])
    value = context.cast(builder, args[2], value_type, lane.dtype)
    value = context.data_model_manager[lane.dtype].as_data(builder, value)
    mark(builder, lane, builder.store(value, place, align=np.dtype(lane.column.dtype).itemsize))
    return context.get_dummy_value()
