"""Checks of the numbers that a caller gives; each message names the argument.

The checks return Python numbers and float64 arrays, to be used instead of what was given: NumPy's
integers overflow silently in later arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput

LARGEST = 2**63 - 1  # what an array of whole numbers can hold
MOST_SHOWN = 60
NO_NUMBERS = (bool, np.timedelta64)  # subclasses of whole numbers that count nothing


def shown(value: Any) -> str:
    """A value for a message: one line, not too long, whatever it is.

    >>> shown(10**400)
    '1000000000000000000000000000000000000000000000000000000000...'
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever a foreign __repr__ raises; the message is about something else
        text = f"a {type(value).__name__}"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 2]}..."


def whole_number(value: Any, name: str, least: int = 1, most: int | None = LARGEST) -> int:
    """``value`` as an int of at least ``least`` and at most ``most`` (None: of any size).

    >>> whole_number(0, "horizon")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: horizon: 0 is not a whole number of at least 1
    """
    if not isinstance(value, int | np.integer) or isinstance(value, NO_NUMBERS) or value < least:
        raise InvalidInput(f"{shown(value)} is not a whole number of at least {least}", field=name)
    if most is not None and value > most:
        raise InvalidInput(f"{shown(value)} is larger than {most}", field=name)
    return int(value)


def real_number(value: Any, name: str) -> float:
    """``value`` as a finite float."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(
        value, NO_NUMBERS
    ):
        raise InvalidInput(f"{shown(value)} is not a number", field=name)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(f"{shown(value)} is not a finite number", field=name)
    return number


def positive_number(value: Any, name: str) -> float:
    """``value`` as a finite float above zero."""
    number = real_number(value, name)
    if number <= 0.0:
        raise InvalidInput(f"{shown(value)} is not above zero", field=name)
    return number


def unit_number(value: Any, name: str, *, below_one: bool = False) -> float:
    """``value`` as a float in [0, 1], or in [0, 1) if ``below_one``."""
    number = real_number(value, name)
    if not 0.0 <= number <= 1.0 or (below_one and number == 1.0):
        interval = "[0, 1)" if below_one else "[0, 1]"
        raise InvalidInput(f"{shown(value)} is outside {interval}", field=name)
    return number


# ---------------------------------------------------------------------- arrays


def float_array(given: Any, name: str) -> NDArray[np.float64]:
    """An array of real numbers as float64; not a copy if it is one already.

    Complex numbers, truth values, text, dates and masked entries are rejected: NumPy would convert
    them and lose what they mean.

    >>> float_array([1, 0.5], "losses")
    array([1. , 0.5])
    >>> float_array([1, 0.5j], "losses")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: losses: give an array of real numbers, not of complex
    """
    if type(given) is np.ndarray and given.dtype == np.float64:
        return given
    return _array_of(given, name, "iuf", "real numbers").astype(np.float64)


def whole_array(given: Any, name: str) -> NDArray[np.int64]:
    """An array of whole numbers as int64; not a copy if it is one already."""
    if type(given) is np.ndarray and given.dtype == np.int64:
        return given
    array = _array_of(given, name, "iu", "whole numbers")
    if array.dtype == np.uint64 and array.max(initial=0) > LARGEST:
        raise InvalidInput(f"{name}: a number is larger than {LARGEST}")
    return array.astype(np.int64)


def any_array(given: Any, name: str) -> NDArray[Any]:
    """What NumPy makes of ``given``; masked entries and ragged lists are rejected."""
    try:
        array = np.asanyarray(given)
    except Exception:  # whatever a foreign __array__ raises, and NumPy for ragged lists
        raise InvalidInput(f"{name}: {shown(given)} does not make an array") from None
    if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
        raise InvalidInput(f"{name}: the array has masked entries; fill them in")
    return np.asarray(array)


def _array_of(given: Any, name: str, kinds: str, what: str) -> NDArray[Any]:
    if isinstance(given, list | tuple):
        _check_leaves(given, name, kinds, what)
    array = any_array(given, name)
    if array.dtype.kind not in kinds and array.size:
        raise InvalidInput(f"{name}: give an array of {what}, not of {array.dtype}")
    return array


def _check_leaves(values: Any, name: str, kinds: str, what: str) -> None:
    """Look at every kind of element: in a list, NumPy turns ``[True, 0.5]`` into numbers."""
    for kind in set(map(type, values)):
        if kind is float or kind is int:
            continue
        if issubclass(kind, list | tuple):
            for value in values:
                if isinstance(value, list | tuple):
                    _check_leaves(value, name, kinds, what)
        elif issubclass(kind, np.ndarray):
            for value in values:
                if isinstance(value, np.ndarray):
                    _array_of(value, name, kinds, what)
        elif issubclass(kind, bool | np.bool_ | str | bytes | complex):
            raise InvalidInput(f"{name}: give an array of {what}, not of {kind.__name__}")
