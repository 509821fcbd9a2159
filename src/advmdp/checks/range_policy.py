"""What happens to losses, or rewards, outside the range that was declared for them."""

from __future__ import annotations

from typing import Any, NamedTuple

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput

CHOICES = ("refuse", "clip", "adapt")


class LossRange(NamedTuple):
    """The range that a run with ``"adapt"`` ended with; in rewards where it was played in them."""

    low: float
    high: float
    doublings: int
    """How often the range was doubled."""
    unlearnt: int
    """Episodes that nothing was learnt from, because they showed the range to be too small."""

    def __str__(self) -> str:
        return f"[{self.low:g}, {self.high:g}] after {self.doublings} doublings"


def checked_outside(choice: Any, name: str) -> str:
    """One of the three choices.

    >>> checked_outside("adapt", "losses_outside")
    'adapt'
    >>> checked_outside("cut", "losses_outside")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: losses_outside: 'cut' is none of 'refuse', 'clip' and 'adapt'
    """
    if isinstance(choice, str) and choice in CHOICES:
        return choice
    raise InvalidInput(f"{shown(choice)} is none of 'refuse', 'clip' and 'adapt'", field=name)
