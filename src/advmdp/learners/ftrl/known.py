"""Best of both worlds with a known transition: 1/2-Tsallis and log-barrier regularisers."""

from __future__ import annotations

import math
from typing import Any

from advmdp.checks.numbers import unit_number
from advmdp.errors import InvalidInput
from advmdp.kernels.learners.mirror.mirror_descent import OWN
from advmdp.layout import Floats, Layout
from advmdp.learners.episode_record import EpisodeRecord
from advmdp.learners.feedback import FlatEpisode
from advmdp.learners.ftrl.shared import FollowTheRegularisedLeader, box_of_one
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.tuning import checked_horizon, checked_layout, checked_rate


class TsallisFTRL(FollowTheRegularisedLeader):
    """Any losses, bandit feedback, known transition; best of both worlds.

    Follows the leader with a 1/2-Tsallis entropy that grows like sqrt(t) and a log barrier,

        q_t    = argmin over q in Omega(P) of
                 <q, sum of l^_s, s < t> - sqrt(t) / eta sum sqrt(q(x, a)) - b sum ln q(x, a)
        l^_t(x, a) = l_t(x, a) / q_t(x, a)                on the visited pairs, else 0

    Parameters
    ----------
    layout, transitions
        The MDP; the transition is handed over openly [P].
    n_episodes
        The horizon T; nothing is tuned for it.
    log_barrier
        The weight b; by default 128 L^3 [R: it meets the stability condition of the proof; the text
        that was read does not print it], times ``barrier_scale``.  Much smaller weights (0.1) learn
        faster without the proof.
    eta_scale
        The eta above; 1 in the paper [P].
    hint
        What the coming losses may be, as in ``UOBREPS``; q_t minimises it too.

    Guarantee [P]: E[R_T] = O(sqrt(L |X| |A| T)) against an adversary, and O(U + sqrt(U C)) when
    losses are stochastic with a unique optimal policy and C of total corruption, with
    U = L |X| ln T / gap_min + L^4 sum of ln T / gap(x, a).  Cost of an episode: three or four
    passes over the triples, one factorisation of a block-tridiagonal system.

    >>> import numpy as np
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> P = [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))]
    >>> TsallisFTRL(layout, P, n_episodes=100).policy()[0]
    array([[0.5, 0.5]])

    Reference: Jin, Huang, Luo, "The best of both worlds: stochastic and adversarial episodic MDPs
    with unknown transition", NeurIPS 2021, Section 3.
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_episodes: int,
        log_barrier: float | None = None,
        eta_scale: float = 1.0,
        barrier_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        theory = 128.0 * layout.n_layers**3
        barrier = checked_rate(
            theory if log_barrier is None else log_barrier, "log_barrier", zero_allowed=True
        )
        super().__init__(
            layout,
            n_episodes,
            confidence=box_of_one(layout, transitions),
            estimator=OWN,
            rate=1.0 / checked_rate(eta_scale, "eta_scale"),
            barrier=barrier * checked_rate(barrier_scale, "barrier_scale", zero_allowed=True),
            hint=hint,
        )


class LogBarrierFTRL(FollowTheRegularisedLeader):
    """Any losses, bandit feedback, known transition; regret that follows the data.

    Optimistic follow-the-leader with a log barrier whose weights grow with what has happened,

        q_t     = argmin over q in Omega(P) of
                  <q, m_t + sum of l^_s, s < t> - sum b_t(x, a) ln q(x, a)
        l^_t    = m_t + (l_t - m_t) / q_t                 on the visited pairs, else m_t
        b_{t+1} = b_t + c q_t^2 (Q - V)^2 / b_t           Q, V of l^_t - m_t under P and pi_t
        m_{t+1} = m_t + prediction_rate (l_t - m_t)       on the visited pairs, else m_t

    Parameters
    ----------
    layout, transitions
        The MDP; the transition is handed over openly [P].
    n_episodes
        The horizon T, which enters c.
    prediction_rate
        How fast predictions m follow the losses: 0 (the default) for none, 1 for the last loss
        seen, in between for a moving average.  They start at 1/2, without them m = 0.
    log_barrier
        b_1; by default 2 L [R: |q (Q - V)| <= L, and the step is stable up to b / 2], times
        ``barrier_scale``.
    adapt_scale
        Multiplies c = 1 / (2 ln T) [R: the form of weights of Jin et al., 2023]; 0 for constant
        weights.
    hint
        m_t from elsewhere, as in ``UOBREPS``, in place of the predictions.

    Guarantee [A, for the algorithm of the reference, of which the abstract was read]: bounds of
    first order, second order and path length, and best of both worlds.  The form above is a
    reconstruction [R].  Cost of an episode: as ``TsallisFTRL``.

    >>> import numpy as np
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> P = [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))]
    >>> LogBarrierFTRL(layout, P, n_episodes=100, prediction_rate=0.1).policy()[0]
    array([[0.5, 0.5]])

    Reference: Li, Tsuchiya, Yamanishi, data-dependent best of both worlds for MDPs, ICML 2026.
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_episodes: int,
        log_barrier: float | None = None,
        prediction_rate: float = 0.0,
        barrier_scale: float = 1.0,
        adapt_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        barrier = checked_rate(
            2.0 * layout.n_layers if log_barrier is None else log_barrier, "log_barrier"
        )
        learn = unit_number(prediction_rate, "prediction_rate")
        if hint is not None and learn > 0.0:
            raise InvalidInput("hint, prediction_rate: give one of them, not both")
        adapt = checked_rate(adapt_scale, "adapt_scale", zero_allowed=True)
        super().__init__(
            layout,
            n_episodes,
            confidence=box_of_one(layout, transitions),
            estimator=OWN,
            barrier=barrier * checked_rate(barrier_scale, "barrier_scale"),
            adapt=adapt / (2.0 * math.log(max(n_episodes, 3))),
            learn=learn,
            first_prediction=0.5 if learn > 0.0 else 0.0,
            hint=hint,
        )

    def _learn_from_record(
        self, record: EpisodeRecord, episode: FlatEpisode, losses: tuple[Floats, Floats]
    ) -> None:
        if self._settings.learn > 0.0:
            raise InvalidInput(
                "update: predictions need feedback in the order of the episodes; "
                "make the learner with prediction_rate=0"
            )
        super()._learn_from_record(record, episode, losses)
