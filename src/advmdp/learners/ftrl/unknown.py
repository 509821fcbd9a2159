"""Best of both worlds with an unknown transition: empirical with a bonus, and optimistic."""

from __future__ import annotations

import math

from advmdp.kernels.ftrl.model import EMPIRICAL, LOWER
from advmdp.kernels.learners.mirror.mirror_descent import UPPER
from advmdp.layout import Layout
from advmdp.learners.ftrl.shared import FollowTheRegularisedLeader
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    width_log_term,
)
from advmdp.steps.confidence import AnyTransition


class UOBFTRL(FollowTheRegularisedLeader):
    """Any losses, bandit feedback, unknown transition; best of both worlds.

    Follows the leader over the measures of the *empirical* transition P-bar_i of the epoch, and
    restarts with every epoch; optimism is in the losses.  With t_i the first episode of epoch i,

        q_t = argmin over q in Omega(P-bar_i) of  <q, sum of l^_s, t_i <= s < t>
              - sqrt(t - t_i + 1) / eta sum sqrt(q(x, a)) - b sum ln q(x, a)
        l^_t(x, a) = l_t(x, a) 1{visited} / u_t(x, a) - L B_i(x, a)          for every pair
        B_i(x, a)  = min(1, sum over x' of min(1, width_i(x' | x, a)))

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T, which enters the widths.
    delta
        Confidence parameter of the widths; by default T^-3 [P].
    log_barrier
        The weight b; by default 128 L^4 [P], times ``barrier_scale``.  It keeps the policy close to
        uniform for millions of episodes; 0.1 learns faster without the proof.
    log_scale
        Multiplies ln(T |X| |A| / delta) in the widths, as in ``UOBREPS``.
    bonus_scale
        Multiplies the bonus L B_i [P].
    eta_scale
        The eta above; 1 in the paper [P].
    hint
        What the coming losses may be, as in ``UOBREPS``; q_t minimises it too.

    Widths are those of ``UOBREPS``, with N - 1 where the paper divides by N; the bonus of a pair
    with a single successor is zero.

    Guarantee [P]: E[R_T] = O~((L + sqrt|A|) |X| sqrt(|A| T)), and O(U + sqrt(U C)) with U of order
    ln^2 T when losses are stochastic with a unique optimal policy.  Cost of an episode: one
    COMP-UOB for each visited pair, and as ``TsallisFTRL``.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> UOBFTRL(layout, n_episodes=100).policy()[0]
    array([[0.5, 0.5]])

    Reference: Jin, Huang, Luo, NeurIPS 2021, Algorithm 1 (bandit feedback).
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
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        barrier = checked_rate(
            128.0 * layout.n_layers**4 if log_barrier is None else log_barrier,
            "log_barrier",
            zero_allowed=True,
        )
        super().__init__(
            layout,
            n_episodes,
            confidence=AnyTransition(layout),
            estimator=UPPER,
            rate=1.0 / checked_rate(eta_scale, "eta_scale"),
            barrier=barrier * checked_rate(barrier_scale, "barrier_scale", zero_allowed=True),
            bonus=layout.n_layers * checked_rate(bonus_scale, "bonus_scale", zero_allowed=True),
            log_term=epoch_log_term(layout, n_episodes, delta)
            * checked_rate(log_scale, "log_scale"),
            model=EMPIRICAL,
            hint=hint,
        )


class OptimisticFTRL(FollowTheRegularisedLeader):
    """Any losses, bandit feedback, unknown transition that may be corrupted; both worlds.

    Follows the leader over the measures of the *optimistic transition* of the epoch: the lower
    bounds of the confidence set, P~_i(x' | x, a) = max(0, P-bar_i - width_i), the missing mass
    ending the episode without further loss.  No bonus is needed: the measures of P~ are below
    those of every transition of the set, pair by pair.  Restarts with every epoch,

        q_t = argmin over q in Omega(P~_i) of  <q, sum of l^_s, t_i <= s < t>
              - root_scale sqrt(t - t_i + 1) sum sqrt(q(x, a)) - sum b_t(x, a) ln q(x, a)
        l^_t(x, a) = l_t(x, a) / u_t(x, a)                   on the visited pairs, else 0
        b_{t+1} = b_t + c q_t^2 (Q - V)^2 / b_t              Q, V of l^_t under P~ and pi_t

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T, which enters the widths and c.
    delta
        Confidence parameter of the widths; by default T^-3 [M].
    log_barrier
        b after a restart; by default 256 L^2 |X| [M], times ``barrier_scale``.
    adapt_scale
        Multiplies c = 1 / (2 ln(T |X| |A| / delta)) [M]; 0 for constant weights.
    root_scale
        Weight of a 1/2-Tsallis part; 0 in the paper [M].  With 1, ``log_barrier=0.1``,
        ``adapt_scale=0`` and ``log_scale=0.01`` it is a mixture of this and ``UOBFTRL`` that learns
        fastest of both [R], without a proof.
    log_scale
        Multiplies ln(T |X| |A| / delta) in the widths, as in ``UOBREPS``.
    hint
        As in ``UOBFTRL``.

    States that P~ does not reach take no part in the step; their policy is uniform, the limit for
    masses that tend to zero.

    Guarantee [A, of the reference's algorithm]: O~(U + sqrt(U C^L) + C^P) with stochastic losses,
    O~(sqrt(T) + C^P) always, C^P the total corruption of transitions.  The construction is from
    memory [M].  Cost of an episode: as ``UOBFTRL``.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> OptimisticFTRL(layout, n_episodes=100).policy()[0]
    array([[0.5, 0.5]])

    Reference: Jin, Liu, Rouyer, Chang, Wei, Luo, "No-regret online reinforcement learning with
    adversarial losses and transitions", NeurIPS 2023.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float | None = None,
        log_barrier: float | None = None,
        log_scale: float = 1.0,
        root_scale: float = 0.0,
        barrier_scale: float = 1.0,
        adapt_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        barrier = checked_rate(
            256.0 * layout.n_layers**2 * layout.n_states if log_barrier is None else log_barrier,
            "log_barrier",
        )
        log_term = epoch_log_term(layout, n_episodes, delta)
        adapt = checked_rate(adapt_scale, "adapt_scale", zero_allowed=True)
        super().__init__(
            layout,
            n_episodes,
            confidence=AnyTransition(layout),
            estimator=UPPER,
            rate=checked_rate(root_scale, "root_scale", zero_allowed=True),
            barrier=barrier * checked_rate(barrier_scale, "barrier_scale"),
            adapt=adapt / (2.0 * log_term),
            log_term=log_term * checked_rate(log_scale, "log_scale"),
            model=LOWER,
            hint=hint,
        )

    @property
    def divides_by_upper_bound(self) -> bool:
        """False for audits, which are about measures of whole episodes; it does divide by u_t."""
        return False


def epoch_log_term(layout: Layout, n_episodes: int, delta: float | None) -> float:
    """ln(T |X| |A| / delta), delta = T^-3 unless one is given."""
    if delta is not None:
        return width_log_term(layout, n_episodes, checked_delta(delta))
    return width_log_term(layout, n_episodes, 1.0) + 3.0 * math.log(n_episodes)
