"""Policy optimisation with dilated exploration bonuses."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from advmdp.kernels.learners.policies.bandit_state import Weighed
from advmdp.kernels.learners.policies.dilated_bonus import TO_GO, DilatedSettings, DilatedState
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.layout import Layout
from advmdp.learners.policy_optimisation.bandit import BanditPolicyOptimisation
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    scaled_rate,
    width_log_term,
)
from advmdp.steps.policy_workspace import first_belief


class DilatedBonus(BanditPolicyOptimisation):
    """Adversarial losses, bandit feedback, unknown transition; policy optimisation, sqrt(T) regret.

    Every state weighs its actions by estimated Q-values less a bonus that leads to states about
    which little is known.  With u and l the largest and least occupancy of pi_t over the confidence
    set of the epoch, and L_{t,k} the losses of the trajectory from layer k on,

        Q^_t(x, a) = L_{t,k} 1{visited} / (u_t(x, a) + gamma)                       x in layer k
        b_t(x)     = sum_a pi_t(a | x) (3 gamma L + L (u_t - l_t)(x, a)) / (u_t(x, a) + gamma)
        B_t(x, a)  = b_t(x) + (1 + 1/L) max over p in the set of <p, sum_a' pi_t(a' | .) B_t(., a')>
        pi_{t+1}(a | x)  proportional to  exp(-eta sum over s <= t of (Q^_s - B_s)(x, a))

    The bonus of a state is what its estimates cost the analysis; dilated by 1 + 1/L in every layer
    it pays for the change of policy as well, and makes a local search explore globally.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T.
    delta
        Confidence parameter of the widths, which are those of ``UOBREPS``.
    eta
        Learning rate; by default min(1 / (24 L^3), 1 / sqrt(|X| |A| L T)) [M], times ``eta_scale``.
    gamma
        Implicit exploration; by default 2 eta L [M], times ``gamma_scale``.
    log_scale
        Multiplies ln(T |X| |A| / delta) in the widths.
    bonus_scale
        Multiplies b and with it B [M: 1]; 0 for none, which costs less: u of the visited pairs is
        then all that is needed.
    width_scale
        Multiplies the part L (u - l) of the bonus [M: 1].
    dilation
        What B grows by from layer to layer beyond 1; by default 1 / L [M].

    With the theory's constants eta Q^ <= 1/2 and eta B <= 1 / (2 L), and the bonus dominates in all
    runs of ordinary length; ``eta_scale=10, gamma_scale=0.001, bonus_scale=0.1, log_scale=0.002``
    learn faster, without the proof.

    Guarantee: R_T = O~(L^2 |X| sqrt(|A| T) + L^4) with high probability (order of T [A], the rest
    [M]).  Cost of an episode: two passes over the triples for each state, one of them over the
    layers before it; no convex programme.

    >>> from advmdp.learners.feedback import Trajectory
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = DilatedBonus(layout, n_episodes=100, eta_scale=10.0)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0].round(4)
    array([[0.4816, 0.5184]])

    Reference: Luo, Wei, Lee, "Policy Optimization in Adversarial MDPs: Improved Exploration via
    Dilated Bonuses", NeurIPS 2021.  The constants are from memory; they satisfy the inequalities
    that the analysis needs.
    """

    _observed: ClassVar[int] = TO_GO
    """What is divided by u + gamma: the losses from a layer on, or the sum of them all."""

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
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        n_layers = layout.n_layers
        self.eta = scaled_rate(eta, dilated_rate(layout, n_episodes), eta_scale, "eta")
        self.gamma = scaled_rate(gamma, 2.0 * self.eta * n_layers, gamma_scale, "gamma")
        grows_by = checked_rate(
            1.0 / n_layers if dilation is None else dilation, "dilation", zero_allowed=True
        )
        settings = DilatedSettings(
            eta=self.eta,
            gamma=self.gamma,
            bonus=checked_rate(bonus_scale, "bonus_scale", zero_allowed=True),
            exploring=3.0 * self.gamma * n_layers,
            doubting=n_layers * checked_rate(width_scale, "width_scale", zero_allowed=True),
            dilation=1.0 + grows_by,
            observed=self._observed,
        )
        log_term = width_log_term(layout, n_episodes, delta) * checked_rate(log_scale, "log_scale")
        state = DilatedState(
            policy=np.full(layout.n_rows, 1.0 / layout.n_actions),
            score=np.zeros(layout.n_rows),
            settings=settings,
            belief=first_belief(layout, n_episodes, log_term, self._first_set(layout)),
            seen=Weighed(np.zeros(n_layers), np.zeros(n_layers)),
            arrived=np.zeros(2, dtype=np.int64),
            upper=np.zeros(layout.n_states),
            lower=np.zeros(layout.n_states),
            local=np.zeros(layout.n_states),
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, n_episodes, state)

    def _first_set(self, layout: Layout) -> BoxRows | None:
        """The set of the first episode, where it is not the usual one."""
        return None


def dilated_rate(layout: Layout, n_episodes: int, total_delay: int = 0) -> float:
    """min(1 / (24 L^3), 1 / sqrt(|X| |A| L T + L^2 D)); without a delay it is the theory's [M].

    Between playing and learning a policy moves by eta L in each arrival, which costs L layers of
    losses to go up to L, times the delay: the part of D [R].
    """
    n_layers, pairs = layout.n_layers, layout.n_states * layout.n_actions
    spread = pairs * n_layers * n_episodes + n_layers**2 * total_delay
    return min(1.0 / (24.0 * n_layers**3), 1.0 / math.sqrt(spread))
