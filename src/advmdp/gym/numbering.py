"""The elements of a discrete space, counted 0, 1, 2, ... in the order of an odometer."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from advmdp.errors import InvalidInput


class Numbering(NamedTuple):
    """A bijection between the elements of a space and ``range(size)``."""

    size: int
    number: Callable[[Any], int]
    element: Callable[[int], Any]


def numbering(space: Any, name: str) -> Numbering:
    """Count the elements of a ``Discrete``, ``MultiDiscrete``, ``MultiBinary`` or ``Tuple`` space.

    >>> hands = numbering(spaces.Tuple((spaces.Discrete(32), spaces.Discrete(11))), "observations")
    >>> hands.size, hands.number((20, 5)), hands.element(225)
    (352, 225, (20, 5))
    """
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        return Numbering(int(space.n), lambda x: int(x) - first, lambda i: int(i) + first)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return _of_array(space)
    if isinstance(space, spaces.Tuple):
        return _of_tuple([numbering(part, name) for part in space.spaces])
    raise InvalidInput(
        f"{name}: {space} is not discrete; give Discrete, MultiDiscrete, MultiBinary or a Tuple "
        "of them"
    )


def _of_array(space: spaces.MultiDiscrete | spaces.MultiBinary) -> Numbering:
    sizes = np.full(space.shape, 2) if isinstance(space, spaces.MultiBinary) else space.nvec
    first = np.zeros_like(sizes) if isinstance(space, spaces.MultiBinary) else space.start
    flat = tuple(int(n) for n in sizes.ravel())

    def number(x: Any) -> int:
        return int(np.ravel_multi_index(tuple(np.ravel(np.asarray(x) - first)), flat))

    def element(i: int) -> Any:
        digits = np.reshape(np.unravel_index(i, flat), sizes.shape)
        return (digits + first).astype(space.dtype)

    return Numbering(prod(flat), number, element)


def _of_tuple(parts: list[Numbering]) -> Numbering:
    sizes = tuple(part.size for part in parts)

    def number(x: Any) -> int:
        digits = [part.number(value) for part, value in zip(parts, x, strict=True)]
        return int(np.ravel_multi_index(digits, sizes))

    def element(i: int) -> Any:
        digits = np.unravel_index(i, sizes)
        return tuple(part.element(int(d)) for part, d in zip(parts, digits, strict=True))

    return Numbering(prod(sizes), number, element)
