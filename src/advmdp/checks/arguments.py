"""Checks of arguments that are not numbers; each message names the argument."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from advmdp.checks.numbers import shown
from advmdp.display.counted import counted
from advmdp.errors import InvalidInput

Wanted = TypeVar("Wanted")
# What a table may come in; the first are recognised ten times faster than the last.
SEQUENCES = (list, tuple, np.ndarray, Sequence)


def is_sequence(value: Any) -> bool:
    """Whether ``value`` is a sequence; an array without an axis is not one."""
    return isinstance(value, SEQUENCES) and not (isinstance(value, np.ndarray) and value.ndim == 0)


def is_iterable(value: Any) -> bool:
    """Whether ``value`` can be iterated over; an array without an axis cannot."""
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim == 0)


def instance(value: Any, wanted: type[Wanted], name: str) -> Wanted:
    """``value``, which must be an object of a class of this package.

    >>> from advmdp.errors import AdvMDPError
    >>> instance(5, AdvMDPError, "error")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: error: give an advmdp AdvMDPError, not int
    """
    if isinstance(value, wanted):
        return value
    got = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    inside = f"; it has one: .{name}" if isinstance(getattr(value, name, None), wanted) else ""
    raise InvalidInput(f"give an advmdp {wanted.__name__}, not {got}{inside}", field=name)


def flag(value: Any, name: str) -> bool:
    """``value`` as a bool; numbers, text and objects have a truth value but are no flags."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{shown(value)} is not True or False", field=name)
    return bool(value)


def function(
    value: Any, name: str, form: str, n_arguments: int | None = None
) -> Callable[..., Any]:
    """``value``, which must be callable; ``form`` shows how it is called.

    >>> function(lambda episode: 0, "means", "means(episode, history)", n_arguments=2)
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: means: it is called as means(episode, history); take 2 arguments
    """
    if not callable(value):
        raise InvalidInput(f"give a callable {form}, not {shown(value)}", field=name)
    if n_arguments is not None and not _takes(value, n_arguments):
        raise InvalidInput(
            f"it is called as {form}; take {counted(n_arguments, 'argument')}", field=name
        )
    found: Callable[..., Any] = value
    return found


def _takes(value: Callable[..., Any], n_arguments: int) -> bool:
    """Whether so many positional arguments fit, as far as Python can tell beforehand."""
    try:
        inspect.signature(value).bind(*range(n_arguments))
    except TypeError:
        return False
    except ValueError:  # a function without a signature, of C
        return True
    return True


def with_methods(
    value: Any, name: str, what: str, *methods: str, remedy: Callable[[Any], str] | None = None
) -> Any:
    """``value``, an object (not a class) that has these methods.

    ``remedy`` says what to do with a wrong value; an empty text is left out.
    """
    got = f"the class {value.__name__}" if isinstance(value, type) else shown(value)
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if isinstance(value, type) or missing:
        if not isinstance(value, type) and len(missing) < len(methods):
            got += f", which has no {' and no '.join(f'{method}()' for method in missing)}"
        listed = " and ".join(f"{method}()" for method in methods)
        advice = remedy(value) if remedy is not None else ""
        what_to_do = f"; {advice}" if advice else ""
        raise InvalidInput(f"give {what}, with {listed}, not {got}{what_to_do}", field=name)
    return value


def file_path(value: Any, name: str = "path") -> Path:
    """``value`` as a path."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInput(f"{shown(value)} is not a path", field=name)
    return Path(text)
