"""The components of a run: names of the catalogue with parameters.

>>> LearnerSpec(name="uob-reps", eta_scale=2.0).label
'uob-reps eta_scale=2'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from advmdp.errors import InvalidInput
from advmdp.experiments.catalogue import (
    LEARNERS,
    LIST_PARAMETERS,
    LOSSES,
    MDPS,
    Factory,
    check_parameters,
    find,
)

Scalar = bool | int | float | str
Value = Scalar | tuple[int | float, ...]


class ComponentSpec(BaseModel):
    """A name of the catalogue with parameters; a bare string is a name without any."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Value]
    table: ClassVar[Mapping[str, Factory]]
    field: ClassVar[str]
    """The key of a run's spec that holds this component."""
    name: str

    @model_validator(mode="before")
    @classmethod
    def _check_catalogue(cls, data: Any) -> Any:
        data = {"name": data} if isinstance(data, str) else data
        if not isinstance(data, Mapping):
            return data
        read = {
            key: _parse_list(value, f"{cls.field}.{key}") if key in LIST_PARAMETERS else value
            for key, value in data.items()
        }
        name = read.get("name")
        if isinstance(name, str):
            given = {key: value for key, value in read.items() if key != "name"}
            check_parameters(find(cls.table, name, cls.field), name, given, cls.field)
        return read

    @property
    def parameters(self) -> dict[str, Value]:
        """Everything but the name."""
        return dict(self.__pydantic_extra__)

    @property
    def label(self) -> str:
        """The name and the parameters on one line."""
        values = (f"{key}={_format(value)}" for key, value in sorted(self.parameters.items()))
        return " ".join((self.name, *values))


class LearnerSpec(ComponentSpec):
    """Which learner."""

    table, field = LEARNERS, "learner"


class MDPSpec(ComponentSpec):
    """Which MDP; with a ``seed`` of its own it is the same in every replicate."""

    table, field = MDPS, "mdp"


class LossesSpec(ComponentSpec):
    """Which losses; with a ``seed`` of their own the tables are the same in every replicate."""

    table, field = LOSSES, "losses"


def _parse_list(value: Any, field: str) -> Any:
    """Lists may be written as strings: "1,3,3,1"."""
    if not isinstance(value, str):
        return value
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        raise InvalidInput(f"{value!r} is not a list such as 1,3,3,1", field=field) from None


def _format(value: Value) -> str:
    if isinstance(value, tuple):
        return ",".join(_format(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
