"""The learners, MDPs and loss processes that a spec may name, and the parameters of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.experiments import gymnasium_mdps, loss_recipes
from advmdp.experiments.specs.parameter_types import check_type, check_types
from advmdp.learners.catalogue import LEARNERS as LEARNER_ENTRIES
from advmdp.learners.presets import PRACTICAL
from advmdp.world import families

SUPPLIED = {"layout", "n_episodes", "transitions", "rewards", "draw", "self"}  # by the builder
LIST_PARAMETERS = {"layer_sizes"}  # parameters whose value is a list of numbers
SEEDED = {"seed": int}


@dataclass(frozen=True)
class Factory:
    """A constructor and the parameters that a spec may give it."""

    make: Callable[..., Any]
    extra: Mapping[str, type] = field(default_factory=dict)
    """Parameters that the builder itself interprets, and their types."""
    rewards: Callable[..., Rewards] | None = None
    """From the parameters to the range of the rewards, where the component itself knows it."""

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The constructor's parameters by name."""
        return inspect.signature(self.make, eval_str=True).parameters

    @property
    def known(self) -> list[str]:
        """Names that a spec may use."""
        own = (
            name
            for name, parameter in self.parameters.items()
            if name not in SUPPLIED and parameter.kind is not inspect.Parameter.VAR_KEYWORD
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
            and name != "seed"
            and self.parameters[name].default is inspect.Parameter.empty
        ]


BY_CONTEXT = "by_context"
"""Whether there is one learner for each context of the run's ``contexts``."""


def _learner_factory(name: str, make: Callable[..., Any]) -> Factory:
    extra: dict[str, type] = {"preset": str} if name in PRACTICAL else {}
    if "n_contexts" not in inspect.signature(make).parameters:
        extra[BY_CONTEXT] = bool
    return Factory(make, extra)


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
    """The factory of that name; an unknown name is rejected with the nearest known one."""
    if name not in table:
        raise InvalidInput(f"there is no {name!r}{nearest(name, table)}", field=component)
    return table[name]


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
