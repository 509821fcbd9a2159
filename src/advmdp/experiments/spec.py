"""A run as data: frozen, validated, with a content hash and a readable id.

>>> spec = RunSpec(
...     learner={"name": "uob-reps", "eta_scale": 2.0},
...     mdp={"name": "random", "layer_sizes": [1, 3, 3, 1], "n_actions": 2},
...     losses="majority",
...     n_episodes=20_000,
... )
>>> spec.id
'uob-reps_random_majority_T20000_s0r0_fe03b22cc0'
>>> RunSpec.from_toml(spec.to_toml()) == spec
True
>>> RunSpec(learner="uob-rep", mdp="deep-sea", losses="majority", n_episodes=10)
Traceback (most recent call last):
...
advmdp.errors.InvalidInput: learner: there is no 'uob-rep'; did you mean 'uob-reps'?
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from advmdp.errors import InvalidInput
from advmdp.experiments.catalogue import (
    LEARNERS,
    LISTS,
    LOSSES,
    MDPS,
    Maker,
    check_parameters,
    find,
    nearest,
)
from advmdp.experiments.rewards_part import RewardsPart
from advmdp.learners.tuning import MAX_EPISODES
from advmdp.store.identity import Identity

# Part of the hash: raised where the same spec would give other numbers.  The second is of specs
# whose MDP declares its successors: learners with an unknown transition begin elsewhere there now.
SPEC_VERSION, DECLARED_VERSION = 1, 2
BEYOND_COLUMNS = 2**63  # the frames of a store keep whole numbers in 64 bits, with a sign

Scalar = bool | int | float | str
Value = Scalar | tuple[int | float, ...]
Whole = Annotated[int, Field(strict=True)]
Checkpoints = Annotated[int, Field(ge=1, strict=True)] | tuple[Whole, ...]
Count = Annotated[int, Field(ge=0, lt=BEYOND_COLUMNS, strict=True)]


class Frozen(BaseModel):
    """A pydantic model whose complaints are one line of the package's own family."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as problem:
            raise InvalidInput(_one_line(problem, type(self))) from None


