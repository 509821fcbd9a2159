"""OPPO and APO-MVP: Hedge in every state on the Q-values of an optimistic empirical model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.kernels.learners.policies.empirical_policy import (
    EmpiricalPolicyState,
    Estimate,
    adopt_model,
)
from advmdp.kernels.learners.policies.weights import forget_scores
from advmdp.kernels.model.visits import CHANGED, EPISODES, EPOCH, Visits
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import HasEpochs, HasEpochStarts, HasHorizon
from advmdp.learners.common_counts import CommonCounts, number_epoch, take_counts
from advmdp.learners.compiled import FullInformationLearner
from advmdp.learners.policy_optimisation.bandit import counted, refuse_after_the_last
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    scaled_rate,
    width_log_term,
)
from advmdp.steps.first_sets import no_visits
from advmdp.steps.policy_workspace import first_estimate


class _EmpiricalPolicy(CommonCounts, FullInformationLearner, HasHorizon):
    """What both learners share."""

    _state: EmpiricalPolicyState

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        *,
        rate: Floats,
        anytime: bool,
        by_epochs: bool,
        estimate: Estimate,
    ) -> None:
        self.n_episodes = n_episodes
        state = EmpiricalPolicyState(
            policy=np.full(layout.n_rows, 1.0 / layout.n_actions),
            score=np.zeros(layout.n_rows),
            rate=rate,
            anytime=anytime,
            by_epochs=by_epochs,
            estimate=estimate,
            visits=no_visits(layout, n_episodes),
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, state)

    def update(self, feedback: Any) -> None:
        """Learn from one episode played with ``policy()``."""
        refuse_after_the_last(self.episodes, self.n_episodes)
        super().update(feedback)

    def _adopt(self, earlier: EmpiricalPolicyState) -> None:
        """The estimate of the earlier counts; the policy begins anew."""
        adopt_model(self._graph, self._state, earlier.visits)

    def _count_on(self, counted: Visits) -> None:
        """The estimate of all visits: at once, or where epochs rule, when some count has doubled.

        With such an epoch the policy begins anew, as after an own episode.
        """
        state = self._state
        with self._one_thread:
            opens = take_counts(state.visits, counted, state.estimate.status)
            if opens or not state.by_epochs:
                state.visits.marked[:] = 0
                state.visits.clock[CHANGED] = 0
                adopt_model(self._graph, state, counted)
            if opens and state.by_epochs:
                forget_scores(self._graph, state.policy, state.score)
                number_epoch(state.visits)

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.visits.clock[EPISODES])

    @property
    def visits(self) -> Table:
        """N(x, a), a pair table; of all rows that share, where some do."""
        return counted(self.layout, self._state.visits)


class OPPO(_EmpiricalPolicy):
    """Adversarial losses, full information, unknown transition; optimistic proximal policies.

    Tabular form.  After episode t, with N and M the visits *before* it and m(x, a) the number of
    successors of a pair,

        P^(x' | x, a)    = M(x, a, x') / (N(x, a) + 1)
        Q_t(x, a)        = max(0, l_t(x, a) + <P^(. | x, a), V_t> - beta(x, a) / sqrt(N(x, a) + 1))
        V_t(x)           = sum_a pi_t(a | x) Q_t(x, a),   V_t(x_L) = 0
        pi_{t+1}(a | x)  proportional to  pi_t(a | x) exp(-eta Q_t(x, a))

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T.
    delta
        Confidence parameter of the bonus.
    eta
        Learning rate; by default sqrt(2 ln|A| / T) / L [M], times ``eta_scale``.
    bonus_scale
        Multiplies beta(x, a) = L sqrt(m(x, a) ln(T |X| |A| / delta)) [R]; 0 for none.  The theory's
        bonus is larger than all losses for the first hundreds of visits of a pair.

    Rows that the layout knows, and those with one successor, have their transition and no bonus.
    With all rows known it is ``MDPE`` with one rate for all layers.

    Guarantee: regret of order sqrt(T) with high probability; the reference has sqrt(d^2 H^3 T) for
    linear mixtures of dimension d [A].  Cost of an episode: one pass over the triples.

    >>> from advmdp.learners.feedback import FullInformation
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = OPPO(layout, n_episodes=100, bonus_scale=0.01)
    >>> losses = [np.array([[1.0, 0.0]]), np.zeros((2, 2))]
    >>> learner.update(FullInformation(states=[0, 1, 0], actions=[1, 0], losses=losses))
    >>> learner.policy()[0].round(4)
    array([[0.4865, 0.5135]])

    Reference: Cai, Yang, Jin, Wang, "Provably Efficient Exploration in Policy Optimization", ICML
    2020.  The tabular form is reconstructed [R].
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        eta: float | None = None,
        eta_scale: float = 1.0,
        bonus_scale: float = 1.0,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        theory = math.sqrt(2.0 * _log_actions(layout) / n_episodes) / layout.n_layers
        self.eta = scaled_rate(eta, theory, eta_scale, "eta")
        scale = layout.n_layers * checked_rate(bonus_scale, "bonus_scale", zero_allowed=True)
        width = scale * np.sqrt(layout.row_sizes() * width_log_term(layout, n_episodes, delta))
        super().__init__(
            layout,
            n_episodes,
            rate=np.full(layout.n_layers, self.eta),
            anytime=False,
            by_epochs=False,
            estimate=first_estimate(layout, 1.0, width),
        )


