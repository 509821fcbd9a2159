"""The learners, MDPs and loss processes that a spec may name, and the parameters of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.experiments import gymnasium_mdps, loss_recipes
from advmdp.experiments.own.registry import OwnPart, find_own, registered_names
from advmdp.experiments.own.sources import source_hash
from advmdp.experiments.specs.parameter_types import check_type, check_types
from advmdp.learners.catalogue import LEARNERS as LEARNER_ENTRIES
from advmdp.learners.presets import PRACTICAL
from advmdp.world import families
from advmdp.world.mdp import LayeredMDP

SUPPLIED = {"layout", "n_episodes", "transitions", "rewards", "draw", "self"}  # by the builder
SUPPLIED_TO_OWN = {
    "learner": {"layout", "n_episodes", "transitions"},
    "mdp": {"rewards"},
    "losses": {"draw", "mdp", "layout", "n_episodes", "rng"},
}
"""What a part of the user's own gets if its signature has a parameter of that name."""
LIST_PARAMETERS = {"layer_sizes"}  # parameters whose value is a list of numbers
SEEDED = {"seed": int}
VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
PLAIN = (bool, int, float, str)
BY_CONTEXT = "by_context"
"""Whether there is one learner for each context of the run's ``contexts``."""
BUILDER_DEFAULTS = {"preset": "theory", BY_CONTEXT: False}
FROM_THE_RUN = ("n_contexts",)  # what the builder takes in place of the constructor's default


