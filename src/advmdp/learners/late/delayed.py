"""UOB-REPS and UOB-FTRL for feedback that comes late."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.kernels.accounting.ledger import Ledger
from advmdp.kernels.learners import interface
from advmdp.kernels.learners.late_feedback import LateEpisode
from advmdp.kernels.learners.mirror.late_feedback import begin_late_step
from advmdp.kernels.learners.mirror.mirror_descent import bound_visits
from advmdp.layout import Floats, Layout
from advmdp.learners.episode_record import EpisodeRecord
from advmdp.learners.feedback import FlatEpisode
from advmdp.learners.ftrl.unknown import UOBFTRL
from advmdp.learners.late.late_feedback import LateFeedback, checked_reading
from advmdp.learners.mirror.hints import HintChoice, is_function
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.mirror.uob_reps import UOBREPS
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    uob_reps_rate,
)


class LateMirrorDescent(LateFeedback, MirrorDescent):
    """Late feedback of the mirror-descent family: one step for every arrival.

    Over a known transition, and for leaders, these steps come to the one with the sum of the
    estimates: the multipliers of affine constraints add up.
    """

    def __init__(self, *arguments: Any, hint: HintChoice = None, **named: Any) -> None:
        if is_function(hint):
            raise InvalidInput(
                "a function of the history is not asked between arrivals; give 'last', a whole "
                "number or a table",
                field="hint",
            )
        super().__init__(*arguments, hint=hint, **named)

    def _learn_from_record(
        self, record: EpisodeRecord, episode: FlatEpisode, losses: tuple[Floats, Floats]
    ) -> None:
        """``update(feedback, record)``: the bounds of its own time are those of the record."""
        self._check_record(record)
        episode = self._spread(episode, record.fixed.policy)
        path = (episode.states, episode.path)
        with self._one_thread:
            bound_visits(self._graph, self._state, record.fixed, *path)
            visited = self._state.visited
            bounds = (visited.bound.copy(), visited.occupancy.copy())
            learnt, no_policy = np.array([record.number - 1]), np.zeros((3, 0))
            self._learn_late(LateEpisode(*path, losses[0], *bounds, learnt, *no_policy))

    def _take_arrival(self, late: LateEpisode, ledger: Ledger | None) -> None:
        pending = begin_late_step(self._graph, self._state, self._reading, late)
        if pending and not interface.solve_pending(self._graph, self._state, None):
            self._finish(late.states, late.path)
        else:
            interface.settle_update(self._graph, self._state)
        if ledger is not None:
            self._account_for_path(ledger, late.path)
            self._account_for_step(ledger)


class DelayedUOBREPS(LateMirrorDescent, UOBREPS):
    """UOB-REPS whose feedback comes d_t episodes late; bandit, unknown transition.

    When the trajectory and the losses of episode j come, with u_j the upper occupancy bound of the
    policy and the set that it was played with, and u that of today,

        l^_j(x, a) = l_j(x, a) / (max(u_j(x, a), u(x, a)) + gamma)     on its visited pairs

    and everything else is as in ``UOBREPS``: with no delay it is ``UOBREPS`` to the last bit.
    ``play(..., delays=...)`` delivers the feedback; ``update(feedback, record)`` takes it by hand.

    Parameters
    ----------
    layout, n_episodes, delta, log_scale
        As of ``UOBREPS``.
    eta, gamma
        By default sqrt(L ln(L |X| |A| / delta) / (T |X| |A| + D sqrt(L |X| |A|))) [R], times
        ``eta_scale`` and ``gamma_scale``: the rate of ``UOBREPS`` when there is no delay.
    total_delay
        D, the sum of the delays, as far as it is known beforehand.
    late
        What divides a late loss: "adapted" as above; "own-time" u_j alone; and two controls that
        are not to be used: "today" u alone, which is biased, and "wait", which learns only from
        episodes that were played with today's policy and drops the others.
    hint
        As of ``UOBREPS``, but no function; every arrival makes the next.

    Guarantee [A]: order sqrt(T + D) up to factors of the layout (Jin, Lancewicki, Luo, Mansour,
    Rosenberg 2022); the denominator is from memory [M].  Of an episode whose feedback is lost
    nothing is learnt, and its regret counts: each costs at most L.  Cost of an arrival: as an
    episode of ``UOBREPS``, and L upper occupancy bounds more.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> DelayedUOBREPS(layout, n_episodes=100, total_delay=500).policy()[0]
    array([[0.5, 0.5]])

    Reference: Jin, Lancewicki, Luo, Mansour, Rosenberg, "Near-optimal regret for adversarial MDP
    with delayed bandit feedback", NeurIPS 2022.
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
        total_delay: int = 0,
        late: str = "adapted",
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.late = checked_reading(late)
        self.total_delay = whole_number(total_delay, "total_delay", least=0)
        if self.total_delay:
            rate = delayed_rate(layout, n_episodes, checked_delta(delta), self.total_delay)
            eta, gamma = rate if eta is None else eta, rate if gamma is None else gamma
        scales = (log_scale, eta_scale, gamma_scale)
        super().__init__(layout, n_episodes, delta, eta, gamma, *scales, hint=hint)


class DelayedUOBFTRL(LateMirrorDescent, UOBFTRL):
    """UOB-FTRL whose feedback comes d_t episodes late; bandit, unknown transition.

    The estimates of ``DelayedUOBREPS`` in the objective of ``UOBFTRL``; its age counts arrivals.
    With no delay it is ``UOBFTRL`` to the last bit.  The weights of the regulariser do not know of
    the delays: a smaller ``eta_scale`` is steadier under long ones.

    Parameters
    ----------
    layout, n_episodes, delta, log_barrier, log_scale, bonus_scale, eta_scale, barrier_scale
        As of ``UOBFTRL``.
    late, hint
        As of ``DelayedUOBREPS``.

    Guarantee: missing; the denominator is that of ``DelayedUOBREPS`` [M], its use here a
    reconstruction [R].

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> DelayedUOBFTRL(layout, n_episodes=100).policy()[0]
    array([[0.5, 0.5]])

    Reference: the same as of ``DelayedUOBREPS``, and Jin, Huang, Luo, NeurIPS 2021.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float | None = None,
        log_barrier: float | None = None,
        log_scale: float = 1.0,
        bonus_scale: float = 1.0,
        eta_scale: float = 1.0,
        barrier_scale: float = 1.0,
        late: str = "adapted",
        hint: HintChoice = None,
    ) -> None:
        self.late = checked_reading(late)
        super().__init__(
            layout,
            n_episodes,
            delta,
            log_barrier,
            log_scale,
            bonus_scale,
            eta_scale,
            barrier_scale,
            hint=hint,
        )


def delayed_rate(layout: Layout, n_episodes: int, delta: float, total_delay: int) -> float:
    """The theorem's rate with T |X| |A| + D sqrt(L |X| |A|) in place of T |X| |A| [R]."""
    pairs = layout.n_states * layout.n_actions
    share = total_delay * math.sqrt(layout.n_layers * pairs) / (n_episodes * pairs)
    rate = uob_reps_rate(layout, n_episodes, delta) / math.sqrt(1.0 + share)
    return checked_rate(rate, "total_delay")
