"""Passes over a row as vector instructions, with one fixed order of additions.

Plain IEEE arithmetic does what the source says, so a sum written as a loop is one long chain of
additions.  ``vectorised`` replaces such a loop on the CPU: entry j goes to lane j mod 8, and the
lanes are added as a tree of neighbours,

    ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)),

which is nearly as fast as a sum in any order (a row of 30: 10 ns instead of 17) and yet the same in
every process.  It is written as LLVM's vectors because the compiler makes them by itself only where
it may reorder at will.  Other targets compile the loop as it stands; up to three entries are added
in the same order there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from ..runtime.targets import compiles_for_cpu, leaf

F = TypeVar("F", bound=Callable[..., object])
Terms = Callable[..., Sequence[Any]]

N_LANES = 8


class Lanes:
    """Writes instructions on eight numbers at once, while a kernel is compiled."""

    def __init__(self, builder: Any, size: Any) -> None:
        from llvmlite import ir

        self._ir, self._builder, self.builder = ir, builder, builder
        self._short = ir.IntType(32)
        self.kind = ir.VectorType(ir.DoubleType(), N_LANES)
        self._numbers = ir.VectorType(size.type, N_LANES)(list(range(N_LANES)))
        self._inside: Any = None
        self.add, self.subtract = builder.fadd, builder.fsub
        self.times, self.over = builder.fmul, builder.fdiv
        self.where = builder.select

    def every(self, value: float) -> Any:
        """A constant in every lane."""
        return self.kind([value] * N_LANES)

    def spread(self, scalar: Any) -> Any:
        """A scalar in every lane."""
        kind = self._ir.VectorType(scalar.type, N_LANES)
        nothing = kind(self._ir.Undefined)
        first = self._builder.insert_element(nothing, scalar, self._short(0))
        order = self._ir.VectorType(self._short, N_LANES)([0] * N_LANES)
        return self._builder.shuffle_vector(first, nothing, order)

    def less(self, a: Any, b: Any) -> Any:
        """Whether a < b."""
        return self._builder.fcmp_ordered("<", a, b)

    def equal(self, a: Any, b: Any) -> Any:
        """Whether a == b."""
        return self._builder.fcmp_ordered("==", a, b)

    def not_less(self, a: Any, b: Any) -> Any:
        """Whether a >= b."""
        return self._builder.fcmp_ordered(">=", a, b)

    def both(self, a: Any, b: Any) -> Any:
        """Whether two conditions hold."""
        return self._builder.and_(a, b)

    def neither(self, a: Any, b: Any) -> Any:
        """Whether none of two conditions holds."""
        return self._builder.not_(self._builder.or_(a, b))

    def some(self, condition: Any) -> Any:
        """Whether a condition holds in any lane."""
        bits = self._builder.bitcast(condition, self._ir.IntType(N_LANES))
        return self._builder.icmp_unsigned("!=", bits, bits.type(0))

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        """The polynomial with these coefficients, the constant first."""
        value = self.every(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = self.add(self.every(coefficient), self.times(x, value))
        return value

    def larger(self, a: Any, b: Any) -> Any:
        """The larger of a and b; a when one is not a number."""
        return self.where(self.less(a, b), b, a)

    def smaller(self, a: Any, b: Any) -> Any:
        """The smaller of a and b; a when one is not a number."""
        return self.where(self.less(b, a), b, a)

    def inside(self, a: Any) -> Any:
        """a in the lanes of the row, zero in those beyond its end."""
        return a if self._inside is None else self.where(self._inside, a, self.every(0.0))

    def count(self, condition: Any) -> Any:
        """One in the lanes of the row where the condition holds, zero in all others."""
        return self.inside(self.where(condition, self.every(1.0), self.every(0.0)))

    def stop_after(self, left: Any) -> None:
        """From here on only the first lanes belong to the row: as many as are left of it."""
        self._left = left
        self._inside = self._builder.icmp_signed("<", self._numbers, self.spread(left))

    def load(self, pointer: Any) -> Any:
        """Eight entries; zeros for those beyond the end of the row, which are not touched."""
        builder, ir = self._builder, self._ir
        kind = ir.VectorType(pointer.type.pointee, N_LANES)
        place = builder.bitcast(pointer, kind.as_pointer())
        if self._inside is None:
            found = builder.load(place, align=self._bytes(kind))
        else:
            bits = 8 * self._bytes(kind)
            name = f"llvm.masked.load.v{N_LANES}{'f' if kind == self.kind else 'i'}{bits}.p0"
            nothing = kind([0] * N_LANES)
            arguments = [place, self._short(self._bytes(kind)), self._inside, nothing]
            signature = ir.FunctionType(kind, [argument.type for argument in arguments])
            load = builder.module.globals.get(name) or ir.Function(builder.module, signature, name)
            found = builder.call(load, arguments)
        return found if kind == self.kind else builder.uitofp(found, self.kind)

    def _bytes(self, kind: Any) -> int:
        return 8 if kind.element == self.kind.element else int(kind.element.width) // 8

    def store(self, value: Any, pointer: Any) -> None:
        """Write eight entries, or as many as are left of the row.

        Those go in pieces of four, two and one: a processor that is told to write some lanes of
        eight takes the whole for written, and makes whoever reads the next row wait.
        """
        builder = self._builder
        if value.type.element == self._ir.IntType(1):  # a condition
            value = builder.zext(value, self._ir.VectorType(self._ir.IntType(8), N_LANES))
        align = self._bytes(value.type)
        if self._inside is None:
            builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=align)
            return
        width = N_LANES
        while width > 1:
            width //= 2
            low, high = (self._part(value, range(k, k + width)) for k in (0, width))
            flag = builder.and_(self._left, self._left.type(width))
            wanted = builder.icmp_signed("!=", flag, flag.type(0))
            with builder.if_then(wanted):
                builder.store(low, builder.bitcast(pointer, low.type.as_pointer()), align=align)
            value = self.where(wanted, high, low)
            pointer = builder.gep(pointer, [flag])

    def _part(self, lanes: Any, chosen: Iterable[int]) -> Any:
        order = list(chosen)
        kind = self._ir.VectorType(self._short, len(order))
        return self._builder.shuffle_vector(lanes, lanes, kind(order))

    def root(self, a: Any) -> Any:
        """The square root."""
        kind = self._ir.FunctionType(self.kind, [self.kind])
        name = f"llvm.sqrt.v{N_LANES}f64"
        module = self._builder.module
        function = module.globals.get(name) or self._ir.Function(module, kind, name)
        return self._builder.call(function, [a])

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c with one rounding."""
        kind = self._ir.FunctionType(self.kind, [self.kind] * 3)
        name = f"llvm.fma.v{N_LANES}f64"
        module = self._builder.module
        function = module.globals.get(name) or self._ir.Function(module, kind, name)
        return self._builder.call(function, [a, b, c])

    def first(self, lanes: Any, width: int) -> Any:
        """The first few lanes."""
        return self._part(lanes, range(width))

    def tree(self, lanes: Any, join: Callable[[Any, Any], Any]) -> Any:
        """All lanes joined, neighbours first."""
        width = N_LANES
        while width > 1:
            width //= 2
            lanes = join(
                self._part(lanes, range(0, 2 * width, 2)), self._part(lanes, range(1, 2 * width, 2))
            )
        return self._builder.extract_element(lanes, self._short(0))


