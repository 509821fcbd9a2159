"""The checks that the files of this folder share; each message names the place and the remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.support import whole_number as whole_number


def unit_pairs(layout: Layout, table: Any, name: str) -> Floats:
    """A pair table of losses as a new flat vector, checked to lie in [0, 1].

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=1)
    >>> unit_pairs(layout, [[[0.5]], [[0.0], [1.5]]], "mean")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: mean: 1.5 at layer 1, state 1, action 0; losses lie in [0, 1]
    """
    flat = layout.flat_pairs(table, name)
    outside = (flat < 0.0) | (flat > 1.0)
    if outside.any():
        row = int(outside.argmax())
        raise InvalidInput(
            f"{name}: {flat[row]} at {layout.name_of_row(row)}; losses lie in [0, 1]"
        )
    return flat


def unit_tables(layout: Layout, tables: Any, name: str) -> Floats:
    """A sequence of pair tables as one new array of shape (K, R), each checked."""
    if not isinstance(tables, Sequence | np.ndarray) or len(tables) == 0:
        raise InvalidInput(f"{name}: give a sequence of at least one pair table")
    return np.stack([unit_pairs(layout, t, f"{name}[{i}]") for i, t in enumerate(tables)])


def unit_number(value: Any, name: str, *, below_one: bool = False) -> float:
    """``value`` as a float in [0, 1], or in [0, 1) on request."""
    number = real_number(value, name)
    if not 0.0 <= number <= 1.0 or (below_one and number == 1.0):
        interval = "[0, 1)" if below_one else "[0, 1]"
        raise InvalidInput(f"{name}: {value!r} is outside {interval}")
    return number


def positive_number(value: Any, name: str) -> float:
    """``value`` as a finite float above zero."""
    number = real_number(value, name)
    if number <= 0.0:
        raise InvalidInput(f"{name}: {value!r} is not above zero")
    return number


def real_number(value: Any, name: str) -> float:
    """``value`` as a finite float."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise InvalidInput(f"{name}: {value!r} is not a number")
    number = float(value)
    if not math.isfinite(number):
        raise InvalidInput(f"{name}: {value!r} is not a finite number")
    return number
