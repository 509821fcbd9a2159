"""Checks of single numbers that a caller gives; each message names the argument."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from advmdp.errors import InvalidInput


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """``value`` as an int of at least ``least``.

    >>> whole_number(0, "horizon")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: horizon: 0 is not a whole number of at least 1
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{value!r} is not a whole number of at least {least}", field=name)
    return int(value)


def real_number(value: Any, name: str) -> float:
    """``value`` as a finite float."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise InvalidInput(f"{value!r} is not a number", field=name)
    number = float(value)
    if not math.isfinite(number):
        raise InvalidInput(f"{value!r} is not a finite number", field=name)
    return number


def positive_number(value: Any, name: str) -> float:
    """``value`` as a finite float above zero."""
    number = real_number(value, name)
    if number <= 0.0:
        raise InvalidInput(f"{value!r} is not above zero", field=name)
    return number


def unit_number(value: Any, name: str, *, below_one: bool = False) -> float:
    """``value`` as a float in [0, 1], or in [0, 1) if ``below_one``."""
    number = real_number(value, name)
    if not 0.0 <= number <= 1.0 or (below_one and number == 1.0):
        interval = "[0, 1)" if below_one else "[0, 1]"
        raise InvalidInput(f"{value!r} is outside {interval}", field=name)
    return number
