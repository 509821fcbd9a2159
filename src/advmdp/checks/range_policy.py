"""What happens to losses, or rewards, outside the range that was declared for them."""

from __future__ import annotations

from typing import Any

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput

CHOICES = ("refuse", "clip")


def checked_outside(choice: Any, name: str) -> str:
    """One of the two choices.

    A range that adapts is not among them: rescaling what comes changes what a unit of loss means,
    and sums of losses in different units bound nothing.

    >>> checked_outside("adapt", "losses_outside")      # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: losses_outside: a range cannot follow the losses, ...
    """
    if isinstance(choice, str) and choice in CHOICES:
        return choice
    if isinstance(choice, str) and choice.startswith("adapt"):
        raise InvalidInput(
            "a range cannot follow the losses, past ones would be in other units; take a learner "
            "that needs none (advmdp.AdaFTRL), or 'clip'",
            field=name,
        )
    raise InvalidInput(f"{shown(choice)} is neither 'refuse' nor 'clip'", field=name)
