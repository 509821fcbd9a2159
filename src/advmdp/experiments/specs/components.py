"""The components of a run: names of the catalogue with parameters.

>>> LearnerSpec(name="uob-reps", eta_scale=2.0).label
'uob-reps eta_scale=2'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

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
    """A name of the catalogue with parameters; a bare string is a name without any.

    Parameters that are given their default are left out: they are the same component.
    """

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Value]
    table: ClassVar[Mapping[str, Factory]]
    field: ClassVar[str]
    """The key of a run's spec that holds this component."""
    name: str
    source: str | None = None
    """The hash of the source, for a part of the user's own: other sources are other components."""

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
            factory = find(cls.table, name, cls.field)
            read = _with_present_source(read, factory, name, cls.field)
            fixed = {key: value for key, value in read.items() if key in ("name", "source")}
            given = {key: value for key, value in read.items() if key not in fixed}
            check_parameters(factory, name, given, cls.field)
            read = {**fixed, **factory.without_defaults(given)}
        return read

    @model_serializer(mode="wrap")
    def _without_absent_source(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Parts of the catalogue have no source, also in the hashes of earlier versions."""
        written: dict[str, Any] = write(self)
        return written if self.source else {k: v for k, v in written.items() if k != "source"}

    @property
    def factory(self) -> Factory:
        """What makes the component."""
        return find(self.table, self.name, self.field)

    @property
    def parameters(self) -> dict[str, Value]:
        """Everything but the name."""
        return dict(self.__pydantic_extra__)

    @property
    def label(self) -> str:
        """The name, the beginning of the source's hash and the parameters on one line."""
        values = (f"{key}={_format(value)}" for key, value in sorted(self.parameters.items()))
        source = f"@{self.source[:8]}" if self.source else ""
        return " ".join((f"{self.name}{source}", *values))


class LearnerSpec(ComponentSpec):
    """Which learner."""

    table, field = LEARNERS, "learner"


class MDPSpec(ComponentSpec):
    """Which MDP; with a ``seed`` of its own it is the same in every replicate."""

    table, field = MDPS, "mdp"


class LossesSpec(ComponentSpec):
    """Which losses; with a ``seed`` of their own the tables are the same in every replicate."""

    table, field = LOSSES, "losses"


def _with_present_source(
    read: dict[str, Any], factory: Factory, name: str, field: str
) -> dict[str, Any]:
    """The component with the hash of its source; one that was given must be the same."""
    if factory.source is None:
        return read
    if read.get("source") not in (None, factory.source):
        raise InvalidInput(
            f"the source of {name!r} is not the one that the spec was written with; leave the key "
            "out to use the present one",
            field=f"{field}.source",
        )
    return {**read, "source": factory.source}


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
