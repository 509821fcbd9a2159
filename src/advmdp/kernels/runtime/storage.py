"""Where the fields of the kernels' records live, declared on the fields themselves.

    class Reach(NamedTuple):
        value: Scratch[Floats]      # (S,)
        keys: Private[Floats]       # (widest layer,)

Saving a learner reads it (only ``Lasting`` arrays are written), and so does a batch on a GPU, which
decides from it what every run has, what every thread has, what all runs share and what becomes a
constant of the compiled program.  The annotations cost nothing: numba never sees them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Storage(Enum):
    """What happens to one field of a record."""

    LASTING = "carried from episode to episode: one for each run, saved"
    SCRATCH = "written before it is read in every episode: one for each run, not saved"
    ALONE = "scratch of a run that one thread plays: empty on a card, not saved"
    PRIVATE = "scratch that a thread fills and reads by itself: one for each thread of a run"
    COMMON = "never written: held once when all runs agree on it, not saved"
    CHOICE = "a number that selects a branch: part of the compiled program when all runs agree"
    SWITCH = "a number that switches a part off when it is zero, and is then a constant as well"
    NUMBER = "any other number"


Lasting = Annotated[T, Storage.LASTING]
Scratch = Annotated[T, Storage.SCRATCH]
Alone = Annotated[T, Storage.ALONE]
Private = Annotated[T, Storage.PRIVATE]
Common = Annotated[T, Storage.COMMON]
Choice = Annotated[T, Storage.CHOICE]
Switch = Annotated[T, Storage.SWITCH]
Number = Annotated[T, Storage.NUMBER]


@cache
def storage_of(record: type) -> dict[str, Storage | None]:
    """The declared storage of every field; None for a field without one (a nested record)."""
    hints = get_type_hints(record, include_extras=True)
    return {name: _declared(hint) for name, hint in hints.items()}


def _declared(hint: Any) -> Storage | None:
    if get_origin(hint) is not Annotated:
        return None
    found = [mark for mark in get_args(hint)[1:] if isinstance(mark, Storage)]
    return found[0] if found else None


def leaves(
    record: Any, prefix: str = "", of_all: Storage | None = None
) -> Iterator[tuple[str, Any, Storage | None]]:
    """Dotted name, value and storage of every leaf of a nested record.

    A storage that is declared on a field with a nested record is that of all its arrays.
    """
    kind: type = type(record)
    for name, value in zip(record._fields, record, strict=True):
        declared = storage_of(kind)[name]
        if hasattr(value, "_fields"):
            yield from leaves(value, f"{prefix}{name}.", of_all or declared)
        else:
            yield prefix + name, value, effective_storage(value, declared, of_all)


def effective_storage(
    value: Any, declared: Storage | None, of_all: Storage | None
) -> Storage | None:
    """The storage of a leaf inside a record whose field declares ``of_all``."""
    is_number = value is None or isinstance(value, bool | int | float)
    return declared if is_number or of_all is None else of_all
