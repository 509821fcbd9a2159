"""The delays of a spec: one line of text, ``NAME:NUMBER`` or ``NAME:NUMBER:LOST``.

>>> checked_delay("geometric:100.0")
'geometric:100'
>>> delays_of("blocks:16:0.05").length
16
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.world.delays import Blocks, Constant, DelayProcess, Geometric

PROCESSES: dict[str, tuple[Callable[..., DelayProcess], type]] = {
    "constant": (Constant, int),
    "geometric": (Geometric, float),
    "blocks": (Blocks, int),
}
FORM = (
    "constant:10, geometric:100 or blocks:16; a share that is lost follows, as in constant:10:0.05"
)


def delays_of(text: str) -> DelayProcess:
    """The process that a text stands for."""
    make, number, lost = _parsed(text)
    try:
        return make(number, lost=lost)
    except InvalidInput as problem:
        raise InvalidInput(f"{shown(text)}: {problem.detail}", field="delay") from None


def checked_delay(text: Any) -> str:
    """The text in the one form that is part of the hash."""
    delays_of(text)
    name, (_, number, lost) = text.partition(":")[0], _parsed(text)
    return f"{name}:{number!r}".removesuffix(".0") + (f":{lost!r}" if lost else "")


def _parsed(text: Any) -> tuple[Callable[..., DelayProcess], int | float, float]:
    name, *numbers = text.split(":") if isinstance(text, str) else ("",)
    if name in PROCESSES and len(numbers) in (1, 2):
        make, kind = PROCESSES[name]
        try:
            return make, kind(numbers[0]), float(numbers[1]) if len(numbers) == 2 else 0.0
        except ValueError:
            pass
    raise InvalidInput(f"{shown(text)} is not of the form {FORM}", field="delay")
