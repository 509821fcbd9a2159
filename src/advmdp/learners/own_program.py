"""Machine code of a kernel for one owner, whose arguments always have the same types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from advmdp.kernels.runtime.targets import machine_code


class OwnProgram:
    """A kernel that is called without looking up the types of its arguments.

    Looking up those of a state's hundred arrays takes longer than an update.  A copy of the owner
    looks them up again: its state may be another one.
    """

    __slots__ = ("_code",)

    kernel: ClassVar[Callable[..., Any]]

    def __init__(self) -> None:
        self._code: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._code is None:
            self._code = machine_code(self.kernel, *arguments)
        return self._code(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()
