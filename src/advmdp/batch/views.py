"""Inside a GPU thread: the tree of one run, as views into the block of a batch.

``view_of(plan)`` gives a device function ``view(tiles, common, tile, place)``, where ``place``
counts the threads of a tile.  It returns what the kernels take (nested NamedTuples of arrays and
numbers) without copying anything: every array is a pointer into the block with a constant offset,
shape and stride.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from advmdp.batch.columns import BatchPlan, Node, SharedValue, Tree
from advmdp.kernels.runtime.targets import cuda_twin


def twin(kind: type) -> type:
    """The class of the same name in the kernels that were loaded for CUDA."""
    if kind.__module__ == "advmdp.batch.runs":  # the cast of a run has no kernels
        return kind
    found: type = getattr(cuda_twin(kind.__module__), kind.__name__)
    return found


def view_of(plan: BatchPlan) -> Callable[..., Any]:
    """The device function for a plan; plain Python under numba's simulator."""
    from numba.core import config

    return _simulated(plan) if config.ENABLE_CUDASIM else _compiled(plan)


def _simulated(plan: BatchPlan) -> Callable[..., Any]:
    def build(tree: Tree, tiles: Any, common: Any, tile: int, place: int) -> Any:
        if isinstance(tree, SharedValue):
            return tree.value
        if isinstance(tree, Node):
            parts = (build(part, tiles, common, tile, place) for part in tree.parts)
            return tuple(parts) if tree.kind is tuple else twin(tree.kind)(*parts)
        dtype = np.dtype(tree.dtype)
        stride = dtype.itemsize * tree.stride
        memory = common if tree.common else tiles[tile]
        begin = tree.offset + (0 if tree.common else place * dtype.itemsize)
        if not tree.size:
            return np.zeros(tree.shape, dtype)
        if not tree.shape:
            return memory[begin : begin + dtype.itemsize].view(dtype)[0]
        strides = np.cumprod([stride, *tree.shape[:0:-1]])[::-1]
        return np.ndarray(tree.shape, dtype, memory, begin, strides)

    def view(tiles: Any, common: Any, tile: int, place: int) -> Any:
        # the simulator wraps arrays twice; a view needs the memory itself
        return build(plan.tree, tiles._item._ary, common._item._ary, tile, place)

    return view


def _compiled(plan: BatchPlan) -> Callable[..., Any]:
    from numba.cuda import types
    from numba.cuda.extending import intrinsic
    from numba.cuda.typing.typeof import typeof

    from advmdp.batch.lanes import BASE, Lane, address, read

    def type_of(tree: Tree) -> Any:
        if isinstance(tree, SharedValue):
            return typeof(tree.value)
        if isinstance(tree, Node):
            parts = [type_of(part) for part in tree.parts]
            if tree.kind is tuple:
                return types.Tuple(parts)
            return types.NamedTuple(parts, twin(tree.kind))
        lane = Lane(tree, plan.threads)
        return lane if tree.shape else lane.dtype

    def build(context: Any, builder: Any, tree: Tree, bases: dict[Any, Any]) -> Any:
        kind = type_of(tree)
        if isinstance(tree, SharedValue):
            if tree.value is None:
                return context.get_dummy_value()
            return context.get_value_type(kind)(tree.value)
        if isinstance(tree, Node):
            parts = [build(context, builder, part, bases) for part in tree.parts]
            return context.make_tuple(builder, kind, parts)
        base = bases[tree.common, tree.private, np.dtype(tree.dtype).itemsize]
        if tree.shape:
            return base
        lane, zero = Lane(tree, plan.threads), context.get_constant(types.int64, 0)
        return read(
            context, builder, lane, address(context, builder, lane, base, types.int64, zero)
        )

    @intrinsic
    def view(context: Any, tiles: Any, common: Any, tile: Any, place: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def number(value: int) -> Any:
                return context.get_constant(types.intp, value)

            block, shared = (
                builder.ptrtoint(context.make_array(kind)(context, builder, value).data, BASE)
                for kind, value in zip(signature.args[:2], args[:2], strict=True)
            )
            first = builder.add(block, builder.mul(args[2], number(plan.tile_bytes)))
            run = builder.sdiv(args[3], number(plan.threads))
            bases = {}  # one for each size of an element: where the entries of a run begin
            for size in (1, 4, 8):
                bases[True, False, size] = shared
                bases[False, False, size] = builder.add(first, builder.mul(run, number(size)))
                bases[False, True, size] = builder.add(first, builder.mul(args[3], number(size)))
            return build(context, builder, plan.tree, bases)

        return type_of(plan.tree)(tiles, common, types.int64, types.int64), codegen

    return view  # type: ignore[no-any-return]