@dataclass(frozen=True)
class Factory:
    """A constructor and the parameters that a spec may give it."""

    make: Callable[..., Any]
    extra: Mapping[str, type] = field(default_factory=dict)
    """Parameters that the builder itself interprets, and their types."""
    rewards: Callable[..., Rewards] | None = None
    """From the parameters to the range of the rewards, where the component itself knows it."""
    source: str | None = None
    """The hash of the source, for a part of the user's own."""
    supplied: Set[str] = field(default_factory=lambda: SUPPLIED)
    """Parameters that the builder gives."""
    presets: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that ``preset = "practical"`` sets."""

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The constructor's parameters by name."""
        try:
            return inspect.signature(self.make, eval_str=True).parameters
        except NameError:  # annotations of foreign code may name what exists for type checkers only
            return inspect.signature(self.make).parameters

    @property
    def known(self) -> list[str]:
        """Names that a spec may use."""
        own = (
            name
            for name, parameter in self.parameters.items()
            if name not in self.supplied and parameter.kind not in VARIADIC
        )
        return [*own, *sorted(self.extra)]

    @property
    def accepts_any(self) -> bool:
        """Whether unknown names are passed on, to be checked by another constructor."""
        kinds = {parameter.kind for parameter in self.parameters.values()}
        return inspect.Parameter.VAR_KEYWORD in kinds

    @property
    def required(self) -> list[str]:
        """Names that a spec must use; a seed that is not given is drawn from the replicate."""
        return [
            name
            for name in self.known
            if name not in self.extra
            and name not in ("seed", *FROM_THE_RUN)
            and self.parameters[name].default is inspect.Parameter.empty
        ]

    def without_defaults(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that differ from what the constructor would take without them.

        A parameter that the chosen preset sets is kept whatever its value is.
        """
        preset_sets = self.presets if given.get("preset") == "practical" else {}
        return {
            key: value
            for key, value in given.items()
            if key in preset_sets or not self._is_default(key, value)
        }

    def _is_default(self, key: str, value: Any) -> bool:
        if key in self.extra and key in BUILDER_DEFAULTS:
            return _same(value, BUILDER_DEFAULTS[key])
        if key not in self.parameters or key in FROM_THE_RUN:
            return False
        default = self.parameters[key].default
        if isinstance(value, list | tuple) and isinstance(default, list | tuple):
            return list(value) == list(default)
        return isinstance(default, PLAIN) and isinstance(value, PLAIN) and _same(value, default)


def _same(value: Any, default: Any) -> bool:
    """Equal, where 1 and 1.0 are the same and 1 and true are not."""
    return bool(value == default) and isinstance(value, bool) is isinstance(default, bool)


def _learner_factory(name: str, make: Callable[..., Any]) -> Factory:
    extra: dict[str, type] = {"preset": str} if name in PRACTICAL else {}
    if "n_contexts" not in inspect.signature(make).parameters:
        extra[BY_CONTEXT] = bool
    return Factory(make, extra, presets=PRACTICAL.get(name, {}))


LEARNERS = {name: _learner_factory(name, entry.make) for name, entry in LEARNER_ENTRIES.items()}
MDPS = {
    "random": Factory(families.random_mdp),
    "grid": Factory(families.grid),
    "river-swim": Factory(families.river_swim),
    "deep-sea": Factory(families.deep_sea),
    "combination-lock": Factory(families.combination_lock),
    "routing": Factory(families.routing),
    "gymnasium": Factory(gymnasium_mdps.gymnasium_mdp, rewards=gymnasium_mdps.reward_range),
}
LOSSES = {
    "stochastic": Factory(loss_recipes.stochastic, SEEDED),
    "switching": Factory(loss_recipes.switching, SEEDED),
    "majority": Factory(loss_recipes.majority, SEEDED),
    "turning": Factory(loss_recipes.turning, SEEDED),
    "drifting": Factory(loss_recipes.drifting, SEEDED),
    "corrupted": Factory(loss_recipes.corrupted, SEEDED),
    "adaptive": Factory(loss_recipes.adaptive, SEEDED),
}


def find(table: Mapping[str, Factory], name: str, component: str) -> Factory:
    """The factory of that name; an unknown name is rejected with the nearest known one.

    A name that is not in the table is looked for among the parts of the user's own, and imported.
    """
    if name in table:
        return table[name]
    try:
        part = find_own(component, name)
        if part is not None:
            return _own_factory(part, component)
    except InvalidInput as problem:
        raise InvalidInput(str(problem), field=problem.field or component) from problem.__cause__
    names = [*table, *registered_names(component)]
    own = "" if get_close_matches(name, names) else f"; one of your own is written {_place(name)}"
    raise InvalidInput(f"there is no {name!r}{nearest(name, names)}{own}", field=component)


def _place(name: str) -> str:
    """How a part of the user's own is named; where the name has a dot, with its own words.

    >>> _place("mylearners.Hedge"), _place("./mylearners.py"), _place("Hedge")
    ("'mylearners:Hedge'", 'module:Name', 'module:Name')
    """
    module, _, part = name.rpartition(".")
    if name.replace(".", "_").isidentifier() and module and part != "py":
        return f"'{module}:{part}'"
    return "module:Name"


def _own_factory(part: OwnPart, component: str) -> Factory:
    """The factory of a part of the user's own; a finished MDP or loss process is its own maker."""
    made_by = part.made_by
    finished = isinstance(made_by, LayeredMDP) or callable(getattr(made_by, "begin", None))
    if component != "learner" and finished and not isinstance(made_by, type):
        return Factory(lambda: made_by, source=source_hash(part))
    if not callable(made_by):
        raise InvalidInput(
            f"{part.location!r} is a {type(made_by).__name__}, which makes no {component}; "
            "name a class or a function"
        )
    seeded = SEEDED if component == "losses" else {}
    supplied = SUPPLIED_TO_OWN[component]
    return Factory(made_by, seeded, source=source_hash(part), supplied=supplied)


def check_parameters(factory: Factory, name: str, given: Mapping[str, Any], component: str) -> None:
    """Reject unknown parameters, missing ones, and values of the wrong type."""
    for key in given:
        if key not in factory.known and not factory.accepts_any:
            hint = nearest(key, factory.known)
            raise InvalidInput(f"{name!r} has no such key{hint}", field=f"{component}.{key}")
    missing = [key for key in factory.required if key not in given]
    if missing:
        key = missing[0]
        raise InvalidInput(f"{name!r} needs it; add {key} = ...", field=f"{component}.{key}")
    try:
        check_types(given, factory.parameters)
        for key in given.keys() & factory.extra.keys():
            check_type(given[key], factory.extra[key], key)
    except InvalidInput as problem:
        raise problem.within(component) from None


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of an error message: the name that was probably meant, or all of them."""
    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; choose from {', '.join(names)}" if names else "; it takes none"
