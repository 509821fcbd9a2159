"""Optimistic Q-learning for stochastic losses, with two kinds of bonus."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from advmdp.kernels.learners.q_learning import Alike, QLearningState, Rates
from advmdp.layout import Layout
from advmdp.learners.base import HasHorizon
from advmdp.learners.pair_knowledge import PairKnowledge
from advmdp.learners.stochastic.optimistic import (
    OptimisticLearner,
    checked_stationary,
    first_greedy_policy,
)
from advmdp.learners.tuning import checked_delta, checked_horizon, checked_layout, checked_rate


class _QLearning(OptimisticLearner, HasHorizon):
    """What both bonuses share: parameters, first state, and what can be looked at."""

    def __init__(self, layout: Layout, n_episodes: int, delta: float, stationary: bool) -> None:
        layout = checked_layout(layout)
        self.stationary = checked_stationary(stationary, layout)
        self.n_episodes = n_episodes = checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        steps = layout.n_layers * n_episodes
        self.log_term = math.log(layout.n_states * layout.n_actions * steps / delta)
        state = QLearningState(
            policy=first_greedy_policy(layout),
            rates=self._rates(layout),
            alike=_alike(layout, self.stationary),
            clock=np.zeros(1, dtype=np.int64),
            pairs=np.zeros(layout.n_rows, dtype=np.int64),
            q=np.zeros(layout.n_rows),
            value=np.zeros(layout.n_states),
            drawn=np.zeros(layout.n_rows),
            drawn_squares=np.zeros(layout.n_rows),
            width=np.zeros(layout.n_rows),
        )
        super().__init__(layout, state)

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        state = self._state
        return PairKnowledge(visits=state.pairs.astype(np.float64), lower_value=state.q.copy())

    @abstractmethod
    def _rates(self, layout: Layout) -> Rates:
        """The constants of the bonus."""

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.clock[0])


class QLearningH(_QLearning):
    """Stochastic losses, bandit feedback, unknown transition; Q-learning, Hoeffding bonus (UCB-H).

    At the n-th visit of (x, a), with loss l and next state x',

        Q(x, a) <- (1 - alpha_n) Q(x, a) + alpha_n (l + V(x') - b_n),   alpha_n = (L + 1) / (L + n)
        V(x) = max(0, min_a Q(x, a)),   b_n = c sqrt(L^3 iota / n),   iota = ln(|X| |A| L T / delta)

    in the order of play, so V(x') is the value from before the episode.  Q starts at 0, a lower
    bound of every loss to go, and each episode plays argmin_a Q (ties to the first action).

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T; it enters the logarithm.
    delta
        The guarantee holds with probability 1 - delta.
    c
        The constant of the bonus.  The paper asks for "some absolute constant" and names none; its
        proof goes through with a small one above 1.  In runs of ordinary length 0.01 to 0.1 learns
        much faster, without the proof.

    stationary
        Whether rows of one pool (``Layout.shared_rows``) have the same mean loss too, as where
        nothing changes over time.  A step (x, a, l, x') is then a sample of every row of the pool:
        all of them are updated with l and with the value of x' in their own next layer, and n
        counts the visits of the pool.  By default each row learns from its own visits.

    Guarantee: regret of order sqrt(L^4 |X| |A| T) for losses drawn independently from a fixed
    distribution; none for others.  With ``stationary`` the values are still lower bounds with
    probability 1 - delta: given the past, the x' of all samples of a pool have one distribution,
    iota counts them all, and the induction over layers needs only that V(x') was a lower bound when
    it was used.  Losses of one episode may depend on each other: up to L samples then deviate
    together, by L sqrt(iota / n) in all, which a bonus of sqrt(L^3 iota / n) has room for, with a
    larger c.  The bound of the regret is not proved then: it charges the error of V(x') to the
    visit of x' one step later, where a sample of another layer is followed by that layer's action.
    Cost of an episode: L |A| operations, whatever the layers; L^2 |A| with ``stationary``.

    >>> from advmdp.learners.feedback import Trajectory
    >>> learner = QLearningH(Layout(layer_sizes=(1, 2, 1), n_actions=2), 100, c=0.01)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0], learner.lower_values[0].round(3)
    (array([[0., 1.]]), array([[0.912, 0.   ]]))

    Reference: Jin, Allen-Zhu, Bubeck, Jordan, "Is Q-learning Provably Efficient?", NeurIPS 2018,
    Algorithm 1.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        c: float = 1.0,
        stationary: bool = False,
    ) -> None:
        self.c = checked_rate(c, "c", zero_allowed=True)
        super().__init__(layout, n_episodes, delta, stationary)

    def _rates(self, layout: Layout) -> Rates:
        root = self.c * math.sqrt(layout.n_layers**3 * self.log_term)
        return Rates(False, float(layout.n_layers), root, 0.0, 0.0)


class QLearningB(_QLearning):
    """Stochastic losses, bandit feedback, unknown transition; Q-learning, Bernstein bonus (UCB-B).

    The update is that of ``QLearningH`` with the bonus b_n made of widths beta_n that know W_n, the
    empirical variance of the n values V(x') used at this pair so far:

        beta_n = min( c1 (sqrt((L / n) (W_n + L) iota) + sqrt(L^7 S |A|) iota / n),
                      c2 sqrt(L^3 iota / n) )
        b_n    = (beta_n - (1 - alpha_n) beta_{n-1}) / (2 alpha_n),    beta_0 = 0

    so that half of beta_n is the alpha-weighted sum of the bonuses.  S is the largest layer.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T; it enters iota = ln(|X| |A| L T / delta).
    delta
        The guarantee holds with probability 1 - delta.
    c1, c2
        The constants of the two widths; the paper asks for absolute constants and names none.
        With c1 = c2 the second width is the smaller one for a very long time.
    stationary
        As for ``QLearningH``.

    Guarantee: regret of order sqrt(L^3 |X| |A| T) for large T, for losses drawn independently from
    a fixed distribution; none for others.  With ``stationary`` nothing is proved while the first
    width is the smaller one: that W_n is near the variance of the optimal value rests on the same
    charging as the regret (``QLearningH``).  Cost of an episode: as there.

    >>> from advmdp.learners.feedback import Trajectory
    >>> learner = QLearningB(Layout(layer_sizes=(1, 2, 1), n_actions=2), 100, c1=0.01, c2=0.01)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0], learner.lower_values[0].round(3)
    (array([[0., 1.]]), array([[0.956, 0.   ]]))

    Reference: Jin, Allen-Zhu, Bubeck, Jordan, "Is Q-learning Provably Efficient?", NeurIPS 2018,
    Algorithm 2.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        c1: float = 1.0,
        c2: float = 1.0,
        stationary: bool = False,
    ) -> None:
        self.c1 = checked_rate(c1, "c1", zero_allowed=True)
        self.c2 = checked_rate(c2, "c2", zero_allowed=True)
        super().__init__(layout, n_episodes, delta, stationary)

    def _rates(self, layout: Layout) -> Rates:
        n_layers, log_term = layout.n_layers, self.log_term
        widest = max(layout.layer_sizes)
        return Rates(
            bernstein=True,
            n_layers=float(n_layers),
            root=self.c2 * math.sqrt(n_layers**3 * log_term),
            variance=self.c1**2 * n_layers * log_term,
            inverse=self.c1 * math.sqrt(n_layers**7 * widest * layout.n_actions) * log_term,
        )


def _alike(layout: Layout, stationary: bool) -> Alike:
    """Every row alone; with ``stationary``, the pools of the layout."""
    pool = np.arange(layout.n_rows)
    if stationary and layout.counter_row is not None:
        pool = layout.counter_row
    rows = np.argsort(pool, kind="stable")
    in_order = pool[rows]
    ends = (np.searchsorted(in_order, pool, side) for side in ("left", "right"))
    return Alike(*(part.astype(np.uint32) for part in (rows, *ends)))