def _write_loop(
    builder: Any,
    pointers: Sequence[Any],
    size: Any,
    scalars: Sequence[Any],
    terms: Terms,
    n_results: int,
    writes: Sequence[int],
    largest: bool,
) -> list[Any]:
    """Eight entries at a time, then what is left; returns the sums or the largest of the terms."""
    lanes = Lanes(builder, size)
    join = lanes.larger if largest else lanes.add
    spread = [lanes.spread(scalar) for scalar in scalars]
    nothing = [lanes.every(0.0)] * n_results
    whole = builder.and_(size, size.type(-N_LANES))

    def grown(held: Sequence[Any], i: Any) -> list[Any]:
        places = [builder.gep(pointer, [i]) for pointer in pointers]
        found = terms(lanes, *map(lanes.load, places), *spread)
        for k, value in zip(writes, found[n_results:], strict=True):
            lanes.store(value, places[k])
        return list(map(join, held, found[:n_results]))

    def barrier(places: Sequence[Any], *ways: Sequence[Any]) -> list[Any]:
        phis = [builder.phi(value.type) for value in ways[0]]
        for place, values in zip(places, ways, strict=True):
            for phi, value in zip(phis, values, strict=True):
                phi.add_incoming(value, place)
        return phis

    begin = builder.block
    loop, rest, tail, end = (builder.append_basic_block() for _ in range(4))
    builder.cbranch(builder.icmp_signed(">", whole, size.type(0)), loop, rest)

    builder.position_at_end(loop)
    i = builder.phi(size.type)
    held = [builder.phi(lanes.kind) for _ in nothing]
    following = [builder.add(i, size.type(N_LANES)), *grown(held, i)]
    for phi, first, then in zip([i, *held], [size.type(0), *nothing], following, strict=True):
        phi.add_incoming(first, begin)
        phi.add_incoming(then, loop)
    builder.cbranch(builder.icmp_signed("<", following[0], whole), loop, rest)

    builder.position_at_end(rest)
    so_far = barrier([begin, loop], nothing, following[1:])
    builder.cbranch(builder.icmp_signed("<", whole, size), tail, end)

    builder.position_at_end(tail)
    lanes.stop_after(builder.sub(size, whole))
    complete = grown(so_far, whole)
    tail = builder.block  # writing what is left has branches
    builder.branch(end)

    builder.position_at_end(end)
    return [lanes.tree(value, join) for value in barrier([rest, tail], so_far, complete)]


