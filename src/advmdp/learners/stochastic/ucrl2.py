"""UCRL2 for layered MDPs with stochastic losses, and its sliding-window version."""

from __future__ import annotations

import numpy as np

from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.kernels.learners.ucrl2 import EPISODES, EPOCH, UCRL2State, Widths, Window
from advmdp.layout import Layout, Table
from advmdp.learners.base import CountsEpisodes, HasEpochs
from advmdp.learners.pair_knowledge import PairKnowledge
from advmdp.learners.stochastic.optimistic import (
    OptimisticLearner,
    checked_stationary,
    first_greedy_policy,
    knowledge_of_model,
)
from advmdp.learners.stochastic.ucbvi import empty_model
from advmdp.learners.tuning import checked_delta, checked_layout, checked_rate
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.first_sets import free_balls
from advmdp.steps.workspace import new_reach

MOST_KEPT = 10**9  # steps of the episodes in a window


class UCRL2(OptimisticLearner, CountsEpisodes, HasEpochs):
    """Stochastic losses, bandit feedback, unknown transition; optimism over confidence sets.

    When an epoch starts, after n episodes, with t = L n + 1 and N the visits so far,

        d_loss(x, a) = sqrt(7 ln(2 |X| |A| t / delta) / (2 max(1, N)))
        d_P(x, a)    = sqrt(14 m ln(2 |A| t / delta) / max(1, N)),   m = number of successors
        Q(x, a)      = max(0, l-(x, a) - d_loss) + min { <p, V> : |p - P^(. | x, a)|_1 <= d_P }

    backwards with V = min_a Q, which is exact in a layered MDP: there is no extended value
    iteration to converge.  The greedy policy (ties to the first action) is played until, at the
    end of an episode, some pair has had max(1, N) visits within the epoch.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    delta
        The guarantee holds with probability 1 - delta, at all times: there is no horizon.
    loss_scale, transition_scale
        Multiply the logarithms in d_loss and d_P.  With 1, the theory's value, a pair with ten
        successors is as good as unknown for its first five hundred visits; 0.01 to 0.1 learn much
        faster, without the proof.
    stationary
        Whether rows that share their counts (``Layout.shared_rows``) have the same mean loss too,
        as where nothing changes over time.  N, the losses and the visits within an epoch are then
        those of all of them, which is how the paper counts.  The guarantee then needs losses that
        are independent from step to step too, as in the paper: L copies of one coin are one sample,
        and count as L.  By default each row counts for itself.

    Guarantee: regret of order L |X| sqrt(|A| T), up to logarithms, for losses drawn independently
    from a fixed distribution; none for others.  Cost: one pass over the triples for each epoch.

    >>> from advmdp.learners.feedback import Trajectory
    >>> learner = UCRL2(Layout(layer_sizes=(1, 2, 1), n_actions=2), loss_scale=0.001)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0], learner.lower_values[0].round(3)
    (array([[0., 1.]]), array([[0.853, 0.   ]]))

    Reference: Jaksch, Ortner, Auer, "Near-optimal Regret Bounds for Reinforcement Learning", JMLR
    11, 2010.  Two departures: m stands where the paper has the number of all states, and epochs
    end with an episode.
    """

    def __init__(
        self,
        layout: Layout,
        delta: float = 0.1,
        loss_scale: float = 1.0,
        transition_scale: float = 1.0,
        stationary: bool = False,
    ) -> None:
        layout = checked_layout(layout)
        self.stationary = checked_stationary(stationary, layout)
        self.delta = delta = checked_delta(delta)
        self.loss_scale = checked_rate(loss_scale, "loss_scale", zero_allowed=True)
        self.transition_scale = checked_rate(
            transition_scale, "transition_scale", zero_allowed=True
        )
        state = UCRL2State(
            policy=first_greedy_policy(layout),
            widths=Widths(
                loss_scale=self.loss_scale,
                transition_scale=self.transition_scale,
                loss_pairs=2.0 * layout.n_states * layout.n_actions / delta,
                transition_pairs=2.0 * layout.n_actions / delta,
            ),
            model=empty_model(layout, self.stationary),
            opened=np.zeros(layout.n_rows, dtype=np.int64),
            within=np.zeros(layout.n_rows, dtype=np.int64),
            clock=np.array([1, 0], dtype=np.int64),
            window=_ring(layout, self._window()),
            rows=free_balls(layout),
            costs=np.zeros(layout.n_rows),
            reach=new_reach(layout),
            q=np.zeros(layout.n_rows),
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, state)

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        known = knowledge_of_model(self.layout, self._state.model, self._state.q)
        return known._replace(confidence=ConfidenceSet.of_rows(self.layout, self._state.rows))

    def _window(self) -> int:
        """The number of episodes that count; 0 for all."""
        return 0

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.clock[EPISODES])

    @property
    def epoch(self) -> int:
        """The epoch of the coming episode: 1, 2, ..."""
        return int(self._state.clock[EPOCH])


class SlidingWindowUCRL2(UCRL2):
    """Drifting losses, bandit feedback, unknown transition; UCRL2 on the last W episodes only.

    N, l- and P^ are taken over the last W episodes at the start of each epoch; an epoch also ends
    whenever the number of episodes is a multiple of W.  All else is ``UCRL2``, and while no more
    than W - 1 episodes have been played the two are the same.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    window
        W, in episodes.  Short windows follow changes quickly and estimate badly; of the order of
        (T / variation)^(2/3) balances the two.
    delta, loss_scale, transition_scale, stationary
        As for ``UCRL2``.

    Guarantee: sublinear *dynamic* regret (against the best policy of every episode) when the total
    variation of losses and transitions is known and small; it is not the regret of ``play``, which
    has one fixed comparator.  Cost: as ``UCRL2``, with more epochs.

    >>> from advmdp.learners.feedback import Trajectory
    >>> learner = SlidingWindowUCRL2(Layout(layer_sizes=(1, 1), n_actions=1), window=2)
    >>> for loss in (1.0, 0.5, 0.0):
    ...     learner.update(Trajectory(states=[0, 0], actions=[0], losses=[loss]))
    >>> learner.mean_losses[0]  # of the last two
    array([[0.25]])

    Reference: Cheung, Simchi-Levi, Zhu, "Reinforcement Learning for Non-Stationary Markov Decision
    Processes: The Blessing of (More) Optimism", ICML 2020.  A reconstruction from memory of its
    sliding window; the paper's widening of the confidence set is left out, because it guards
    against infinite diameters and an episode has at most L steps.
    """

    def __init__(
        self,
        layout: Layout,
        window: int = 1000,
        delta: float = 0.1,
        loss_scale: float = 1.0,
        transition_scale: float = 1.0,
        stationary: bool = False,
    ) -> None:
        self.window = whole_number(window, "window")
        if self.window * checked_layout(layout).n_layers > MOST_KEPT:
            raise InvalidInput(f"{window} episodes are too many to keep; use fewer", field="window")
        super().__init__(layout, delta, loss_scale, transition_scale, stationary)

    def _window(self) -> int:
        return self.window

    @property
    def mean_losses(self) -> Table:
        """The average loss of each pair over the window; 0 where it was not visited."""
        model = self._state.model
        return self.layout.pairs((model.loss_sum / np.maximum(model.pairs, 1))[model.counter])


def _ring(layout: Layout, size: int) -> Window:
    shape = (size, layout.n_layers)
    return Window(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape))
