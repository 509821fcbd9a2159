"""Policy optimisation for feedback that comes late."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.checks.arguments import instance
from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.kernels.accounting.ledger import Ledger
from advmdp.kernels.learners.late_feedback import LateEpisode
from advmdp.kernels.learners.policies.late_feedback import move_policy, take_arrival
from advmdp.kernels.planning.occupancy_bounds import bounds_of_states
from advmdp.kernels.runtime.storage import Lasting
from advmdp.layout import Floats, Layout
from advmdp.learners.base import IssuesRecords
from advmdp.learners.episode_record import EpisodeRecord
from advmdp.learners.late.late_feedback import LateFeedback, checked_reading
from advmdp.learners.policy_optimisation.bandit import refuse_after_the_last
from advmdp.learners.policy_optimisation.dilated_bonus import DilatedBonus, dilated_rate
from advmdp.learners.tuning import checked_horizon, checked_layout, checked_rate


class IssuedPolicy(NamedTuple):
    """What is fixed when a policy is issued: the bonus of a late episode is one of all states."""

    policy: Lasting[Floats]  # (R,) pi_j
    upper: Lasting[Floats]  # (S,) max over the set of q_j(x)
    lower: Lasting[Floats]  # (S,) min over the set of q_j(x)


class DAPO(LateFeedback, DilatedBonus, IssuesRecords):
    """Delay-adapted policy optimisation: late bandit feedback, unknown transition.

    ``DilatedBonus`` whose feedback comes d_t episodes late.  When the losses of episode j come,
    with pi_j, u_j and l_j its policy and bounds when it was played, and pi the policy of today,

        r_j(a | x)  = pi_j(a | x) / max(pi_j(a | x), pi(a | x))
        Q^_j(x, a)  = r_j(a | x) L_{j,k} 1{visited} / (u_j(x, a) + gamma)            x in layer k
        b_j(x)      = sum_a pi r_j (a | x) (3 gamma L + L (u_j - l_j)(x, a)) / (u_j(x, a) + gamma)
        B_j(x, a)   = b_j(x) + (1 + 1/L) max over p in the set of <p, sum_a' pi(a' | .) B_j(., a')>

    and pi moves by the sum of Q^_j - B_j over all that arrived since the last episode, in whatever
    order.  An action that was rare when it was played and is likely now is held back by r_j: its
    estimate is large, and pi, unlike pi_j, would feel all of it.  With no delay it is
    ``DilatedBonus`` to the last bit.  ``play(..., delays=...)`` delivers the feedback;
    ``update(feedback, record)`` takes it by hand.

    Parameters
    ----------
    layout, n_episodes, delta, log_scale, eta_scale, gamma_scale
        As of ``DilatedBonus``.
    bonus_scale, width_scale, dilation
        As of ``DilatedBonus``.
    eta
        By default min(1 / (24 L^3), 1 / sqrt(|X| |A| L T + L^2 D)) [R], times ``eta_scale``: the
        rate of ``DilatedBonus`` when there is no delay.
    gamma
        By default 2 eta L [M], times ``gamma_scale``.
    total_delay
        D, the sum of the delays, as far as it is known beforehand.
    late
        What divides a late loss: "adapted" as above; "own-time" with r_j = 1; and two controls that
        are not to be used: "today" with the policy and the bounds of today, which is biased, and
        "wait", which learns only from episodes that were played with today's policy.

    Guarantee [A]: order sqrt(T + D) up to factors of the layout.  r_j and the first part of b_j are
    from memory [M]; that u_j - l_j is weighed in the same way, and that B_j is dilated with the
    policy and the set of today, are reconstructions [R].  Of an episode whose feedback is lost
    nothing is learnt, and its regret counts: each costs at most L.  Cost of an episode: as of
    ``DilatedBonus``.  The queue holds the policy and the bounds of every episode in flight, |X| |A|
    + 2 |X| numbers.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> DAPO(layout, n_episodes=100, total_delay=500).policy()[0]
    array([[0.5, 0.5]])

    Reference: Lancewicki, Rosenberg, Sotnikov, "Delay-adapted policy optimization and improved
    regret for adversarial MDP with delayed bandit feedback", ICML 2023.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        eta: float | None = None,
        gamma: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        gamma_scale: float = 1.0,
        bonus_scale: float = 1.0,
        width_scale: float = 1.0,
        dilation: float | None = None,
        total_delay: int = 0,
        late: str = "adapted",
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.late = checked_reading(late)
        self.total_delay = whole_number(total_delay, "total_delay", least=0)
        if self.total_delay and eta is None:
            rate = dilated_rate(layout, n_episodes, self.total_delay)
            eta = checked_rate(rate, "total_delay")
        super().__init__(
            layout,
            n_episodes,
            delta,
            eta,
            gamma,
            log_scale,
            eta_scale,
            gamma_scale,
            bonus_scale,
            width_scale,
            dilation,
        )

    # ------------------------------------------------------------------ by hand

    def issue(self) -> EpisodeRecord:
        """The policy with what is fixed when it is handed out, for ``update``."""
        state, belief = self._state, self._belief
        upper, lower = np.zeros((2, self.layout.n_states))
        with self._one_thread:
            policy = state.policy.copy()
            work = (belief.columns, belief.fill, belief.reach)
            bounds_of_states(self._graph, policy, *work, upper, lower)
        fixed = IssuedPolicy(policy, upper, lower)
        return EpisodeRecord(self.episodes + 1, self.policy(), self.layout, fixed)

    def update(self, feedback: Any, record: EpisodeRecord | None = None) -> None:
        """Learn from one episode, played with ``policy()`` or with the policy of a record."""
        if record is None:
            super().update(feedback)
            return
        refuse_after_the_last(self.episodes, self.n_episodes)
        episode, (losses, _) = self._checked(feedback)
        instance(record, EpisodeRecord, "record")
        if record.layout != self.layout or not isinstance(record.fixed, IssuedPolicy):
            raise InvalidInput("update: the record is of another learner; use the one of issue()")
        fixed = record.fixed
        episode = self._spread(episode, fixed.policy)
        bound = fixed.policy[episode.path] * fixed.upper[episode.states[:-1]]
        learnt, no_occupancy = np.array([record.number - 1]), np.zeros_like(bound)
        then = (bound, no_occupancy, learnt, *(part.copy() for part in fixed))
        late = LateEpisode(episode.states, episode.path, losses, *then)
        with self._one_thread:
            self._learn_late(late)
            self._close_arrivals()

    # ------------------------------------------------------------------ for ``play``

    @property
    def keeps_policies(self) -> bool:
        """Whether the queue holds the whole policy of every episode: it does, with its bounds."""
        return True

    def _take_arrival(self, late: LateEpisode, ledger: Ledger | None) -> None:
        take_arrival(self._graph, self._state, self._reading, late)

    def _close_arrivals(self) -> None:
        move_policy(self._graph, self._state)