class APOMVP(_EmpiricalPolicy, HasEpochs, HasEpochStarts):
    """Adversarial losses, full information, unknown transition; the best known order in |X|.

    Dynamic programming on the empirical transition of the epoch, and an online linear learner in
    every state, fed with estimated advantages.  With N_e and M_e the visits when epoch e began,

        P_e(x' | x, a)   = M_e(x, a, x') / max(1, N_e(x, a))
        Q_t(x, a)        = max(0, l_t(x, a) + <P_e(. | x, a), V_t> - b_e(x, a))      x in layer k
        b_e(x, a)        = (L - k - 1) sqrt(ln(T |X| |A| / delta) / (2 max(1, N_e(x, a))))
        V_t(x)           = sum_a pi_t(a | x) Q_t(x, a),   V_t(x_L) = 0
        pi_{t+1}(a | x)  proportional to  exp(-eta_s sum over the epoch of (Q - V)(x, a))
        eta_s            = sqrt(8 ln|A| / s) / (L - k)    in the s-th episode of the epoch

    A new epoch opens when the visits of some pair have doubled, and the learners of all states
    start again.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T, which enters the bonus.
    delta
        Confidence parameter of the bonus.
    eta
        A fixed learning rate eta / (L - k) for all episodes; by default eta_s above [R: any online
        linear learner will do].
    eta_scale
        Multiplies eta or eta_s.
    bonus_scale
        Multiplies b_e [R]; 0 for none.

    Rows that the layout knows, and those with one successor, have their transition and no bonus.
    With all rows known and the ``eta`` of ``MDPE`` it is MDP-E.

    Guarantee: O~(L^(7/2) sqrt(|X| |A| T)) against losses fixed in advance, without the further
    sqrt|X| of methods with occupancy measures [A].  Cost of an episode: one pass over the triples.

    >>> from advmdp.learners.feedback import FullInformation
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = APOMVP(layout, n_episodes=100, bonus_scale=0.01)
    >>> losses = [np.array([[1.0, 0.0]]), np.zeros((2, 2))]
    >>> episode = FullInformation(states=[0, 1, 0], actions=[1, 0], losses=losses)
    >>> for _ in range(3):
    ...     learner.update(episode)
    >>> learner.epoch, learner.policy()[0].round(4)  # epochs opened with visits 1 and 2
    (3, array([[0.3068, 0.6932]]))

    Reference: Tiapkin, Chzhen, Stoltz, "Narrowing the Gap between Adversarial and Stochastic MDPs
    via Policy Optimization", AISTATS 2025.  Structure from its abstract [A]; epochs, bonus and
    rates are reconstructed [R].
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        eta: float | None = None,
        eta_scale: float = 1.0,
        bonus_scale: float = 1.0,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        self.eta = scaled_rate(eta, math.sqrt(8.0 * _log_actions(layout)), eta_scale, "eta")
        to_come = np.arange(layout.n_layers, 0, -1)
        scale = checked_rate(bonus_scale, "bonus_scale", zero_allowed=True)
        scale *= math.sqrt(width_log_term(layout, n_episodes, delta) / 2.0)
        rows = layout.n_actions * np.array(layout.layer_sizes[:-1])
        super().__init__(
            layout,
            n_episodes,
            rate=self.eta / to_come,
            anytime=eta is None,
            by_epochs=True,
            estimate=first_estimate(layout, 0.0, np.repeat(scale * (to_come - 1.0), rows)),
        )

    @property
    def epoch(self) -> int:
        """The epoch of the coming episode: 1, 2, ..."""
        return int(self._state.visits.clock[EPOCH])

    @property
    def epoch_starts(self) -> NDArray[np.int64]:
        """For every epoch, the number of episodes before it."""
        return self._state.visits.starts[: self.epoch].copy()


def _log_actions(layout: Layout) -> float:
    """ln|A|, and ln 2 where there is nothing to choose: rates are positive."""
    return math.log(max(2, layout.n_actions))
