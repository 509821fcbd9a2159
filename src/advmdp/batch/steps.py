"""``range`` inside a GPU thread, for the loops of the kernels.

numba's own ``range`` serves steps of either sign and keeps two 64-bit counters, which is seven
instructions in every turn of every loop.  The kernels only count upwards, and neither entries nor
episodes reach 2**31: one 32-bit counter does.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.core.imputils import RefType, iternext_impl
from numba.cuda.extending import lower_builtin, models, register_model
from numba.cuda.typing import signature
from numba.cuda.typing.templates import AbstractTemplate, infer_global

NOT_UNROLLED = r".pragma \22nounroll\22;\0A\09mov.u32 $0, $1;"


class Steps(types.SimpleIterableType):
    """begin, begin + step, ... before end."""

    def __init__(self) -> None:
        super().__init__("Steps", Stepping())


class Stepping(types.SimpleIteratorType):
    """How far a loop is; its numbers are 64-bit integers, as on the CPU."""

    def __init__(self) -> None:
        super().__init__("Stepping", types.int64)


@register_model(Steps)
class StepsModel(models.StructModel):
    """Three numbers."""

    def __init__(self, manager: Any, kind: Steps) -> None:
        members = [(name, types.int32) for name in ("begin", "end", "step")]
        super().__init__(manager, kind, members)


@register_model(Stepping)
class SteppingModel(models.StructModel):
    """The counter, and where it ends."""

    def __init__(self, manager: Any, kind: Stepping) -> None:
        now = ("now", types.EphemeralPointer(types.int32))
        super().__init__(manager, kind, [now, ("end", types.int32), ("step", types.int32)])


def steps(*arguments: int) -> range:
    """``range(end)``, ``range(begin, end)`` or ``range(begin, end, step)`` with a positive step."""
    return range(*arguments)


@infer_global(steps)
class StepsTemplate(AbstractTemplate):
    """One to three whole numbers."""

    def generic(self, args: Any, kws: Any) -> Any:
        fit = 1 <= len(args) <= 3 and all(isinstance(kind, types.Integer) for kind in args)
        return signature(Steps(), *args) if fit and not kws else None


def steps_of(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    """The three numbers of one to three arguments."""
    numbers = [
        context.cast(builder, value, kind, types.int32)
        for value, kind in zip(args, typed.args, strict=True)
    ]
    state = cgutils.create_struct_proxy(Steps())(context, builder)
    state.begin = numbers[0] if len(numbers) > 1 else context.get_constant(types.int32, 0)
    state.end = numbers[1] if len(numbers) > 1 else numbers[0]
    state.step = numbers[2] if len(numbers) > 2 else context.get_constant(types.int32, 1)
    return state


@lower_builtin(steps, types.VarArg(types.Integer))
def lower_steps(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return steps_of(context, builder, typed, args)._getvalue()


@lower_builtin("getiter", Steps)
def lower_getiter(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    state = cgutils.create_struct_proxy(Steps())(context, builder, args[0])
    stepping = cgutils.create_struct_proxy(Stepping())(context, builder)
    stepping.now = cgutils.alloca_once_value(builder, state.begin)
    stepping.end, stepping.step = state.end, state.step
    return stepping._getvalue()


@lower_builtin("iternext", Stepping)
@iternext_impl(RefType.UNTRACKED)
def lower_iternext(context: Any, builder: Any, typed: Any, args: Any, result: Any) -> None:
    stepping = cgutils.create_struct_proxy(Stepping())(context, builder, args[0])
    now = builder.load(stepping.now)
    result.set_valid(builder.icmp_signed("<", now, stepping.end))
    # The assembler would unroll what the compiler did not.
    short = ir.IntType(32)
    plain = ir.InlineAsm(ir.FunctionType(short, [short]), NOT_UNROLLED, "=r,r")
    same = builder.call(plain, [now], attrs=("readnone", "nounwind"))
    result.yield_(builder.zext(same, ir.IntType(64)))
    builder.store(builder.add(now, stepping.step, flags=["nsw"]), stepping.now)
