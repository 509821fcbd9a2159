"""Functions whose implementation is chosen by the type of one argument, when a caller is compiled.

    @dispatched("rows")
    def mean_width(rows): ...                 # the interface: its docstring, and nothing else

    @mean_width.register(BoxRows)
    @leaf
    def mean_width_of_box(rows): ...          # an implementation, with the same arguments

A kernel that calls ``mean_width(rows)`` is compiled once for every type of ``rows``, with the
implementation of that type inlined: nothing is decided at run time.  Called from Python, the
interface looks the implementation up by itself and runs it compiled.  This is how the package finds
sets of transitions, steps and updates; a new one registers itself from any module, inside the
package or outside.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from .targets import overload_for_target

F = TypeVar("F", bound=Callable[..., Any])


class Borrowed(NamedTuple):
    """An array that a kernel hands back: kernels may return records, but not bare arrays."""

    array: Any


class Dispatched(Protocol):
    """What ``dispatched`` makes of an interface."""

    table: dict[type, Callable[..., Any]]
    """Implementations by the type of the argument."""

    def __call__(self, *arguments: Any) -> Any: ...

    def register(self, kind: type) -> Callable[[F], F]:
        """Decorate the implementation for arguments of type ``kind``."""
        ...


def dispatched(
    argument: str,
    *,
    default: Callable[..., Any] | None = None,
    inline: bool = True,
    returns_record: bool = False,
) -> Callable[[Callable[..., Any]], Dispatched]:
    """Make an interface of a function: choose by the type of the argument named ``argument``.

    ``default`` is the implementation for types without one of their own.  ``returns_record`` is for
    functions that hand out arrays: they have to be one expression, which Python can run as it is.
    """

    def decorate(interface: Callable[..., Any]) -> Dispatched:
        place = list(inspect.signature(interface).parameters).index(argument)
        table: dict[type, Callable[..., Any]] = {}

        def implementation(kind: type) -> Callable[..., Any]:
            if kind not in table and default is not None:
                return default
            if kind not in table:
                raise NotImplementedError(
                    f"{interface.__name__}: no implementation for {kind.__name__}; "
                    f"register one with @{interface.__name__}.register({kind.__name__})"
                )
            return table[kind]

        def call(*arguments: Any) -> Any:
            chosen = implementation(type(arguments[place]))
            if returns_record:
                return getattr(chosen, "py_func", chosen)(*arguments)
            return chosen(*arguments)

        def choose(*types: Any) -> Any:
            chosen = implementation(class_of(types[place]))
            return getattr(chosen, "py_func", chosen)

        def register(kind: type) -> Callable[[F], F]:
            def add(function: F) -> F:
                table[kind] = function
                return function

            return add

        call.__name__ = call.__qualname__ = interface.__name__
        call.__doc__, call.__module__ = interface.__doc__, interface.__module__
        made = cast("Any", call)
        made.table, made.register = table, register
        overload_for_target(call, inline=inline)(choose)
        return cast("Dispatched", made)

    return decorate


def class_of(kind: Any) -> type:
    """The Python class behind a numba type: of a NamedTuple, or of None."""
    found = getattr(kind, "instance_class", None)
    return type(None) if found is None else cast("type", found)
