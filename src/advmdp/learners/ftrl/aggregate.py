"""Best of both worlds when only the sum of an episode's losses is seen."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from advmdp.kernels.ftrl.model import EMPIRICAL
from advmdp.kernels.learners.mirror.aggregate import SUM_OWN, SUM_UPPER
from advmdp.kernels.learners.mirror.mirror_descent import OWN, UPPER
from advmdp.layout import Layout
from advmdp.learners.ftrl.shared import FollowTheRegularisedLeader, box_of_one
from advmdp.learners.ftrl.unknown import epoch_log_term
from advmdp.learners.mirror.baselines import estimates_of_all_pairs
from advmdp.learners.tuning import checked_horizon, checked_layout, checked_rate
from advmdp.steps.confidence import AnyTransition


class AggregateTsallisFTRL(FollowTheRegularisedLeader):
    """The sum of an episode's losses only (aggregate bandit feedback), known transition.

    ``TsallisFTRL`` on estimates of the advantage, with c_t the sum of the losses divided by L:

        l^_t(x, a) = c_t (1{x, a visited} / q_t(x, a) - 1{x visited} / q_t(x)).

    Parameters
    ----------
    layout, transitions
        The MDP; the transition is handed over openly [P].
    n_episodes
        The horizon T; nothing is tuned for it.
    log_barrier
        The weight b; by default 1024 L [R: that of the unknown transition], times
        ``barrier_scale``.  Much smaller weights (0.1) learn faster without the proof.
    eta_scale
        As of ``TsallisFTRL``.

    Guarantee [P]: E[R_T] = O~(L sqrt(L |X| |A| T)) in losses, logarithmic in T when they are
    stochastic with a unique optimal policy.  With one layer it plays as ``TsallisFTRL``.  Cost of
    an episode: as ``TsallisFTRL``.

    >>> import numpy as np
    >>> from advmdp.learners.feedback import Aggregate
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> P = [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))]
    >>> learner = AggregateTsallisFTRL(layout, P, n_episodes=100, log_barrier=0.1)
    >>> learner.update(Aggregate(states=[0, 1, 0], actions=[0, 1], total=2.0))
    >>> learner.policy()[0].round(2)
    array([[0.12, 0.88]])

    Reference: Ito, Jamieson, Luo, Maiti, Tsuchiya, "Best of both worlds with aggregate bandit
    feedback in episodic MDPs", 2025.
    """

    feedback: ClassVar[Literal["bandit", "full", "aggregate"]] = "aggregate"

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_episodes: int,
        log_barrier: float | None = None,
        eta_scale: float = 1.0,
        barrier_scale: float = 1.0,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        super().__init__(
            layout,
            n_episodes,
            confidence=box_of_one(layout, transitions),
            estimator=OWN,
            rate=1.0 / checked_rate(eta_scale, "eta_scale"),
            barrier=_barrier(layout, log_barrier, barrier_scale),
            baseline=estimates_of_all_pairs(layout, SUM_OWN),
        )


class AggregateUOBFTRL(FollowTheRegularisedLeader):
    """The sum of an episode's losses only (aggregate bandit feedback), unknown transition.

    ``UOBFTRL`` on pessimistic estimates of the advantage: with c_t the sum of the losses divided
    by L, u_t(x) the upper occupancy bound of a state and pi = pi_t(a | x),

        l^_t(x, a) = c_t (1{x, a} - pi 1{x}) / (u_t(x) pi)
                     + (1 - pi) (1{x} / u_t(x) - 1) - B_i(x, a).

    Parameters
    ----------
    layout, n_episodes, delta, log_scale, eta_scale
        As of ``UOBFTRL``.
    log_barrier
        The weight b; by default 1024 L [P], times ``barrier_scale``; 0.1 learns faster without the
        proof.
    bonus_scale
        Multiplies the bonus B_i = min(1, sum of the widths) [P: without a factor L; the paper has 2
        in place of 1, which changes pairs of which almost nothing is known].

    The display of the estimator was lost in the text that was read; this form has the expectation
    and the second moment that the text states [R].

    Guarantee [P]: O~(L^2 |X| sqrt(|A| T) + L |X| |A| sqrt(L T)) in losses up to lower orders, and
    of order ln^2 T when they are stochastic.  Cost of an episode: as ``UOBFTRL``.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> AggregateUOBFTRL(layout, n_episodes=100).policy()[0]
    array([[0.5, 0.5]])

    Reference: Ito, Jamieson, Luo, Maiti, Tsuchiya, "Best of both worlds with aggregate bandit
    feedback in episodic MDPs", 2025.
    """

    feedback: ClassVar[Literal["bandit", "full", "aggregate"]] = "aggregate"

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
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        log_term = epoch_log_term(layout, n_episodes, delta)
        super().__init__(
            layout,
            n_episodes,
            confidence=AnyTransition(layout),
            estimator=UPPER,
            rate=1.0 / checked_rate(eta_scale, "eta_scale"),
            barrier=_barrier(layout, log_barrier, barrier_scale),
            bonus=checked_rate(bonus_scale, "bonus_scale", zero_allowed=True),
            log_term=log_term * checked_rate(log_scale, "log_scale"),
            model=EMPIRICAL,
            baseline=estimates_of_all_pairs(layout, SUM_UPPER),
        )


def _barrier(layout: Layout, log_barrier: float | None, scale: float) -> float:
    """1024 L, or what was given."""
    theory = 1024.0 * layout.n_layers
    barrier = checked_rate(
        theory if log_barrier is None else log_barrier, "log_barrier", zero_allowed=True
    )
    return barrier * checked_rate(scale, "barrier_scale", zero_allowed=True)
