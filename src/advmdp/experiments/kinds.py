"""Whether a value of a spec is of the kind that a constructor's annotation asks for.

Specs come from files and command lines, where a slip of the pen gives a value of another kind, and
Python would take some of them: the text "false" counts as true.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

from advmdp.errors import InvalidInput

WHOLE = int | np.integer
KINDS: dict[Any, tuple[Any, str]] = {  # what is of the kind, and what is said of anything else
    bool: (bool, "is neither true nor false; write true or false"),
    int: (WHOLE, "is not a whole number; write one such as 3"),
    float: (WHOLE | float | np.floating, "is not a number; write one such as 0.5"),
    str: (str, "is not a text; write one in quotes"),
    Sequence: (list | tuple, "is not a list; write one such as [1, 3, 3, 1]"),
}
UNWRITTEN = (NoneType, np.random.SeedSequence)  # a spec leaves the key out instead


def check_kinds(given: Mapping[str, Any], asked: Mapping[str, inspect.Parameter]) -> None:
    """Refuse values that the parameters of a constructor do not allow.

    >>> def swim(length: int, pooled: bool = False, speed: float | None = None): ...
    >>> asked = inspect.signature(swim, eval_str=True).parameters
    >>> check_kinds({"length": 3, "pooled": True, "speed": 2}, asked)
    >>> check_kinds({"length": 3, "pooled": "no"}, asked)
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: pooled: 'no' is neither true nor false; write true or false
    """
    for key, value in given.items():
        if key in asked:
            check_kind(value, _annotation(asked[key]), key)


def check_kind(value: Any, kind: Any, name: str) -> None:
    """Refuse a value that an annotation does not allow; kinds that are not listed allow all."""
    choices = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    choices = tuple(choice for choice in choices if choice not in UNWRITTEN)
    plain = [get_origin(choice) or choice for choice in choices]
    if not all(one in KINDS for one in plain):
        return
    if not any(_is(value, one) for one in plain):
        raise InvalidInput(f"{name}: {value!r} {KINDS[plain[0]][1]}")
    if plain == [Sequence]:
        (inside,) = get_args(choices[0])
        for i, part in enumerate(value):
            check_kind(part, inside, f"{name}[{i}]")


def _is(value: Any, kind: Any) -> bool:
    """As ``isinstance``, but true is no number."""
    return isinstance(value, KINDS[kind][0]) and (kind is bool or not isinstance(value, bool))


def _annotation(parameter: inspect.Parameter) -> Any:
    """What a parameter may be; without an annotation, a default that is true or false tells."""
    if parameter.annotation is not inspect.Parameter.empty:
        return parameter.annotation
    return bool if isinstance(parameter.default, bool) else Any
