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
import re
import tomllib
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import tomli_w
from pydantic import Field, ValidationInfo, field_validator

from advmdp.errors import InvalidInput
from advmdp.experiments.specs.components import LearnerSpec, LossesSpec, MDPSpec
from advmdp.experiments.specs.delay import checked_delay
from advmdp.experiments.specs.rewards import RewardsSpec
from advmdp.experiments.specs.validation import (
    Count,
    EvaluationPoints,
    FrozenModel,
    parse_document,
    refuse_code,
)
from advmdp.learners.tuning import MAX_EPISODES
from advmdp.store.identity import Identity

# Part of the hash: incremented where the same spec would give other numbers.  The second is for
# specs whose MDP declares its successors: learners with an unknown transition start elsewhere.
SPEC_VERSION, DECLARED_VERSION = 1, 2
OPTIONAL = ("rewards", "contexts", "delay", "feedback")
NOT_IN_FILES = re.compile(r"[^A-Za-z0-9._-]")


class RunSpec(FrozenModel):
    """Everything that determines the numbers of a run, and the units they are reported in."""

    learner: LearnerSpec
    """A name, or a table with a ``name`` and parameters; so are the next two.  The names are those
    of the catalogue, of ``advmdp.register``, or places of your own parts: ``module:Name``."""
    mdp: MDPSpec
    losses: LossesSpec
    n_episodes: Annotated[int, Field(ge=1, lt=MAX_EPISODES, strict=True)]
    """T, the length of the run."""
    seed: Count = 0
    """With ``replicate``, fixes the world (the MDP, the losses and all random numbers): runs that
    differ in the learner alone meet the same one."""
    replicate: Count = 0
    checkpoints: EvaluationPoints = 12
    """The evaluation points of the curves: a number per decade, or a list of episodes."""
    contexts: tuple[Count, ...] | None = None
    """The contexts of the episodes, in turn, cyclically; a week is [0, 0, 0, 0, 0, 1, 2].  Learners
    with ``by_context = true`` have one learner for each, those with ``n_contexts`` tell them apart
    by themselves, all others take no notice."""
    feedback: Literal["full", "bandit", "aggregate"] | None = None
    """What can be seen at most; a learner that needs more is refused."""
    delay: str | None = None
    """When feedback comes, such as "geometric:100", for learners that know late feedback."""
    rewards: Annotated[RewardsSpec | None, Field(validate_default=True)] = None
    """The rewards that the losses stand for; all reports of the run are then in rewards.  An MDP
    that knows its rewards sets it by itself.  It is part of the hash, because a store never
    rewrites a run: the same run reported in losses, or in other units, is another run."""

    @field_validator("rewards")
    @classmethod
    def _rewards_of_the_mdp(
        cls, rewards: RewardsSpec | None, spec: ValidationInfo
    ) -> RewardsSpec | None:
        mdp = spec.data.get("mdp")
        known = None if mdp is None else mdp.factory.rewards
        if rewards is not None or mdp is None or known is None:
            return rewards
        try:
            found = known(**mdp.parameters)
        except InvalidInput as problem:
            raise problem.within("mdp") from None
        return RewardsSpec(low=found.low, high=found.high)

    @field_validator("checkpoints")
    @classmethod
    def _sorted_points(cls, points: int | tuple[int, ...]) -> int | tuple[int, ...]:
        if isinstance(points, tuple) and (not points or min(points) < 1):
            raise InvalidInput("give whole numbers of at least 1", field="checkpoints")
        return points if isinstance(points, int) else tuple(sorted(set(points)))

    @field_validator("contexts")
    @classmethod
    def _contexts_from_zero(cls, contexts: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if contexts is not None and set(contexts) != set(range(len(set(contexts)))):
            raise InvalidInput("number them 0, 1, ... without a gap", field="contexts")
        return contexts

    @field_validator("delay", mode="before")
    @classmethod
    def _delay_in_one_form(cls, delay: Any) -> str | None:
        return None if delay is None else checked_delay(delay)

    # ------------------------------------------------------------------ as text

    def data(self) -> dict[str, Any]:
        """Plain dictionaries, lists, numbers and strings."""
        # Without them the keys are left out, which keeps the hashes of specs from before them.
        absent = {key for key in OPTIONAL if getattr(self, key) is None}
        return self.model_dump(mode="json", exclude=absent)

    def to_json(self) -> str:
        """One line of JSON, keys sorted."""
        return json.dumps(self.data(), sort_keys=True)

    def to_toml(self) -> str:
        """A TOML document."""
        return tomli_w.dumps(self.data())

    @classmethod
    def from_json(cls, text: str, *, allow_code: bool = False) -> Self:
        """Read what ``to_json`` wrote.

        With ``allow_code`` a part, or the id of a Gymnasium environment, may name a module, which
        is imported.
        """
        return cls._from_document(parse_document(text, json.loads, "JSON"), allow_code)

    @classmethod
    def from_toml(cls, text: str, *, allow_code: bool = False) -> Self:
        """Read what ``to_toml`` wrote; ``allow_code`` as in ``from_json``."""
        return cls._from_document(parse_document(text, tomllib.loads, "TOML"), allow_code)

    @classmethod
    def _from_document(cls, document: dict[str, Any], allow_code: bool) -> Self:
        if not allow_code:
            refuse_code(document)
        return cls(**document)

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
        """A readable name, also of the run's folder; it ends with the first digits of the hash."""
        names = "_".join(
            NOT_IN_FILES.sub("-", part.name) for part in (self.learner, self.mdp, self.losses)
        )
        where = f"T{self.n_episodes}_s{self.seed}r{self.replicate}"
        return f"{names}_{where}_{self.hash[:10]}"

    def identity(self) -> Identity:
        """The part of a spec that a store keeps."""
        return Identity(
            run=self.id,
            hash=self.hash,
            learner=self.learner.label,
            mdp=self.mdp.label,
            losses=self._losses_label(),
            n_episodes=self.n_episodes,
            seed=self.seed,
            replicate=self.replicate,
            spec=self.data(),
        )

    def _losses_label(self) -> str:
        """The losses, and how they are seen: runs that differ in that are not to be averaged."""
        seen = {"delay": self.delay, "feedback": self.feedback}
        return " ".join([self.losses.label, *(f"{k}={v}" for k, v in seen.items() if v)])


def _canonical(value: Any) -> Any:
    """Whole floats as integers, at any depth."""
    if isinstance(value, dict):
        return {key: _canonical(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_canonical(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
