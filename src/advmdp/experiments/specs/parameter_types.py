"""Check the values of a spec against the annotations of a constructor.

Specs come from files and command lines, where a slip gives a value of another type that Python
would accept: the string "false" counts as true.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

from advmdp.errors import InvalidInput

WHOLE = int | np.integer
CHECKED_TYPES: dict[Any, tuple[Any, str]] = {  # accepted classes, and the message for all others
    bool: (bool, "is neither true nor false; write true or false"),
    int: (WHOLE, "is not a whole number; write one such as 3"),
    float: (WHOLE | float | np.floating, "is not a number; write one such as 0.5"),
    str: (str, "is not a string; write it in quotes"),
    Sequence: (list | tuple, "is not a list; write one such as [1, 3, 3, 1]"),
}
# Not writable: a spec omits the key instead.
IMPLICIT_TYPES = (NoneType, np.random.SeedSequence, Callable)


def check_types(given: Mapping[str, Any], parameters: Mapping[str, inspect.Parameter]) -> None:
    """Reject values whose types the parameters of a constructor do not allow.

    >>> def swim(length: int, pooled: bool = False, speed: float | None = None): ...
    >>> parameters = inspect.signature(swim, eval_str=True).parameters
    >>> check_types({"length": 3, "pooled": True, "speed": 2}, parameters)
    >>> check_types({"length": 3, "pooled": "no"}, parameters)
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: pooled: 'no' is neither true nor false; write true or false
    """
    for key, value in given.items():
        if key in parameters:
            check_type(value, _annotation(parameters[key]), key)


def check_type(value: Any, annotation: Any, field: str) -> None:
    """Reject a value that an annotation does not allow; unlisted types accept every value."""
    is_union = get_origin(annotation) in (Union, UnionType)
    choices = get_args(annotation) if is_union else (annotation,)
    choices = tuple(each for each in choices if _plain(each) not in IMPLICIT_TYPES)
    plain = [_plain(choice) for choice in choices]
    if not plain or not all(one in CHECKED_TYPES for one in plain):
        return
    if not any(_is_instance(value, one) for one in plain):
        raise InvalidInput(f"{value!r} {CHECKED_TYPES[plain[0]][1]}", field=field)
    if plain == [Sequence]:
        (item_annotation,) = get_args(choices[0])
        for i, item in enumerate(value):
            check_type(item, item_annotation, f"{field}[{i}]")


def _plain(annotation: Any) -> Any:
    return get_origin(annotation) or annotation


def _is_instance(value: Any, expected: Any) -> bool:
    """As ``isinstance``, except that a bool is not a number."""
    accepted = isinstance(value, CHECKED_TYPES[expected][0])
    return accepted and (expected is bool or not isinstance(value, bool))


def _annotation(parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter; without one, the type of a bool default."""
    if parameter.annotation is not inspect.Parameter.empty:
        return parameter.annotation
    return bool if isinstance(parameter.default, bool) else Any
