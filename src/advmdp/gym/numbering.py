"""A numbering 0, 1, 2, ... of the elements of a discrete space, in lexicographic order."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import index
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput

MOST_ELEMENTS = 10**8  # more states than a layout can have


class Numbering(NamedTuple):
    """A bijection between the elements of a space and ``range(size)``."""

    space: str
    """The name of the space in error messages."""
    size: int
    number: Callable[[Any], int]
    """The number of an element of the space; ``checked`` accepts any value."""
    element: Callable[[int], Any]

    def checked(self, element: Any, where: str) -> int:
        """The number of an element; other values are rejected, with ``where`` in the message."""
        try:
            number = self.number(element)
        except (TypeError, ValueError):
            number = -1
        if not 0 <= number < self.size:
            raise InvalidInput(f"{where}: {shown(element)} is not in the {self.space}")
        return number


def numbering(space: Any, name: str) -> Numbering:
    """Number the elements of a space that has finitely many.

    These are ``Discrete``, ``MultiDiscrete``, ``MultiBinary``, a ``Box`` of whole numbers between
    bounds, and a ``Tuple`` or ``Dict`` of them.

    >>> hands = numbering(spaces.Tuple((spaces.Discrete(32), spaces.Discrete(11))), "observations")
    >>> hands.size, hands.number((20, 5)), hands.element(225)
    (352, 225, (20, 5))
    """
    found = _numbering(space, name)
    if found.size > MOST_ELEMENTS:
        raise InvalidInput(f"{name}: {shown(space)} has more than {MOST_ELEMENTS:,} elements")
    return found


def _numbering(space: Any, name: str) -> Numbering:
    label = f"{name} {space}"
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        return Numbering(label, int(space.n), lambda x: index(x) - first, lambda i: int(i) + first)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return _of_array(label, space)
    if isinstance(space, spaces.Tuple):
        return _of_tuple(label, [numbering(part, name) for part in space.spaces])
    if isinstance(space, spaces.Dict):
        return _of_dict(label, {key: numbering(part, name) for key, part in space.items()})
    if isinstance(space, spaces.Box) and space.dtype.kind in "iu" and space.is_bounded():
        sizes = space.high.astype(np.int64) - space.low.astype(np.int64) + 1
        return _of_digits(label, sizes, space.low.astype(np.int64), space.dtype)
    wrapper = "DiscretizeAction" if "action" in name else "DiscretizeObservation"
    raise InvalidInput(
        f"{name}: {space} has no finite list of elements; give Discrete, MultiDiscrete, "
        f"MultiBinary, whole numbers in a Box, or a Tuple or Dict of them "
        f"(gymnasium.wrappers.{wrapper} makes one of a Box)"
    )


def _of_array(label: str, space: spaces.MultiDiscrete | spaces.MultiBinary) -> Numbering:
    sizes = np.full(space.shape, 2) if isinstance(space, spaces.MultiBinary) else space.nvec
    first = np.zeros_like(sizes) if isinstance(space, spaces.MultiBinary) else space.start
    return _of_digits(label, sizes, first, space.dtype)


def _of_digits(label: str, sizes: Any, first: Any, dtype: Any) -> Numbering:
    """Arrays of whole numbers, from ``first`` on, ``sizes`` many at each place."""
    flat = tuple(int(n) for n in sizes.ravel())

    def number(x: Any) -> int:
        if np.shape(x) != sizes.shape:
            raise ValueError
        return int(np.ravel_multi_index(tuple(np.ravel(np.asarray(x) - first)), flat))

    def element(i: int) -> Any:
        digits = np.reshape(np.unravel_index(i, flat), sizes.shape)
        return (digits + first).astype(dtype)

    return Numbering(label, prod(flat), number, element)


def _of_dict(label: str, parts: dict[str, Numbering]) -> Numbering:
    whole = _of_tuple(label, list(parts.values()))

    def number(x: Any) -> int:
        if not isinstance(x, dict) or set(x) != set(parts):
            raise ValueError
        return whole.number(tuple(x[key] for key in parts))

    def element(i: int) -> Any:
        return dict(zip(parts, whole.element(i), strict=True))

    return Numbering(label, whole.size, number, element)


def _of_tuple(label: str, parts: list[Numbering]) -> Numbering:
    sizes = tuple(part.size for part in parts)

    def number(x: Any) -> int:
        digits = [part.number(value) for part, value in zip(parts, x, strict=True)]
        return int(np.ravel_multi_index(digits, sizes))

    def element(i: int) -> Any:
        digits = np.unravel_index(i, sizes)
        return tuple(part.element(int(d)) for part, d in zip(parts, digits, strict=True))

    return Numbering(label, prod(sizes), number, element)
