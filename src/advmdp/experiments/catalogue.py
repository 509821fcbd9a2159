"""From names to constructors: what a spec may ask for, and with which parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.experiments import gymnasium_worlds, loss_recipes
from advmdp.experiments.kinds import check_kind, check_kinds
from advmdp.learners.catalogue import LEARNERS as LEARNER_ENTRIES
from advmdp.learners.presets import PRACTICAL
from advmdp.world import families

SUPPLIED = {"layout", "n_episodes", "transitions", "rewards", "draw", "self"}  # by the builder
LISTS = {"layer_sizes"}  # parameters whose value is a list of numbers
SEEDED = {"seed": int}


@dataclass(frozen=True)
class Maker:
    """A constructor and the parameters that a spec may give it."""

    make: Callable[..., Any]
    extra: Mapping[str, type] = field(default_factory=dict)
    """Parameters that the builder sees to, and their kinds."""
    rewards: Callable[..., Rewards] | None = None
    """From the parameters to the range of the rewards, where the part itself knows it."""

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
    def takes_any(self) -> bool:
        """Whether it passes names that it does not know on to somebody who may."""
        kinds = {parameter.kind for parameter in self.parameters.values()}
        return inspect.Parameter.VAR_KEYWORD in kinds

    @property
    def needed(self) -> list[str]:
        """Names that a spec must use; a seed is drawn from the replicate if not given."""
        return [
            name
            for name in self.known
            if name not in self.extra
            and name != "seed"
            and self.parameters[name].default is inspect.Parameter.empty
        ]


LEARNERS = {
    name: Maker(entry.make, {"preset": str} if name in PRACTICAL else {})
    for name, entry in LEARNER_ENTRIES.items()
}
MDPS = {
    "random": Maker(families.random_mdp),
    "grid": Maker(families.grid),
    "river-swim": Maker(families.river_swim),
    "deep-sea": Maker(families.deep_sea),
    "combination-lock": Maker(families.combination_lock),
    "routing": Maker(families.routing),
    "gymnasium": Maker(gymnasium_worlds.gymnasium_world, rewards=gymnasium_worlds.reward_range),
}
LOSSES = {
    "stochastic": Maker(loss_recipes.stochastic, SEEDED),
    "switching": Maker(loss_recipes.switching, SEEDED),
    "majority": Maker(loss_recipes.majority, SEEDED),
    "turning": Maker(loss_recipes.turning, SEEDED),
    "drifting": Maker(loss_recipes.drifting, SEEDED),
    "corrupted": Maker(loss_recipes.corrupted, SEEDED),
    "adaptive": Maker(loss_recipes.adaptive, SEEDED),
}


def find(table: Mapping[str, Maker], name: str, what: str) -> Maker:
    """The maker of that name, or an error with the nearest one."""
    if name not in table:
        raise InvalidInput(f"{what}: there is no {name!r}{nearest(name, table)}")
    return table[name]


def check_parameters(maker: Maker, name: str, given: Mapping[str, Any], what: str) -> None:
    """Refuse unknown parameters, a part that lacks one it needs, and values of the wrong kind."""
    for key in given:
        if key not in maker.known and not maker.takes_any:
            raise InvalidInput(f"{what}.{key}: {name!r} has no such key{nearest(key, maker.known)}")
    missing = [key for key in maker.needed if key not in given]
    if missing:
        raise InvalidInput(f"{what}.{missing[0]}: {name!r} needs it; add {missing[0]} = ...")
    try:
        check_kinds(given, maker.parameters)
        for key in given.keys() & maker.extra.keys():
            check_kind(given[key], maker.extra[key], key)
    except InvalidInput as problem:
        raise InvalidInput(f"{what}.{problem}") from None


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint for an error message: the name that was probably meant, or all of them."""
    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; choose from {', '.join(names)}" if names else "; it takes none"
