"""The part of a spec that says what its losses stand for.

>>> RewardsPart(low=-10, high=20, unit="EUR").range
Rewards(low=-10.0, high=20.0)
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards

Unit = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20)]


class RewardsPart(BaseModel):
    """That losses stand for rewards in a known range, and what those are counted in."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    low: Annotated[float, Field(strict=True)]
    high: Annotated[float, Field(strict=True)]
    unit: Unit = "rewards"

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        try:
            Rewards(self.low, self.high)
        except InvalidInput as problem:
            raise InvalidInput(f"rewards.{problem}") from None
        return self

    @property
    def range(self) -> Rewards:
        """The way from losses to rewards and back."""
        return Rewards(self.low, self.high)