def vectorised(
    terms: Terms, *, n_results: int = 1, writes: Sequence[int] = (), largest: bool = False
) -> Callable[[F], F]:
    """Replace a loop by ``terms`` on the CPU; elsewhere it stays a ``leaf``.

    The function takes arrays, each followed by where the row begins in it, then the size of the
    row, then numbers.  ``terms(lanes, *entries, *numbers)`` gives what one lane adds to each result
    (or, with ``largest``, what is compared with it; results are then at least zero), and after that
    what is written to the arrays with the numbers ``writes``.
    """

    def replace(function: F) -> F:
        if not compiles_for_cpu():
            return leaf(function)
        from numba import types
        from numba.core.errors import TypingError
        from numba.extending import intrinsic

        def choose(context: Any, *kinds: Any) -> Any:
            arrays = [kind for kind in kinds if isinstance(kind, types.Array)]
            if any(array.layout != "C" for array in arrays):
                raise TypingError(
                    f"{function.__name__}: the entries of a row must lie side by side"
                )
            one = types.float64
            result: Any = one if n_results else types.void
            if n_results > 1:
                result = types.UniTuple(one, n_results)  # type: ignore[no-untyped-call]

            def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                pointers = [
                    builder.gep(
                        context.make_array(kinds[2 * k])(context, builder, values[2 * k]).data,
                        [values[2 * k + 1]],
                    )
                    for k in range(len(arrays))
                ]
                size, *scalars = values[2 * len(arrays) :]
                found = _write_loop(
                    builder, pointers, size, scalars, terms, n_results, writes, largest
                )
                if n_results == 0:
                    return context.get_dummy_value()
                return found[0] if n_results == 1 else context.make_tuple(builder, result, found)

            return result(*kinds), write

        choose.__name__ = function.__name__
        names = inspect.signature(function).parameters.values()
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        choose.__signature__ = inspect.Signature([context, *names])  # type: ignore[attr-defined]
        return cast(F, intrinsic(choose))

    return replace
