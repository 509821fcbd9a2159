"""The units of a report: losses, or the rewards that they stand for.

Runs with a range of rewards are shown in rewards, in every figure and table.  Runs with different
units never share a mean, an axis or a comparison: the units are part of the definition of a cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Units:
    """Losses, unless there is a range of rewards.

    >>> Units().regret, Units(-1.0, 0.0, "rewards").regret, Units(0.0, 2.5, "EUR").regret
    ('regret', 'regret (rewards)', 'regret (EUR)')
    >>> Units(0.0, 2.5, "EUR").name
    'rewards from 0 to 2.5 EUR'
    """

    low: float | None = None
    high: float | None = None
    unit: str | None = None

    def __lt__(self, other: Units) -> bool:
        """The order of listings: losses come first."""
        return self._place < other._place

    @property
    def _place(self) -> tuple[str, float, float]:
        return self.unit or "", self.low or 0.0, self.high or 0.0

    @property
    def in_rewards(self) -> bool:
        """Whether values are rewards: more is better."""
        return self.unit is not None

    @property
    def kind(self) -> str:
        """What is measured: "loss" or "reward"."""
        return "reward" if self.in_rewards else "loss"

    @property
    def name(self) -> str:
        """The name of the units, with the range of rewards."""
        if not self.in_rewards:
            return "losses"
        low, high = (str(end).removesuffix(".0") for end in (self.low, self.high))
        own = "" if self.unit == "rewards" else f" {self.unit}"
        return f"rewards from {low} to {high}{own}"

    @property
    def suffix(self) -> str:
        """The unit in parentheses, to follow the name of a quantity; empty for losses."""
        return f" ({self.unit})" if self.in_rewards else ""

    @property
    def regret(self) -> str:
        """The label of regrets."""
        return f"regret{self.suffix}"

    @property
    def per_episode(self) -> str:
        """The label of means over episodes."""
        return f"{self.kind} per episode{'' if self.unit == 'rewards' else self.suffix}"

    def text(self, mean: float) -> str:
        """A mean over episodes, to a ten-thousandth of the range of one step.

        >>> Units(-50.0, 50.0, "EUR").text(-1234.5678), Units(0.0, 1.0, "rewards").text(-1e-15)
        ('-1,234.57', '0.0000')
        """
        return f"{mean:z,.{max(0, self._digits)}f}" if self.in_rewards else f"{mean:.4f}"

    def without_rounding(self, total: float) -> float:
        """A total without its last digits, which are rounding errors where rewards cancel.

        >>> Units(0.0, 1.0, "rewards").without_rounding(-2.84e-14)
        0.0
        """
        return round(total, self._digits + 4) + 0.0 if self.in_rewards else total

    @property
    def _digits(self) -> int:
        """The number of decimals that shows a ten-thousandth of the range."""
        if self.low is None or self.high is None:
            return 4
        return 4 - math.floor(math.log10(self.high - self.low))
