"""Pydantic models whose errors are one line of the package's own family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.experiments.catalogue import nearest
from advmdp.experiments.specs.rewards import RewardsSpec

PARTS = ("learner", "mdp", "losses")
INT64_RANGE = 2**63  # the frames of a store keep whole numbers as signed 64-bit integers
MOST_POINTS = 100_000  # of a curve in a decade

WholeNumber = Annotated[int, Field(lt=INT64_RANGE, strict=True)]
Count = Annotated[int, Field(ge=0, lt=INT64_RANGE, strict=True)]
EvaluationPoints = (
    Annotated[int, Field(ge=1, le=MOST_POINTS, strict=True)] | tuple[WholeNumber, ...]
)
"""Points of the curves: a number per decade, or a list of episodes."""


class FrozenModel(BaseModel):
    """An immutable model that rejects unknown keys and raises ``InvalidInput``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as problem:
            raise _invalid_input(problem, type(self)) from None


def parse_document(text: str, parse: Callable[[str], Any], form: str) -> dict[str, Any]:
    """The table of keys in a JSON or TOML document."""
    try:
        data = parse(text)
    except ValueError as problem:
        raise InvalidInput(f"not valid {form}: {problem}", field="spec") from None
    except RecursionError:
        raise InvalidInput(f"the {form} document is nested too deeply", field="spec") from None
    if not isinstance(data, dict):
        raise InvalidInput(f"the {form} document must be a table of keys", field="spec")
    return data


def refuse_code(document: dict[str, Any]) -> None:
    """Reject a document that names a module, as a part or as an environment: it would be imported.

    Documents come from files, and those from anybody; specs that a program builds itself are not
    checked.
    """
    for part in PARTS:
        for component in _listed(document.get(part)):
            table = component if isinstance(component, dict) else {"name": component}
            for key in ("name", "id"):
                for one in _listed(table.get(key)):
                    if isinstance(one, str) and ":" in one:
                        raise InvalidInput(
                            f"{one!r} would import the module {one.partition(':')[0]!r}; if you "
                            "trust it, allow it with --allow-code (allow_code=True in Python)",
                            field=f"{part}.{key}",
                        )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _invalid_input(problem: ValidationError, model: type[BaseModel]) -> InvalidInput:
    """The first complaint, with its field and a remedy."""
    first = problem.errors()[0]
    own = first.get("ctx", {}).get("error")
    if isinstance(own, InvalidInput):
        return own
    field = ".".join(str(step) for step in first["loc"]) or "spec"
    if first["type"] == "extra_forbidden":
        parent = RewardsSpec if first["loc"][0] == "rewards" else model
        hint = nearest(str(first["loc"][-1]), parent.model_fields)
        return InvalidInput(f"no such key{hint}", field=field)
    if first["type"] == "missing":
        return InvalidInput(f"missing; add {field} = ...", field=field)
    if first["type"] in ("model_type", "model_attributes_type") and field in PARTS:
        return InvalidInput(
            f"{shown(first['input'])}: give a name, or a table with a name and parameters; a part "
            "of your own is named 'module:Name', and objects are played by am.play",
            field=field,
        )
    message = f"{first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}"
    return InvalidInput(message, field=field)
