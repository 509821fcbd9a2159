"""Several GPU threads for one run, and runs in step: see ``kernels/runtime/threads``.

The threads of a run are neighbours in a warp.  They execute everything together, so what is not
in a shared loop is computed by all of them at once, from the same numbers and at no extra price: a
warp takes as long for one thread as for all.  A loop over ``shared(begin, end)`` gives every thread
its part of the turns, after which they meet.

How many they are is known when a kernel is compiled, so one thread to a run costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic, lower_builtin
from numba.cuda.typing import signature
from numba.cuda.typing.templates import AbstractTemplate, infer_global

from advmdp.batch.steps import Steps, steps_of

EXCHANGED = (
    *("shared", "n_threads", "thread", "broadcast", "reduce_max", "barrier"),
    *("align_at_episode", "align_at_step"),
)
"""What kernels import from ``runtime.threads``; loaded for a GPU they find it here instead."""

SHORT = ir.IntType(32)
_threads = 1


@contextmanager
def among(threads: int) -> Iterator[None]:
    """What is compiled here is for runs of so many threads, a power of two."""
    global _threads
    before, _threads = _threads, threads
    try:
        yield
    finally:
        _threads = before


def _lane(builder: Any) -> Any:
    kind = ir.FunctionType(SHORT, [])
    register = ir.InlineAsm(kind, "mov.u32 $0, %laneid;", "=r")
    return builder.call(register, [], attrs=("readnone", "nounwind"))


def _run(builder: Any) -> Any:
    """The threads of this run, as bits."""
    if _threads == 32:
        return SHORT(0xFFFFFFFF)
    return builder.shl(SHORT((1 << _threads) - 1), _first(builder))


def _first(builder: Any) -> Any:
    return builder.and_(_lane(builder), SHORT(0xFFFFFFFF ^ (_threads - 1)))


def _mine(builder: Any) -> Any:
    return builder.and_(_lane(builder), SHORT(_threads - 1))


def _wait(builder: Any) -> None:
    """Until all threads of this run are here; what they wrote can then be read by the others."""
    if _threads > 1:
        kind = ir.FunctionType(ir.VoidType(), [SHORT])
        wait = cgutils.get_or_insert_function(builder.module, kind, "llvm.nvvm.bar.warp.sync")
        builder.call(wait, [_run(builder)])


def shared(*arguments: int) -> range:
    """``range``, of which a thread takes its part."""
    return range(*arguments)


@infer_global(shared)
class SharedTemplate(AbstractTemplate):
    """Two or three whole numbers."""

    def generic(self, args: Any, kws: Any) -> Any:
        fit = 2 <= len(args) <= 3 and all(isinstance(kind, types.Integer) for kind in args)
        return signature(Steps(), *args) if fit and not kws else None


@lower_builtin(shared, types.VarArg(types.Integer))
def lower_shared(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    state = steps_of(context, builder, typed, args)
    if _threads > 1:
        ahead = builder.mul(_mine(builder), state.step, flags=["nsw"])
        state.begin = builder.add(state.begin, ahead)
        state.step = builder.mul(state.step, SHORT(_threads), flags=["nsw"])
    return state._getvalue()


@intrinsic
def n_threads(context: Any) -> Any:
    """How many threads play this run."""

    def codegen(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        return context.get_constant(types.int64, _threads)

    return types.int64(), codegen


@intrinsic
def barrier(context: Any) -> Any:
    """Wait for the other threads of this run."""

    def codegen(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        _wait(builder)
        return context.get_dummy_value()

    return types.none(), codegen


def _wait_for_the_block(builder: Any) -> None:
    """Until the other threads of the warp are here, then until all warps of the block are.

    Whoever has left the kernel is not waited for, so runs may end at any time.  The second is
    worth it even for a block of one warp: behind it the compiler takes the threads to be together
    (measured: full batches are 1.7 times as fast as with the first alone).
    """
    none = ir.FunctionType(ir.VoidType(), [])
    both = r"bar.warp.sync 0xffffffff;\0A\09bar.sync 0;"
    builder.call(ir.InlineAsm(none, both, "~{memory}", side_effect=True), [])


@intrinsic
def align_at_episode(context: Any) -> Any:
    """Wait for the other runs of the block, if several share a warp."""

    def codegen(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        if _threads < 32:
            _wait_for_the_block(builder)
        return context.get_dummy_value()

    return types.none(), codegen


@intrinsic
def align_at_step(context: Any) -> Any:
    """Wait for the other runs of the block, if each has a warp of its own."""

    def codegen(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        if _threads == 32:
            _wait_for_the_block(builder)
        return context.get_dummy_value()

    return types.none(), codegen


@intrinsic
def thread(context: Any) -> Any:
    """Which of them this one is."""

    def codegen(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        if _threads == 1:
            return context.get_constant(types.int64, 0)
        return builder.zext(_mine(builder), ir.IntType(64))

    return types.int64(), codegen


def _passed_on(builder: Any, value: Any, source: Any) -> Any:
    """A float of another thread, 32 bits at a time."""
    kind = ir.FunctionType(SHORT, [SHORT] * 4)
    pass_on = cgutils.get_or_insert_function(builder.module, kind, "llvm.nvvm.shfl.sync.idx.i32")
    pair = builder.bitcast(value, ir.VectorType(SHORT, 2))
    for i in range(2):
        half = builder.extract_element(pair, SHORT(i))
        half = builder.call(pass_on, [_run(builder), half, source, SHORT(31)])
        pair = builder.insert_element(pair, half, SHORT(i))
    return builder.bitcast(pair, ir.DoubleType())


@intrinsic
def broadcast(context: Any, value: Any, who: Any) -> Any:
    """The ``value`` that thread number ``who`` has."""

    def codegen(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        if _threads == 1:
            return args[0]
        source = builder.add(_first(builder), builder.trunc(args[1], SHORT))
        return _passed_on(builder, args[0], source)

    return types.float64(value, who), codegen


@intrinsic
def reduce_max(context: Any, value: Any) -> Any:
    """The largest ``value`` that any of them has."""

    def codegen(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        found, apart = args[0], 1
        while apart < _threads:
            partner = builder.xor(_lane(builder), SHORT(apart))
            other = _passed_on(builder, found, partner)
            found = builder.select(builder.fcmp_ordered(">", other, found), other, found)
            apart *= 2
        return found

    return types.float64(value), codegen
