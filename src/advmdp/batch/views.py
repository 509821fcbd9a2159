"""Inside a GPU thread: the tree of one run, as views into the block of a batch.

``view_of(plan)`` gives a device function ``view(tiles, common, tile, lane)``.  It returns what the
kernels take (nested NamedTuples of arrays and numbers) without copying anything: every array is a
pointer into the block with a constant offset, shape and stride.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from advmdp.batch.columns import Column, Constant, Node, Plan, Tree
from advmdp.kernels.targets import CUDA_PACKAGE, load_cuda_kernels


def twin(kind: type) -> type:
    """The class of the same name in the kernels that were loaded for CUDA."""
    load_cuda_kernels()
    package = "advmdp.kernels"
    if not kind.__module__.startswith(package):
        return kind
    module = importlib.import_module(CUDA_PACKAGE + kind.__module__[len(package) :])
    found: type = getattr(module, kind.__name__)
    return found


def view_of(plan: Plan) -> Callable[..., Any]:
    """The device function for a plan; plain Python under numba's simulator."""
    from numba import config

    return _simulated(plan) if config.ENABLE_CUDASIM else _compiled(plan)


def _simulated(plan: Plan) -> Callable[..., Any]:
    def build(tree: Tree, tiles: Any, common: Any, tile: int, lane: int) -> Any:
        if isinstance(tree, Constant):
            return tree.value
        if isinstance(tree, Node):
            parts = (build(part, tiles, common, tile, lane) for part in tree.parts)
            return tuple(parts) if tree.kind is tuple else twin(tree.kind)(*parts)
        dtype = np.dtype(tree.dtype)
        stride = dtype.itemsize * (1 if tree.common else plan.width)
        memory = common if tree.common else tiles[tile]
        begin = tree.offset + (0 if tree.common else lane * dtype.itemsize)
        if not tree.size:
            return np.zeros(tree.shape, dtype)
        if not tree.shape:
            return memory[begin : begin + dtype.itemsize].view(dtype)[0]
        strides = np.cumprod([stride, *tree.shape[:0:-1]])[::-1]
        return np.ndarray(tree.shape, dtype, memory, begin, strides)

    def view(tiles: Any, common: Any, tile: int, lane: int) -> Any:
        # the simulator wraps arrays twice; a view needs the memory itself
        return build(plan.tree, tiles._item._ary, common._item._ary, tile, lane)

    return view


def _compiled(plan: Plan) -> Callable[..., Any]:
    from numba.cuda import types
    from numba.cuda.extending import intrinsic
    from numba.cuda.np.arrayobj import populate_array
    from numba.cuda.np.numpy_support import from_dtype

    def type_of(tree: Tree) -> Any:
        if isinstance(tree, Constant):
            named = {type(None): types.none, bool: types.boolean, int: types.int64}
            return named[type(tree.value)]
        if isinstance(tree, Node):
            parts = [type_of(part) for part in tree.parts]
            return types.Tuple(parts) if tree.kind is tuple else types.NamedTuple(parts, twin(tree.kind))
        dtype = from_dtype(np.dtype(tree.dtype))
        if not tree.shape:
            return dtype
        return types.Array(dtype, len(tree.shape), "C" if tree.common else "A")

    def build(context: Any, builder: Any, tree: Tree, tile: Any, common: Any, lane: Any) -> Any:
        kind = type_of(tree)
        if isinstance(tree, Constant):
            if tree.value is None:
                return context.get_dummy_value()
            return context.get_constant(kind, tree.value)
        if isinstance(tree, Node):
            parts = [build(context, builder, part, tile, common, lane) for part in tree.parts]
            return context.make_tuple(builder, kind, parts)
        return _leaf(context, builder, tree, kind, common if tree.common else tile, lane)

    def _leaf(context: Any, builder: Any, column: Column, kind: Any, base: Any, lane: Any) -> Any:
        def number(value: int) -> Any:
            return context.get_constant(types.intp, value)

        item = np.dtype(column.dtype).itemsize
        place = number(column.offset)
        if not column.common:
            place = builder.add(place, builder.mul(lane, number(item)))
        address = builder.gep(base, [place])
        dtype = kind if not column.shape else kind.dtype
        pointer = builder.bitcast(address, context.get_data_type(dtype).as_pointer())
        if not column.shape:
            return context.unpack_value(builder, dtype, pointer)
        array = context.make_array(kind)(context, builder)
        stride = item * (1 if column.common else plan.width)
        strides = np.cumprod([stride, *column.shape[:0:-1]])[::-1]
        populate_array(
            array,
            data=pointer,
            shape=[number(n) for n in column.shape],
            strides=[number(int(n)) for n in strides],
            itemsize=number(item),
            meminfo=None,
        )
        return array._getvalue()

    @intrinsic  # type: ignore[untyped-decorator]
    def view(context: Any, tiles: Any, common: Any, tile: Any, lane: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            block, shared = (
                _in_global_memory(builder, context.make_array(kind)(context, builder, value).data)
                for kind, value in zip(signature.args[:2], args[:2], strict=True)
            )
            offset = builder.mul(args[2], context.get_constant(types.intp, plan.tile_bytes))
            first = builder.gep(block, [offset])
            return build(context, builder, plan.tree, first, shared, args[3])

        return type_of(plan.tree)(tiles, common, types.int64, types.int64), codegen

    return view  # type: ignore[no-any-return]


def _in_global_memory(builder: Any, pointer: Any) -> Any:
    """Tell the compiler that a pointer is not to local or shared memory: plain loads are faster."""
    everywhere = pointer.type
    there = builder.addrspacecast(pointer, everywhere.pointee.as_pointer(1))
    return builder.addrspacecast(there, everywhere)
