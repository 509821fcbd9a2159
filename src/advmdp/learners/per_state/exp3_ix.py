"""A bandit algorithm in every state: the naive baseline that forgets there is an MDP."""

from __future__ import annotations

import math

import numpy as np

from advmdp.kernels.learners.hedge import Exp3IXState
from advmdp.layout import Layout
from advmdp.learners.base import HasHorizon
from advmdp.learners.compiled import BanditLearner
from advmdp.learners.tuning import checked_horizon, checked_layout, checked_rate


class Exp3IX(BanditLearner, HasHorizon):
    """Bandit feedback, unknown transition; a naive baseline without a guarantee.

    Every state runs its own EXP3-IX over the actions.  When episode t visits x = x_k and plays
    a = a_k there, the bandit of x is told the loss-to-go, scaled to [0, 1]:

        G                = (l_t(x_k, a_k) + ... + l_t(x_{L-1}, a_{L-1})) / (L - k)
        w(x, a)          = w(x, a) exp(-eta G / (pi_t(a | x) + gamma))
        pi_{t+1}(. | x)  proportional to  w(x, .)

    States that were not visited keep their policies.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T: the most visits a state can get.
    eta_scale, gamma_scale
        Multiply eta = sqrt(2 ln|A| / (|A| T)) and gamma = eta / 2.

    Guarantee: none for more than one layer.  G depends on what the later states learn, and a state
    that is rarely visited learns rarely, while the regret weighs it by the visits of the best
    policy: an adversary can keep the learner away from the good states.  With one layer this is
    EXP3-IX itself, and R_T is of order sqrt(|A| T ln|A|) with high probability.  Cost of an
    episode: L |A|, whatever the number of states.

    The rates are those for one bandit with known horizon, quoted from memory.

    >>> from advmdp.learners.feedback import Trajectory
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = Exp3IX(layout, n_episodes=100)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0].round(4)
    array([[0.4808, 0.5192]])

    Reference: Neu, "Explore no more: Improved high-probability regret bounds for non-stochastic
    bandits", NIPS 2015 (the bandit algorithm; its use in every state is folklore).
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        eta_scale: float = 1.0,
        gamma_scale: float = 1.0,
    ) -> None:
        layout = checked_layout(layout)
        self.n_episodes = checked_horizon(n_episodes)
        n_actions = layout.n_actions
        theory = math.sqrt(2.0 * math.log(n_actions) / (n_actions * self.n_episodes))
        self.eta = theory * checked_rate(eta_scale, "eta_scale")
        self.gamma = 0.5 * theory * checked_rate(gamma_scale, "gamma_scale", zero_allowed=True)
        state = Exp3IXState(
            policy=np.full(layout.n_rows, 1.0 / n_actions),
            score=np.zeros(layout.n_rows),
            clock=np.zeros(1, dtype=np.int64),
            eta=self.eta,
            gamma=self.gamma,
        )
        super().__init__(layout, state)

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.clock[0])