class Part(BaseModel):
    """A name of the catalogue with parameters; a bare string is a name without any."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Value]
    table: ClassVar[Mapping[str, Maker]]
    what: ClassVar[str]
    name: str

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any) -> Any:
        data = {"name": data} if isinstance(data, str) else data
        if not isinstance(data, Mapping):
            return data
        read = {
            key: _as_list(value, f"{cls.what}.{key}") if key in LISTS else value
            for key, value in data.items()
        }
        name = read.get("name")
        if isinstance(name, str):
            given = {key: value for key, value in read.items() if key != "name"}
            check_parameters(find(cls.table, name, cls.what), name, given, cls.what)
        return read

    @property
    def parameters(self) -> dict[str, Value]:
        """Everything but the name."""
        return dict(self.__pydantic_extra__)

    @property
    def label(self) -> str:
        """The name and the parameters in a line."""
        values = (f"{key}={_plain(value)}" for key, value in sorted(self.parameters.items()))
        return " ".join((self.name, *values))


class LearnerPart(Part):
    """Which learner."""

    table, what = LEARNERS, "learner"


class MDPPart(Part):
    """Which MDP; with a ``seed`` of its own it is the same one in every replicate."""

    table, what = MDPS, "mdp"


class LossesPart(Part):
    """Which losses; with a ``seed`` of their own the tables are the same in every replicate."""

    table, what = LOSSES, "losses"


class RunSpec(Frozen):
    """Everything that determines the numbers of a run, and what they are told in.

    ``seed`` and ``replicate`` fix the world (the MDP, the losses and all random numbers): runs that
    differ in the learner alone meet the same one.  ``checkpoints`` is a number per decade or a
    list of episodes.

    ``rewards`` says that losses stand for rewards from ``low`` to ``high``: every report of the run
    is then in rewards.  An MDP that knows its rewards sets it by itself.  It is part of the hash,
    for a store never rewrites a run: the same run told in losses, or in other units, is another.
    """

    learner: LearnerPart
    mdp: MDPPart
    losses: LossesPart
    n_episodes: Annotated[int, Field(ge=1, lt=MAX_EPISODES, strict=True)]
    seed: Count = 0
    replicate: Count = 0
    checkpoints: Checkpoints = 12
    rewards: Annotated[RewardsPart | None, Field(validate_default=True)] = None

    @field_validator("rewards")
    @classmethod
    def _known_by_the_mdp(
        cls, rewards: RewardsPart | None, spec: ValidationInfo
    ) -> RewardsPart | None:
        mdp = spec.data.get("mdp")
        known = None if mdp is None else MDPS[mdp.name].rewards
        if rewards is not None or mdp is None or known is None:
            return rewards
        try:
            found = known(**mdp.parameters)
        except InvalidInput as problem:
            raise InvalidInput(f"mdp.{problem}") from None
        return RewardsPart(low=found.low, high=found.high)

    @field_validator("checkpoints")
    @classmethod
    def _in_order(cls, points: int | tuple[int, ...]) -> int | tuple[int, ...]:
        if isinstance(points, tuple) and (not points or min(points) < 1):
            raise InvalidInput("checkpoints: give whole numbers of at least 1")
        return points if isinstance(points, int) else tuple(sorted(set(points)))

    # ------------------------------------------------------------------ as text

    def data(self) -> dict[str, Any]:
        """Plain dictionaries, lists, numbers and strings."""
        # A spec without rewards has no such key: so it was before there were any, hash and all.
        return self.model_dump(mode="json", exclude=None if self.rewards else {"rewards"})

    def to_json(self) -> str:
        """One line of JSON, keys sorted."""
        return json.dumps(self.data(), sort_keys=True)

    def to_toml(self) -> str:
        """A TOML document."""
        return tomli_w.dumps(self.data())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote."""
        return cls(**mapping_of(text, json.loads, "JSON"))

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read what ``to_toml`` wrote."""
        return cls(**mapping_of(text, tomllib.loads, "TOML"))

    # ------------------------------------------------------------------ identity

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content; 2 and 2.0 are the same."""
        dense = self.mdp.name == "random" and "n_successors" not in self.mdp.parameters
        version = SPEC_VERSION if dense else DECLARED_VERSION
        content = {"version": version, **_canonical(self.data())}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def id(self) -> str:
        """A name for the eye and for a folder; the end of it is the beginning of the hash."""
        names = "_".join((self.learner.name, self.mdp.name, self.losses.name))
        where = f"T{self.n_episodes}_s{self.seed}r{self.replicate}"
        return f"{names}_{where}_{self.hash[:10]}"

    def identity(self) -> Identity:
        """What a store keeps of a spec."""
        return Identity(
            run=self.id,
            hash=self.hash,
            learner=self.learner.label,
            mdp=self.mdp.label,
            losses=self.losses.label,
            n_episodes=self.n_episodes,
            seed=self.seed,
            replicate=self.replicate,
            spec=self.data(),
        )


def mapping_of(text: str, parse: Any, form: str) -> dict[str, Any]:
    """A parsed document, or one line that says where it is not one."""
    try:
        data = parse(text)
    except ValueError as problem:
        raise InvalidInput(f"spec: not valid {form}: {problem}") from None
    if not isinstance(data, dict):
        raise InvalidInput(f"spec: the {form} document must be a table of keys")
    return data


def _as_list(value: Any, place: str) -> Any:
    """Lists may be written as text: "1,3,3,1"."""
    if not isinstance(value, str):
        return value
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        raise InvalidInput(f"{place}: {value!r} is not a list such as 1,3,3,1") from None


def _plain(value: Value) -> str:
    if isinstance(value, tuple):
        return ",".join(_plain(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_canonical(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _one_line(problem: ValidationError, model: type[BaseModel]) -> str:
    """The first complaint, with the place and a hint."""
    first = problem.errors()[0]
    own = first.get("ctx", {}).get("error")
    if isinstance(own, InvalidInput):
        return str(own)
    place = ".".join(str(step) for step in first["loc"]) or "spec"
    if first["type"] == "extra_forbidden":
        inside = RewardsPart if first["loc"][0] == "rewards" else model
        return f"{place}: no such key{nearest(str(first['loc'][-1]), inside.model_fields)}"
    if first["type"] == "missing":
        return f"{place}: missing; add {place} = ..."
    return f"{place}: {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}"
