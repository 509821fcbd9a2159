"""UCBVI: optimistic value iteration for stochastic losses, with two kinds of bonus."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from advmdp.kernels.learners.ucbvi import Bonus, UCBVIState, plan
from advmdp.kernels.model.empirical import Model
from advmdp.layout import Layout
from advmdp.learners.base import HasHorizon
from advmdp.learners.pair_knowledge import PairKnowledge
from advmdp.learners.stochastic.optimistic import (
    OptimisticLearner,
    checked_stationary,
    first_greedy_policy,
    knowledge_of_model,
)
from advmdp.learners.tuning import checked_delta, checked_horizon, checked_layout, checked_rate


class _UCBVI(OptimisticLearner, HasHorizon):
    """What both bonuses share: parameters, first state, and what can be looked at."""

    def __init__(
        self, layout: Layout, n_episodes: int, delta: float, bonus_scale: float, stationary: bool
    ) -> None:
        layout = checked_layout(layout)
        self.stationary = checked_stationary(stationary, layout)
        self.n_episodes = n_episodes = checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        self.bonus_scale = checked_rate(bonus_scale, "bonus_scale", zero_allowed=True)
        steps = layout.n_layers * n_episodes
        self.log_term = math.log(5.0 * layout.n_states * layout.n_actions * steps / delta)
        state = UCBVIState(
            policy=first_greedy_policy(layout),
            bonus=self._bonus(layout),
            model=empty_model(layout, self.stationary),
            chance=np.zeros(layout.n_entries),
            seen=np.zeros(layout.n_states, dtype=np.int64),
            q=np.zeros(layout.n_rows),
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, state)

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        return knowledge_of_model(self.layout, self._state.model, self._state.q)

    @abstractmethod
    def _bonus(self, layout: Layout) -> Bonus:
        """The constants of the bonus."""

    def _adopt(self, earlier: UCBVIState) -> None:
        """The whole model: losses are drawn from one law here, so their averages stay true too."""
        state = self._state
        for name in ("pairs", "triples", "loss_sum"):
            getattr(state.model, name)[:] = getattr(earlier.model, name)
        state.chance[:] = earlier.chance
        state.seen[:] = earlier.seen
        plan(self._graph, state)

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far, those of adopted counts included."""
        return int(self._state.seen[0])


