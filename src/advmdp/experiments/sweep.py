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

import tomllib
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from advmdp.errors import InvalidInput
from advmdp.experiments.catalogue import LISTS
from advmdp.experiments.rewards_part import RewardsPart
from advmdp.experiments.spec import Checkpoints, Count, Frozen, RunSpec, Whole, mapping_of


class SweepSpec(Frozen):
    """Learners x MDPs x losses x horizons x replicates.

    A part is a name or a table with a ``name`` and parameters; several parts make a list.  Every
    list inside a part multiplies; a parameter that is itself a list of numbers (``layer_sizes``)
    multiplies as a list of lists.
    """

    learner: tuple[dict[str, Any], ...]
    mdp: tuple[dict[str, Any], ...]
    losses: tuple[dict[str, Any], ...]
    n_episodes: tuple[Whole, ...]
    replicates: Annotated[int, Field(ge=1, strict=True)] = 1
    seed: Count = 0
    checkpoints: Checkpoints = 12
    rewards: RewardsPart | None = None

    @field_validator("learner", "mdp", "losses", mode="before")
    @classmethod
    def _parts(cls, given: Any) -> Any:
        parts = given if isinstance(given, list | tuple) else [given]
        return tuple({"name": part} if isinstance(part, str) else part for part in parts)

    @field_validator("n_episodes", mode="before")
    @classmethod
    def _horizons(cls, given: Any) -> Any:
        return given if isinstance(given, list | tuple) else (given,)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        """A list without values would multiply all runs away."""
        for name in ("learner", "mdp", "losses", "n_episodes"):
            _refuse_empty(getattr(self, name), name)
        for name in ("learner", "mdp", "losses"):
            for part in getattr(self, name):
                for key, value in part.items():
                    _refuse_empty(value, f"{name}.{key}")
        return self

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a TOML document."""
        return cls(**mapping_of(text, tomllib.loads, "TOML"))

    def runs(self) -> list[RunSpec]:
        """The runs, without repetition: all learners of a replicate before the next replicate."""
        parts = [list(_multiplied(part)) for part in (self.losses, self.mdp, self.learner)]
        shared: dict[str, Any] = {
            "seed": self.seed,
            "checkpoints": self.checkpoints,
            "rewards": self.rewards,
        }
        different: list[dict[str, Any]] = [
            {"learner": learner, "mdp": mdp, "losses": losses, "n_episodes": n, "replicate": r}
            for r in range(self.replicates)
            for n in self.n_episodes
            for losses, mdp, learner in product(*parts)
        ]
        return list(dict.fromkeys(RunSpec(**one, **shared) for one in different))


def one_of_each_kind(runs: Sequence[RunSpec]) -> list[RunSpec]:
    """The first run of every kind: of runs that differ in the replicate alone, one."""
    first = {spec.model_copy(update={"replicate": 0}): spec for spec in reversed(runs)}
    return list(first.values())


def _multiplied(parts: tuple[dict[str, Any], ...]) -> Iterator[dict[str, Any]]:
    for part in parts:
        choices = [_choices(key, value) for key, value in part.items()]
        for values in product(*choices):
            yield dict(zip(part, values, strict=True))


def _refuse_empty(value: Any, name: str) -> None:
    if isinstance(value, list | tuple) and not value:
        raise InvalidInput(f"{name}: the list is empty; give at least one value")


def _choices(key: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        return [value]
    if key in LISTS and not any(isinstance(one, list | tuple | str) for one in value):
        return [value]
    return list(value)
