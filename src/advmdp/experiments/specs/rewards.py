"""The rewards that the losses of a run stand for.

>>> RewardsSpec(low=-10, high=20, unit="EUR").range
Rewards(low=-10.0, high=20.0)
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards

Unit = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20)]


class RewardsSpec(BaseModel):
    """The range of the rewards, and the unit they are counted in."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    low: Annotated[float, Field(strict=True)]
    high: Annotated[float, Field(strict=True)]
    unit: Unit = "rewards"

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        try:
            Rewards(self.low, self.high)
        except InvalidInput as problem:
            raise problem.within("rewards") from None
        return self

    @property
    def range(self) -> Rewards:
        """The conversion between losses and rewards."""
        return Rewards(self.low, self.high)
