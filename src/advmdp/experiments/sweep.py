"""A sweep as data: lists multiply.

>>> sweep = SweepSpec.from_toml('''
... n_episodes = [1_000, 10_000]
... replicates = 2
... losses = "majority"
... mdp = {name = "random", layer_sizes = [1, 3, 3, 1], n_actions = [2, 3]}
...
... [[learner]]
... name = "uob-reps"
... eta_scale = [1, 2, 4]
...
... [[learner]]
... name = "uniform"
... ''')
>>> len(sweep.runs())  # 2 horizons, 2 replicates, 2 MDPs, 3 + 1 learners
32
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from advmdp.errors import InvalidInput
from advmdp.experiments.catalogue import LIST_PARAMETERS
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.specs.rewards import RewardsSpec
from advmdp.experiments.specs.validation import (
    Count,
    EvaluationPoints,
    FrozenModel,
    WholeNumber,
    parse_document,
    refuse_code,
)

MOST_RUNS = 1_000_000


class SweepSpec(FrozenModel):
    """Learners x MDPs x losses x delays x horizons x replicates.

    A component is a name or a table with a ``name`` and parameters; several components make a list.
    Every list inside a component multiplies; a parameter that is itself a list of numbers
    (``layer_sizes``) multiplies as a list of lists.
    """

    learner: tuple[dict[str, Any], ...]
    mdp: tuple[dict[str, Any], ...]
    losses: tuple[dict[str, Any], ...]
    n_episodes: tuple[WholeNumber, ...]
    replicates: Annotated[int, Field(ge=1, strict=True)] = 1
    seed: Count = 0
    checkpoints: EvaluationPoints = 12
    contexts: tuple[Count, ...] | None = None
    delay: tuple[str | None, ...] = (None,)
    feedback: Literal["full", "bandit", "aggregate"] | None = None
    rewards: RewardsSpec | None = None

    @field_validator("learner", "mdp", "losses", mode="before")
    @classmethod
    def _as_tables(cls, given: Any) -> Any:
        listed = given if isinstance(given, list | tuple) else [given]
        return tuple({"name": one} if isinstance(one, str) else one for one in listed)

    @field_validator("n_episodes", "delay", mode="before")
    @classmethod
    def _as_list(cls, given: Any) -> Any:
        return given if isinstance(given, list | tuple) else (given,)

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        """An empty list would leave no run at all."""
        for name in ("learner", "mdp", "losses", "n_episodes", "delay"):
            _reject_empty(getattr(self, name), name)
        for name in ("learner", "mdp", "losses"):
            for component in getattr(self, name):
                for key, value in component.items():
                    _reject_empty(value, f"{name}.{key}")
        return self

    @classmethod
    def from_toml(cls, text: str, *, allow_code: bool = False) -> Self:
        """Read a TOML document; ``allow_code`` as in ``RunSpec.from_json``."""
        document = parse_document(text, tomllib.loads, "TOML")
        if not allow_code:
            refuse_code(document)
        return cls(**document)

    def runs(self) -> list[RunSpec]:
        """The distinct runs: all learners of a replicate before the next replicate."""
        self._refuse_too_many()
        choices = [list(_product(one)) for one in (self.losses, self.mdp, self.learner)]
        shared: dict[str, Any] = {
            "seed": self.seed,
            "checkpoints": self.checkpoints,
            "contexts": self.contexts,
            "feedback": self.feedback,
            "rewards": self.rewards,
        }
        varied: list[dict[str, Any]] = [
            {
                "learner": learner,
                "mdp": mdp,
                "losses": losses,
                "delay": delay,
                "n_episodes": n,
                "replicate": r,
            }
            for r in range(self.replicates)
            for n in self.n_episodes
            for delay in self.delay
            for losses, mdp, learner in product(*choices)
        ]
        return list(dict.fromkeys(RunSpec(**one, **shared) for one in varied))

    def _refuse_too_many(self) -> None:
        """Count the runs before any is made: a short file can ask for any number."""
        parts = (self.losses, self.mdp, self.learner)
        common = self.replicates * len(self.n_episodes) * len(self.delay)
        n_runs = common * math.prod(map(_n_choices, parts))
        if n_runs > MOST_RUNS:
            raise InvalidInput(
                f"{n_runs} runs are too many for one sweep; use at most {MOST_RUNS}", field="sweep"
            )


def _n_choices(components: tuple[dict[str, Any], ...]) -> int:
    return sum(
        math.prod(len(_choices(key, value)) for key, value in component.items())
        for component in components
    )


def first_replicates(runs: Sequence[RunSpec]) -> list[RunSpec]:
    """Of runs that differ in the replicate alone, the first."""
    first = {spec.model_copy(update={"replicate": 0}): spec for spec in reversed(runs)}
    return list(first.values())


def _product(components: tuple[dict[str, Any], ...]) -> Iterator[dict[str, Any]]:
    for component in components:
        choices = [_choices(key, value) for key, value in component.items()]
        for values in product(*choices):
            yield dict(zip(component, values, strict=True))


def _reject_empty(value: Any, field: str) -> None:
    if isinstance(value, list | tuple) and not value:
        raise InvalidInput("the list is empty; give at least one value", field=field)


def _choices(key: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        return [value]
    if key in LIST_PARAMETERS and not any(isinstance(one, list | tuple | str) for one in value):
        return [value]
    return list(value)