class UCBVICH(_UCBVI):
    """Stochastic losses, bandit feedback, unknown transition; value iteration, Hoeffding bonus.

    After every episode, backwards over the layers, on all pairs that were visited,

        Q(x, a) = max( Q(x, a), 0, l-(x, a) + <P^(. | x, a), V> - b(x, a) ),     V(x) = min_a Q
        b(x, a) = 7 L lambda / sqrt(N(x, a)),    lambda = ln(5 |X| |A| L T / delta)

    and the next episode plays argmin_a Q (ties to the first action).  Q starts at 0, a lower bound
    of every loss to go, and never decreases.  l- and P^ are the averages over the N visits.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T; it enters the logarithm.
    delta
        The guarantee holds with probability 1 - delta.
    bonus_scale
        Multiplies b.  With 1, the theory's value, b exceeds every loss to go until a pair has been
        visited (7 lambda)^2 times, some ten thousand; runs of ordinary length want 0.001 to 0.01,
        without the proof.
    stationary
        Whether rows that share their counts (``Layout.shared_rows``) have the same mean loss too,
        as where nothing changes over time.  Visits and losses are then counted over all of them,
        which is how the paper counts; N(y) stays that of one step.  The guarantee then needs losses
        that are independent from step to step too, as in the paper.  By default each row counts
        for itself.

    Guarantee: regret of order L^(3/2) sqrt(|X| |A| T) for losses drawn independently from a fixed
    distribution; none for others.  Cost of an episode: one pass over the triples.

    >>> from advmdp.learners.feedback import Trajectory
    >>> learner = UCBVICH(Layout(layer_sizes=(1, 2, 1), n_actions=2), 100, bonus_scale=0.001)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0], learner.lower_values[0].round(3)
    (array([[0., 1.]]), array([[0.842, 0.   ]]))

    Reference: Azar, Osband, Munos, "Minimax Regret Bounds for Reinforcement Learning", ICML 2017.
    The constant 7 and the 5 in the logarithm are from memory.  The paper knows the mean rewards;
    here the uncertainty of the mean loss, at most sqrt(lambda / N), is left to the 7 L lambda.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        bonus_scale: float = 1.0,
        stationary: bool = False,
    ) -> None:
        super().__init__(layout, n_episodes, delta, bonus_scale, stationary)

    def _bonus(self, layout: Layout) -> Bonus:
        root = self.bonus_scale * 7.0 * layout.n_layers * self.log_term
        return Bonus(False, root, 0.0, 0.0, 0.0, 0.0, 0.0)


class UCBVIBF(_UCBVI):
    """Stochastic losses, bandit feedback, unknown transition; value iteration, Bernstein bonus.

    The update is that of ``UCBVICH`` with, for lambda = ln(5 |X| |A| L T / delta),

        b(x, a) = sqrt(8 lambda Var(V) / N) + 14 L lambda / (3 N) + sqrt(2 lambda / N)
                + sqrt( (8 / N) sum_y P^(y) min( 100^2 L^3 |X|^2 |A| lambda^2 / N(y), L^2 ) ),

    where Var is taken under P^(. | x, a), N = N(x, a) and N(y) counts the visits of y.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T; it enters the logarithm.
    delta
        The guarantee holds with probability 1 - delta.
    bonus_scale
        Multiplies b.  With the theory's constants the minimum in the last term is L^2 in any run
        of feasible length; values of 0.003 to 0.03 learn, without the proof.
    stationary
        As for ``UCBVICH``.

    Guarantee: regret of order L sqrt(|X| |A| T) for large T, for losses drawn independently from a
    fixed distribution; none for others.  Cost of an episode: two passes over the triples.

    >>> from advmdp.learners.feedback import Trajectory
    >>> learner = UCBVIBF(Layout(layer_sizes=(1, 2, 1), n_actions=2), 100, bonus_scale=0.001)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0], learner.lower_values[0].round(3)
    (array([[0., 1.]]), array([[0.884, 0.   ]]))

    Reference: Azar, Osband, Munos, "Minimax Regret Bounds for Reinforcement Learning", ICML 2017.
    The bonus agrees with a public implementation.  The paper knows the mean rewards: the term
    sqrt(2 lambda / N) for unknown mean losses is an addition.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        bonus_scale: float = 1.0,
        stationary: bool = False,
    ) -> None:
        super().__init__(layout, n_episodes, delta, bonus_scale, stationary)

    def _bonus(self, layout: Layout) -> Bonus:
        scale, n_layers, log_term = self.bonus_scale, layout.n_layers, self.log_term
        uncertainty = 100.0**2 * n_layers**3 * layout.n_states**2 * layout.n_actions
        return Bonus(
            bernstein=True,
            root=scale * math.sqrt(2.0 * log_term),
            variance=scale**2 * 8.0 * log_term,
            inverse=scale * 14.0 * n_layers * log_term / 3.0,
            later=scale**2 * 8.0,
            later_rate=uncertainty * log_term**2,
            later_cap=float(n_layers**2),
        )


def empty_model(layout: Layout, stationary: bool) -> Model:
    """Counters at zero; with ``stationary``, one for all rows of a pool of the layout."""
    pools = layout.counter_row if stationary else layout.stands_for
    return Model(
        pairs=np.zeros(layout.n_rows, dtype=np.int64),
        triples=np.zeros(layout.n_entries, dtype=np.int64),
        loss_sum=np.zeros(layout.n_rows),
        pooled=pools is not None,
        counter=(np.arange(layout.n_rows) if pools is None else pools).astype(np.uint32),
    )
