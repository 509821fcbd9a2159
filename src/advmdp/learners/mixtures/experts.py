"""The experts of a mixture: what they are asked, and how they all learn or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_number
from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.learners.adaptive.any_losses import NOWHERE, AnyLossLearner
from advmdp.learners.adaptive.per_context import PerContext
from advmdp.learners.base import Observes, Resumable, TakesContexts, offers
from advmdp.learners.contract_checks import is_made_for, sees_all_losses, takes_any_losses
from advmdp.learners.feedback import FlatEpisode, FullInformation
from advmdp.learners.planners.forecast import ForecastPlanner
from advmdp.steps.upper_occupancy import checked_policy

TAKES_EVERYTHING = (AnyLossLearner, ForecastPlanner)
"""Learners that refuse no episode that was checked, and give their policy without tables."""


class Fixed:
    """A policy that somebody else decides about: a table, or ``function(episode, context)``."""

    def __init__(self, layout: Layout, given: Any, name: str) -> None:
        self._layout, self._given, self._name = layout, given, name

    def policy_of(self, episode: int, context: int) -> Floats:
        table = self._given(episode, context) if callable(self._given) else self._given
        return checked_policy(self._layout, table)


class Experts:
    """Learners and fixed policies under names."""

    def __init__(self, layout: Layout, given: Any) -> None:
        named = given if isinstance(given, Mapping) else _numbered(given)
        if not named:
            raise InvalidInput("experts: none; give at least one")
        self.names = [str(name) for name in named]
        self._experts = [_checked(layout, expert, name) for name, expert in named.items()]
        self.learners = [e for e in self._experts if not isinstance(e, Fixed)]
        self._policies = [_policy_of(expert) for expert in self._experts]
        self._last = [e for e in self.learners if _takes_everything(e)]
        self._first = [e for e in self.learners if not _takes_everything(e)]
        self.any_losses = all(takes_any_losses(learner) for learner in self.learners)
        sizes = {e.n_contexts for e in self.learners if offers(e, TakesContexts)}
        if len(sizes) > 1:
            raise InvalidInput(f"experts: they have {sorted(sizes)} contexts; give all as many")
        self.n_contexts = sizes.pop() if sizes else 1

    def policies(self, layout: Layout, episode: int, context: int) -> Floats:
        """The policies of the coming episode, (K, R)."""
        asked = zip(self._policies, self._experts, strict=True)
        return np.array([ask(layout, each, episode, context) for ask, each in asked])

    def enter(self, context: int) -> None:
        for learner in self.learners:
            if offers(learner, TakesContexts):
                learner.enter(context)

    def learn(self, layout: Layout, episode: FlatEpisode) -> None:
        """Every expert learns from the episode, or none does; it was checked before."""
        played = len(episode.path) > 0
        states = episode.states - layout.layer_start[:-1] if played else NOWHERE
        seen = FullInformation(states, episode.path % layout.n_actions, episode.losses)
        before: list[tuple[Any, Any]] = []
        try:
            for learner in self._first:
                before.append((learner, learner.state()))
                if played:
                    learner.update(seen)
                elif offers(learner, Observes):
                    learner.observe(episode.losses)
        except AdvMDPError:
            for learner, state in before:
                learner.restore(state)
            raise
        for learner in self._last:
            learner._learn(episode, (episode.losses, episode.losses))


def _takes_everything(learner: Any) -> bool:
    """Also where there is one of them for each context."""
    alone = learner.learners[0] if isinstance(learner, PerContext) else learner
    asks = getattr(alone, "needs_python", False)  # a function, which may fail
    return isinstance(alone, TAKES_EVERYTHING) and not asks


def _policy_of(expert: Any) -> Callable[[Layout, Any, int, int], Floats]:
    """How to ask for its policy over pairs, without a detour over tables where that is possible."""
    if isinstance(expert, Fixed):
        return lambda layout, expert, episode, context: expert.policy_of(episode, context)
    if isinstance(expert, PerContext) and _takes_everything(expert):
        return lambda layout, expert, episode, context: expert.learners[
            expert.context
        ].flat_policy()
    if _takes_everything(expert):
        return lambda layout, expert, episode, context: expert.flat_policy()
    return lambda layout, expert, episode, context: layout.flat_pairs(expert.policy())


def _numbered(given: Any) -> dict[str, Any]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InvalidInput("experts: give a list of them, or names and experts")
    return {f"expert {i}": expert for i, expert in enumerate(given)}


def _checked(layout: Layout, expert: Any, name: Any) -> Any:
    """A learner with full information and a state, or a fixed policy."""
    is_learner = hasattr(expert, "policy") and hasattr(expert, "update")
    if not is_learner or isinstance(expert, type):
        if not callable(expert) or isinstance(expert, type):
            checked_policy(layout, expert)
        return Fixed(layout, expert, str(name))
    if not sees_all_losses(expert) or not offers(expert, Resumable):
        raise InvalidInput(
            f"experts: {name} ({type(expert).__name__}) learns from its own path, or has no "
            "state(); give learners with full information, tables or functions"
        )
    if not is_made_for(expert, layout):
        raise InvalidInput(f"experts: {name} has another layout; build all on one")
    return expert


def checked_votes(names: list[str], votes: Any) -> NDArray[np.int64]:
    """As how many each expert counts."""
    if votes is not None and not isinstance(votes, Mapping):
        kind = type(votes).__name__
        raise InvalidInput(
            f"votes: expected a mapping from experts to counts, got {kind}", field="votes"
        )
    given = {} if votes is None else dict(votes)
    if unknown := sorted(str(name) for name in given if name not in names):
        raise InvalidInput(f"votes: no expert is called {unknown[0]}", field="votes")
    return np.array([whole_number(given.get(name, 1), "votes") for name in names])
