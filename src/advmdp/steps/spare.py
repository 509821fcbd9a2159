"""The work space of a function's last call, kept for its next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from advmdp.layout import Layout

# Triples of a layout whose work space is kept: some ten megabytes where states have many actions,
# but half a kilobyte for each state of a chain.
MOST_SPARED = 100_000

Work = TypeVar("Work")


class Spare(Generic[Work]):
    """Work space of one layout: making it takes a fifth of a small call.

    It is taken out while it is in use, so that threads never share it, and lost with a call that
    fails.
    """

    def __init__(self, make: Callable[[Layout], Work]) -> None:
        self._make = make
        self._kept: list[tuple[Layout, Work]] = []

    def borrow(self, layout: Layout) -> Work:
        """What was kept if it is of this layout, or new work space."""
        try:
            owner, work = self._kept.pop()
        except IndexError:
            return self._make(layout)
        return work if owner is layout else self._make(layout)

    def give_back(self, layout: Layout, work: Work) -> None:
        """Keep it for the next call, unless it is large."""
        if layout.n_entries <= MOST_SPARED:
            self._kept[:] = [(layout, work)]
