"""Loops replaced by instructions that are written out, where the compiler would not find them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from ..runtime.targets import compiles_for_cpu, leaf

F = TypeVar("F", bound=Callable[..., object])


def in_registers(write: Callable[..., Any], *, returns: bool = False) -> Callable[[F], F]:
    """Replace a loop by ``write`` on the CPU; elsewhere it stays a ``leaf``.

    ``write(builder, *arguments)`` gets pointers in place of arrays, and gives back the number that
    the function returns, if it ``returns`` one.
    """

    def replace(function: F) -> F:
        if not compiles_for_cpu():
            return leaf(function)
        from numba import types
        from numba.extending import intrinsic

        def choose(context: Any, *kinds: Any) -> Any:
            wanted = [
                kind if isinstance(kind, types.Array | types.Float) else types.int64
                for kind in kinds
            ]

            def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                given = [
                    context.make_array(kind)(context, builder, value).data
                    if isinstance(kind, types.Array)
                    else value
                    for kind, value in zip(wanted, values, strict=True)
                ]
                found = write(builder, *given)
                return found if returns else context.get_dummy_value()

            return (types.float64 if returns else types.void)(*wanted), generate

        choose.__name__ = function.__name__
        names = inspect.signature(function).parameters.values()
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        choose.__signature__ = inspect.Signature([context, *names])  # type: ignore[attr-defined]
        return cast(F, intrinsic(choose))

    return replace


def repeat(
    builder: Any, count: Any, start: Sequence[Any], grown: Callable[[Any, Any], Sequence[Any]]
) -> list[Any]:
    """``held = grown(j, held)`` for j = 0 .. count - 1, of which there is at least one."""
    before, loop = builder.block, builder.append_basic_block()
    after = builder.append_basic_block()
    builder.branch(loop)
    builder.position_at_end(loop)
    j = builder.phi(count.type)
    held = [builder.phi(value.type) for value in start]
    found = list(grown(j, held))
    following = builder.add(j, count.type(1))
    begun, then = [count.type(0), *start], [following, *found]
    for phi, first, later in zip([j, *held], begun, then, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(later, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
    builder.position_at_end(after)
    return found


def repeat_any(
    builder: Any, count: Any, start: Sequence[Any], grown: Callable[[Any, Any], Sequence[Any]]
) -> list[Any]:
    """``repeat`` for a count that may be zero."""
    before = builder.block
    with builder.if_then(builder.icmp_signed(">", count, count.type(0))):
        found = repeat(builder, count, start, grown)
        inside = builder.block
    result = [builder.phi(value.type) for value in start]
    for phi, first, last in zip(result, start, found, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(last, inside)
    return result


def repeat_while(
    builder: Any,
    count: Any,
    start: Sequence[Any],
    grown: Callable[[Any, Any], tuple[Sequence[Any], Any]],
) -> list[Any]:
    """``held, goes_on = grown(j, held)`` for j = 0 .. count - 1, of which there is at least one.

    It ends early where it does not go on.
    """
    before, loop = builder.block, builder.append_basic_block()
    after = builder.append_basic_block()
    builder.branch(loop)
    builder.position_at_end(loop)
    j = builder.phi(count.type)
    held = [builder.phi(value.type) for value in start]
    found, goes_on = grown(j, held)
    following = builder.add(j, count.type(1))
    begun, then = [count.type(0), *start], [following, *found]
    for phi, first, later in zip([j, *held], begun, then, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(later, builder.block)
    left = builder.icmp_signed("<", following, count)
    builder.cbranch(builder.and_(left, goes_on), loop, after)
    builder.position_at_end(after)
    return list(found)
