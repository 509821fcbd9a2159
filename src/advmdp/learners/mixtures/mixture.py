"""A mixture of experts that plays the policy of their mixed occupancy measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import shown, whole_number
from advmdp.errors import InvalidInput
from advmdp.kernels.model.flow import forward
from advmdp.kernels.model.transition import count_path
from advmdp.layout import Floats, Layout, Table
from advmdp.layout.actions import merge_rows
from advmdp.learners.adaptive.any_losses import NOWHERE
from advmdp.learners.adaptive.state_invariants import check_transition
from advmdp.learners.base import (
    AcceptsAnyLosses,
    CountsEpisodes,
    DeclaresFeedback,
    HasLayout,
    Observes,
    Resumable,
    TakesContexts,
)
from advmdp.learners.feedback import FlatEpisode, check_full_information, check_losses
from advmdp.learners.mixtures.experts import Experts, checked_votes
from advmdp.learners.mixtures.weights import RULES, Rule
from advmdp.learners.saving.saveable import Saveable, Saved
from advmdp.learners.saving.state_checks import LARGEST_CLOCK, Scope
from advmdp.learners.tuning import checked_layout, checked_rate
from advmdp.one_thread import OneThread
from advmdp.steps.estimates import estimated_transition, known_transition, mean_transition


class Mixture(
    Saveable,
    HasLayout,
    DeclaresFeedback,
    CountsEpisodes,
    AcceptsAnyLosses,
    Observes,
    TakesContexts,
    Resumable,
):
    """Any experts, full information, known or unknown transition; the best of them, nearly.

    With q_i the occupancy measure of expert i's policy under P (or its estimate P^) and w the
    weights of a rule, every episode plays the policy of sum_i w_i q_i, whose expected loss is the
    weighted mean of the experts'.  After the losses l of all pairs the rule is fed <q_i, l>, and
    every expert that learns learns from the episode.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    experts
        A list, or names and experts: learners with full information, planners, pair tables, or
        functions ``policy(episode, context)``.  They belong to the mixture from then on.
    transitions
        The true transition [P], a triple table; None: it is estimated from the mixture's visits,
        and a history that nobody has played (``observe``) teaches the experts but not the weights.
    rule
        "adahedge", "fixed-share" or "squint" (``learners/mixtures/weights.py``).
    prior
        How many visits the uniform distribution counts for in an estimate.
    votes
        As how many experts one counts, by its name, where that is not 1: several of a kind need not
        outvote a single one of another kind.
    warm_up
        After how many episodes the experts begin to be weighed: what they do before they have seen
        anything says little of what they will do.

    Guarantee: with P known the regret to every expert since the end of the warm-up is at most
    ``regret_bounds``, after every episode and for every sequence of losses, K being the number of
    votes; with an estimate this holds of the losses under P^.
    With experts that keep the sum of their own regrets small the mixture inherits it.  Cost of an
    episode: the experts', and two passes over the triples for each.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> tables = {name: layout.pairs(np.tile(row, 3)) for name, row in
    ...           {"left": [1.0, 0.0], "right": [0.0, 1.0]}.items()}
    >>> mixture = Mixture(layout, tables, [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))])
    >>> mixture.observe(np.array([5.0, -5.0] + [0.0] * 4))
    >>> {name: round(float(w), 3) for name, w in mixture.weights.items()}
    {'left': 0.2, 'right': 0.8}

    Reference: de Rooij, van Erven, Grunwald, Koolen, "Follow the leader if you can, hedge if you
    must", JMLR 15, 2014, for the default rule; the others name theirs.
    """

    feedback: Literal["full"] = "full"  # type: ignore[assignment]

    def __init__(
        self,
        layout: Layout,
        experts: Any,
        transitions: Any = None,
        rule: str = "adahedge",
        prior: float = 1.0,
        votes: Mapping[str, int] | None = None,
        warm_up: int = 0,
    ) -> None:
        self.layout = checked_layout(layout)
        self.warm_up = whole_number(warm_up, "warm_up", least=0)
        self._one_thread = OneThread("learner")
        prior = checked_rate(prior, "prior")
        self._transition = (
            estimated_transition(layout, prior)
            if transitions is None
            else known_transition(layout, transitions)
        )
        if not isinstance(rule, str) or rule not in RULES:
            raise InvalidInput(f"{shown(rule)} is none of {', '.join(RULES)}", field="rule")
        self._experts = Experts(self.layout, experts)
        self._votes = checked_votes(self._experts.names, votes)
        self._rule: Rule = RULES[rule](int(self._votes.sum()))
        self._graph = self.layout.graph()
        self._mass = np.zeros(self.layout.n_states)
        self._clock = np.zeros(2, dtype=np.int64)  # episodes, context
        self.n_contexts = self._experts.n_contexts
        self._known: tuple[Floats, Floats] | None = None  # policies and measures, until they change

    # ------------------------------------------------------------------ the contract

    def policy(self) -> Table:
        """The policy of the coming episode, a pair table."""
        with self._one_thread:
            policies, measures = self._coming()
            weights = self._weights()
        mixed, n_actions = weights @ measures, self.layout.n_actions
        reached = np.repeat(mixed.reshape(-1, n_actions).sum(axis=1), n_actions)
        plain = weights @ policies  # of states that nobody reaches
        with np.errstate(divide="ignore", invalid="ignore"):
            flat = np.where(reached > 0.0, mixed / reached, plain)
        return self.layout.pairs(merge_rows(self.layout, flat))

    def update(self, feedback: Any) -> None:
        """Learn from one episode played with ``policy()``."""
        any_losses = self._experts.any_losses
        self._learn(check_full_information(self.layout, feedback, any_losses=any_losses))

    def observe(self, losses: Any) -> None:
        """Learn from the losses of an episode that was not played: a pair table."""
        flat = check_losses(self.layout, losses, any_losses=self._experts.any_losses)
        self._learn(FlatEpisode(NOWHERE, NOWHERE, flat))

    def _learn(self, episode: FlatEpisode) -> None:
        with self._one_thread:
            costs = self._coming()[1] @ episode.losses
            self._experts.learn(self.layout, episode)
            self._known = None
            can_weigh = len(episode.path) > 0 or not self._transition.estimated
            if can_weigh and self.episodes >= self.warm_up:
                self._rule.update(np.repeat(costs, self._votes))
            self._count(episode)
            self._clock[0] += 1

    def _count(self, episode: FlatEpisode) -> None:
        """The mean of the visits is what experts are weighed with: none is to look too good."""
        if self._transition.estimated:
            count_path(self._graph, self._transition, episode.states, episode.path)
            self._transition.chance[:] = mean_transition(self.layout, self._transition)

    def enter(self, context: int) -> None:
        """The coming episodes are of this context; told to every expert that takes one."""
        number = whole_number(context, "context", least=0)
        if number >= self.n_contexts:
            raise InvalidInput(f"{context} is not in 0..{self.n_contexts - 1}", field="context")
        with self._one_thread:
            if number != self._clock[1]:
                self._known = None
            self._clock[1] = number
            self._experts.enter(number)

    @property
    def accepts_any_losses(self) -> bool:
        """Whether all experts take losses outside [0, 1]."""
        return self._experts.any_losses

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far, those of ``observe`` included."""
        return int(self._clock[0])

    # ------------------------------------------------------------------ what can be looked at

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the experts in the coming episode."""
        return dict(zip(self._experts.names, self._weights().tolist(), strict=True))

    @property
    def regret_bounds(self) -> dict[str, float]:
        """What the regret to each expert cannot exceed, since the end of the warm-up."""
        bounds = np.minimum.reduceat(self._rule.regret_bounds(), self._first_votes)
        return dict(zip(self._experts.names, bounds.tolist(), strict=True))

    @property
    def transition(self) -> Table:
        """The transition that experts are weighed with, known or estimated, a triple table."""
        return self.layout.triples(self._transition.chance.copy())

    @property
    def _first_votes(self) -> NDArray[np.int64]:
        """Where the votes of each expert begin."""
        return np.cumsum(self._votes) - self._votes

    def _weights(self) -> Floats:
        """The weights of the experts, of all their votes."""
        return np.asarray(np.add.reduceat(self._rule.weights(), self._first_votes))

    def _coming(self) -> tuple[Floats, Floats]:
        """The experts' policies of the coming episode and their occupancy measures, (K, R)."""
        if self._known is None:
            episode, context = self._clock.tolist()
            policies = self._experts.policies(self.layout, episode, context)
            self._known = policies, self._occupancies(policies)
        return self._known

    def _occupancies(self, policies: Floats) -> Floats:
        """q_i over pairs, (K, R)."""
        found = np.empty_like(policies)
        for i, policy in enumerate(policies):
            forward(self._graph, self._transition.chance, policy, self._mass)
            found[i] = policy * np.repeat(self._mass[:-1], self.layout.n_actions)
        return found

    # ------------------------------------------------------------------ keeping

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        counts = ("chance", "pairs", "triples")
        with self._one_thread:
            found: Saved = {"clock": self._clock.copy()}
            found |= {f"transition.{n}": getattr(self._transition, n).copy() for n in counts}
            for part, owner in self._parts():
                found |= {f"{part}{name}": array for name, array in owner.state().items()}
        return found

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a mixture made with the same arguments."""
        mine = self.state()
        if set(saved) != set(mine) or any(
            saved[name].shape != array.shape or saved[name].dtype != array.dtype
            for name, array in mine.items()
        ):
            raise InvalidInput(
                "restore: the saved state has other parts or shapes; restore into a mixture of "
                "the same experts"
            )
        clock = saved["clock"]
        if not 0 <= clock[0] <= LARGEST_CLOCK or not 0 <= clock[1] < self.n_contexts:
            raise InvalidInput("restore: clock has values that no run has")
        counted = {n: saved[f"transition.{n}"] for n in ("chance", "pairs", "triples")}
        scope = Scope(self.layout, None, "transition.", self._transition)
        check_transition(self._transition._replace(**counted), scope)  # type: ignore[arg-type]
        try:
            self._restore_parts(saved)
        except InvalidInput:
            self._restore_parts(mine)
            raise
        self._known = None
        for name, array in counted.items():
            getattr(self._transition, name)[...] = array
        self._clock[...] = clock

    def _restore_parts(self, saved: Mapping[str, NDArray[Any]]) -> None:
        for part, owner in self._parts():
            own = [name for name in saved if name.startswith(part)]
            owner.restore({name.removeprefix(part): saved[name] for name in own})

    def _parts(self) -> list[tuple[str, Any]]:
        learners = [(f"expert {i}.", each) for i, each in enumerate(self._experts.learners)]
        return [("rule.", self._rule), *learners]
