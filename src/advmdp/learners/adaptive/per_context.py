"""Contexts: one learner for each kind of episode, with counts in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import (
    AcceptsAnyLosses,
    Compiled,
    CompiledLoop,
    CountsEpisodes,
    CountsTransitions,
    DeclaresFeedback,
    HasLayout,
    Observes,
    Resumable,
    TakesContexts,
    offers,
    plays_compiled,
)
from advmdp.learners.compiled import CompiledLearner, checked_class
from advmdp.learners.contract_checks import horizon_of, takes_any_losses
from advmdp.learners.feedback import FlatEpisode
from advmdp.learners.pair_knowledge import PairKnowledge
from advmdp.learners.saving.saveable import Saveable, Saved
from advmdp.learners.saving.state_checks import LARGEST_CLOCK
from advmdp.learners.tuning import checked_layout

MOST_CONTEXTS = 10_000


class PerContext(
    Saveable,
    HasLayout,
    DeclaresFeedback,
    CountsEpisodes,
    AcceptsAnyLosses,
    Observes,
    TakesContexts,
    Compiled,
    Resumable,
):
    """A learner for every context: weekdays and Sundays, seasons, kinds of customers.

    The context of an episode is known before its policy is chosen.  Each context has an iterate
    and a rate of its own.  Visits count for all of them, since what an action leads to does not
    depend on the context (``CountsTransitions``): when a context is entered, its learner takes over
    what others have counted since.  Estimates and confidence sets become those of all visits at
    once.  Leaders (``UOBFTRL``), ``APOMVP`` and ``FPOP``, which begin anew with an epoch, open one
    when some count has doubled, whoever counted.  UCBVI, UCRL2 and ``Lykouris`` count each for
    itself: their N says how well the losses are known too, and these are of one context.

    Parameters
    ----------
    make
        The class of the learners.
    layout
        Layers, actions and declared successors [X, A].
    n_contexts
        Contexts are 0 .. n_contexts - 1.
    **parameters
        All other parameters of the learners; a horizon ``n_episodes`` is that of each context.

    Guarantee: regret against the best policy of each context, the sum of the learners' regrets;
    it is measured more strictly than against one policy for all.  Confidence sets of common visits
    cover with the probability of delta if ``n_episodes`` is the number of all episodes.

    >>> from advmdp.learners.planners import WindowPlanner
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = PerContext(WindowPlanner, layout, 2, window=7)
    >>> learner.enter(1)
    >>> learner.observe([np.array([[5.0, -5.0]]), np.zeros((2, 2))])
    >>> learner.policy()[0]
    array([[0., 1.]])
    >>> learner.enter(0)                                    # nothing was seen in this context
    >>> learner.policy()[0]
    array([[0.5, 0.5]])

    ``advmdp.play(..., contexts=...)`` tells it the contexts.

    Reference: a table of contexts, folklore; for one state, Cesa-Bianchi and Lugosi, "Prediction,
    Learning, and Games", 2006, section 4.5.
    """

    def __init__(
        self, make: type[CompiledLearner], layout: Layout, n_contexts: int, **parameters: Any
    ) -> None:
        make = checked_class(make)
        self.layout = checked_layout(layout)
        self.n_contexts = whole_number(n_contexts, "n_contexts")
        if self.n_contexts > MOST_CONTEXTS:
            raise InvalidInput(f"{n_contexts} is above {MOST_CONTEXTS}", field="n_contexts")
        self.learners: list[Any] = [
            make(layout=self.layout, **parameters)  # type: ignore[call-arg]
            for _ in range(self.n_contexts)
        ]
        """The learners by their contexts."""
        self._shares = self.n_contexts > 1 and offers(self.learners[0], CountsTransitions)
        horizon = horizon_of(self.learners[0])
        if self._shares and horizon is not None:
            for learner in self.learners:
                learner.expect_others(self.n_contexts * horizon)
        self._context, self._episodes = 0, 0

    # ------------------------------------------------------------------ the contract

    @property
    def feedback(self) -> Literal["bandit", "full", "aggregate"]:
        """What the learners see."""
        found: Literal["bandit", "full", "aggregate"] = self.learners[0].feedback
        return found

    @property
    def accepts_any_losses(self) -> bool:
        """Whether the learners take losses outside [0, 1]."""
        return takes_any_losses(self.learners[0])

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far, in all contexts."""
        return self._episodes

    @property
    def context(self) -> int:
        """The context of the coming episode."""
        return self._context

    @property
    def needs_python(self) -> bool:
        """Whether the learners call functions between episodes."""
        return not plays_compiled(self.learners[0])

    @property
    def kernel_state(self) -> Any:
        """The state of the context's learner as the kernels hold it, for the account."""
        return self._learner.kernel_state

    @property
    def _learner(self) -> Any:
        return self.learners[self._context]

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        known: PairKnowledge = self._learner.pair_knowledge()
        return known

    def enter(self, context: int) -> None:
        """The coming episodes are of this context."""
        number = whole_number(context, "context", least=0)
        if number >= self.n_contexts:
            raise InvalidInput(f"{context} is not in 0..{self.n_contexts - 1}", field="context")
        if number != self._context:
            following = self.learners[number]
            if self._shares:
                following.catch_up(self._learner)
            self._context = number

    def policy(self) -> Table:
        """The policy of the coming episode in its context, a pair table."""
        policy: Table = self._learner.policy()
        return policy

    def update(self, feedback: Any) -> None:
        """Learn from one episode of the context, played with ``policy()``."""
        self._learner.update(feedback)
        self._episodes += 1

    def observe(self, losses: Any) -> None:
        """Learn from the losses of an episode of the context that was not played."""
        if not offers(self._learner, Observes):
            raise InvalidInput(f"observe: {type(self._learner).__name__} learns from what it plays")
        self._learner.observe(losses)
        self._episodes += 1

    def _learn(self, episode: FlatEpisode, losses: tuple[Floats, Floats]) -> None:
        """``update`` or ``observe`` of an episode that was checked, of learners in any unit."""
        played = len(episode.path) > 0
        self._learner._learn(self._learner._spread(episode) if played else episode, losses)
        self._episodes += 1

    # ------------------------------------------------------------------ keeping, and speed

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        found: Saved = {"clock": np.array([self._context, self._episodes])}
        for i, learner in enumerate(self.learners):
            found |= {f"{i}.{name}": array for name, array in learner.state().items()}
        return found

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a learner made with the same parameters."""
        clock = saved.get("clock", np.zeros(0))
        if clock.shape != (2,) or clock.dtype.kind != "i":
            raise InvalidInput("restore: no clock of contexts; restore into the same class")
        context, episodes = clock.tolist()
        if not (0 <= context < self.n_contexts and 0 <= episodes <= LARGEST_CLOCK):
            raise InvalidInput(f"restore: clock has context {context} after {episodes} episodes")
        parts = [f"{i}." for i in range(self.n_contexts)]
        if any(name != "clock" and not name.startswith(tuple(parts)) for name in saved):
            raise InvalidInput("restore: the saved state has other parts; restore the same class")
        before = [learner.state() for learner in self.learners]
        try:
            for part, learner in zip(parts, self.learners, strict=True):
                own = [name for name in saved if name.startswith(part)]
                learner.restore({name.removeprefix(part): saved[name] for name in own})
            self._check_counts(context)
        except InvalidInput:
            for learner, state in zip(self.learners, before, strict=True):
                learner.restore(state)
            raise
        self._context, self._episodes = context, episodes

    def _check_counts(self, context: int) -> None:
        """The learner of the present context has counted what all others have, and maybe more."""
        for i, learner in enumerate(self.learners) if self._shares else ():
            counts = learner.transition_counts(), self.learners[context].transition_counts()
            if any((own > every).any() for own, every in zip(*counts, strict=True)):
                raise InvalidInput(
                    f"restore: context {i} has counted visits that the present one, {context}, "
                    "has not; was it saved by an earlier version?"
                )

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: compiled episodes of the context that was entered."""
        return CompiledLoop(self._compiled_slice, (), self._finish)

    def _compiled_slice(self, *world: Any) -> int:
        start = world[-2]
        loop = self._learner.compiled_loop()
        reached = int(loop.kernel(*world, *loop.state))
        self._episodes += reached - start
        return reached

    def _finish(self, states: NDArray[np.int64], path: NDArray[np.int64]) -> None:
        self._learner.compiled_loop().finish(states, path)
        self._episodes += 1
