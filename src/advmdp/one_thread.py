"""Objects with work space of their own serve one thread at a time; this says so at once."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any

from advmdp.errors import InvalidInput


class OneThread:
    """A block that is refused, not waited for, while another thread is inside.

    Compiled code leaves the interpreter, so two threads can be inside one object at the same time
    and would mix up its arrays.  Entering and leaving costs less than a microsecond.  A copy of the
    object, and an object read from a pickle, has a guard of its own.

    >>> guard = OneThread("learner")
    >>> with guard, guard:
    ...     pass
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: learner: in use by another thread; give every thread its own, ...
    """

    __slots__ = ("_lock", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise InvalidInput(
                f"{self._name}: in use by another thread; give every thread its own, "
                "or put a lock around it"
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._name,)


def one_thread_of(owner: Any) -> AbstractContextManager[None]:
    """The guard of an object, or none where it has none."""
    guard: AbstractContextManager[None] = getattr(owner, "_one_thread", nullcontext())
    return guard
