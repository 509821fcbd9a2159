"""Optimistic mirror descent on policies, from bandit feedback."""

from __future__ import annotations

import numpy as np

from advmdp.kernels.learners.policies.bandit_state import Weighed
from advmdp.kernels.learners.policies.pomd import POMDState
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


class POMD(BanditPolicyOptimisation):
    """Adversarial losses, bandit feedback, unknown transition; optimistic policy optimisation.

    Mirror descent in every state on the Q-values of estimated losses in the most favourable
    transition of the confidence set P_i.  After episode t, with u_t the upper occupancy bound,

        c_t(x, a)        = l_t(x, a) 1{visited} / (u_t(x, a) + gamma)
        Q_t(x, a)        = c_t(x, a) + min over p in P_i(x, a) of <p, V_t>
        V_t(x)           = sum_a pi_t(a | x) Q_t(x, a),   V_t(x_L) = 0
        pi_{t+1}(a | x)  proportional to  pi_t(a | x) exp(-eta Q_t(x, a))

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T.
    delta
        Confidence parameter of the widths, which are those of ``UOBREPS``.
    eta
        Learning rate; by default T^(-2/3) / L [R], times ``eta_scale``.
    gamma
        Implicit exploration; by default T^(-1/3) / sqrt(|A|) [R], times ``gamma_scale``.
    log_scale
        Multiplies ln(T |X| |A| / delta) in the widths.

    The defaults balance L^2 / eta, eta T L^3 / gamma and gamma T |X| |A| L into the published
    order; ``eta_scale=30, gamma_scale=0.003, log_scale=0.002`` learn faster, without the proof.

    Guarantee: R_T = O~(L^2 |X| sqrt(|A|) T^(2/3)) with high probability, and of order sqrt(T) with
    stochastic losses for a version with a bonus in place of the bound [A].  Cost of an episode: one
    pass over the triples, and one over the layers before it for each visited state.

    >>> from advmdp.learners.feedback import Trajectory
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = POMD(layout, n_episodes=100, eta_scale=10.0)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0].round(4)
    array([[0.412, 0.588]])

    Reference: Shani, Efroni, Rosenberg, Mannor, "Optimistic Policy Optimization with Bandit
    Feedback", ICML 2020, the algorithm for adversarial losses.  The update is from memory [M]; the
    rates are reconstructed so as to give the bound [R].
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
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        n_layers = layout.n_layers
        self.eta = scaled_rate(eta, n_episodes ** (-2.0 / 3.0) / n_layers, eta_scale, "eta")
        theory = n_episodes ** (-1.0 / 3.0) / layout.n_actions**0.5
        self.gamma = scaled_rate(gamma, theory, gamma_scale, "gamma")
        log_term = width_log_term(layout, n_episodes, delta) * checked_rate(log_scale, "log_scale")
        state = POMDState(
            policy=np.full(layout.n_rows, 1.0 / layout.n_actions),
            score=np.zeros(layout.n_rows),
            eta=self.eta,
            gamma=self.gamma,
            belief=first_belief(layout, n_episodes, log_term),
            seen=Weighed(np.zeros(n_layers), np.zeros(n_layers)),
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, n_episodes, state)
