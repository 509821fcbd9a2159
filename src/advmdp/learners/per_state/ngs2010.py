"""The bandit version of MDP-E by Neu, György and Szepesvári (2010)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from advmdp.checks.numbers import unit_number
from advmdp.errors import InvalidInput
from advmdp.kernels.learners.hedge import NGSState
from advmdp.kernels.model.flow import best_response
from advmdp.layout import Floats, Layout
from advmdp.learners.base import HasHorizon
from advmdp.learners.compiled import BanditLearner
from advmdp.learners.tuning import checked_horizon, checked_layout, checked_rate
from advmdp.steps.confidence import KnownTransition


class NGS2010(BanditLearner, HasHorizon):
    """Adversarial losses, bandit feedback, known transition in which no state can be avoided.

    MDP-E on estimated losses.  With q_t = q^{P, pi_t}, which is known, after episode t

        l^_t(x, a)       = l_t(x, a) / (q_t(x) pi_t(a | x))      on the visited pairs, else 0
        Q^_t(x, a)       = l^_t(x, a) + sum over x' of P(x' | x, a) V^_t(x')
        V^_t(x)          = sum over a of pi_t(a | x) Q^_t(x, a)
        w_{t+1}(x, a)    = w_t(x, a) exp(-eta Q^_t(x, a)),  w_1 = 1
        pi_{t+1}(a | x)  = (1 - gamma) w_{t+1}(x, a) / sum over b of w_{t+1}(x, b) + gamma / |A|

    The estimates are unbiased, E_t Q^_t = Q_t; their variance is of order 1 / alpha.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The true transition [P], a triple table.
    n_episodes
        The horizon T.
    alpha
        A lower bound on q^{P, pi}(x) for all states and all policies.  By default the largest such
        bound, found by one backward induction per state.  Where some policy avoids some state that
        bound is zero: the guarantee is void, and 1 / (size of the widest layer) is used instead.
    gamma
        Share of the uniform policy, in [0, 1].
    eta_scale
        Multiplies eta = sqrt(alpha ln|A| / (T |A|)) / L, which is small where alpha is; 10 to 100
        often learns much faster, without the proof.

    Guarantee: the paper's is of order L^2 sqrt(T |A| ln|A|) / alpha in expectation, for losses
    chosen beforehand.  For the form above with gamma = 0,
    E_t sum_a pi_t Q^_t^2 <= (L - k) (|A| + L - k - 1) / alpha <= L^2 |A| / alpha in every state of
    layer k, hence E R_T <= 3/2 L^2 sqrt(T |A| ln|A| / alpha).  Cost of an episode: two passes over
    the triples.

    The paper states it for rewards; its own eta and gamma could not be consulted.  The rate is
    reconstructed from the second moment above, and gamma is 0 by default because non-negative
    losses, unlike rewards, need no forced exploration in expectation.

    >>> from advmdp.learners.feedback import Trajectory
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> P = [np.array([[[0.8, 0.2], [0.2, 0.8]]]), np.ones((2, 2, 1))]
    >>> learner = NGS2010(layout, P, n_episodes=100)
    >>> round(learner.alpha, 12)
    0.2
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0].round(4)
    array([[0.4934, 0.5066]])

    Reference: Neu, György, Szepesvári, "The Online Loop-Free Stochastic Shortest-Path Problem",
    COLT 2010.
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_episodes: int,
        alpha: float | None = None,
        gamma: float = 0.0,
        eta_scale: float = 1.0,
    ) -> None:
        layout = checked_layout(layout)
        self.n_episodes = checked_horizon(n_episodes)
        chance = KnownTransition(layout, transitions).rows.transition
        self.alpha = unit_number(_reach(layout, chance) if alpha is None else alpha, "alpha")
        if self.alpha == 0.0:
            raise InvalidInput("alpha: must be positive; leave it out for the default")
        self.gamma = unit_number(gamma, "gamma")
        n_actions = layout.n_actions
        self.eta = math.sqrt(self.alpha * math.log(n_actions) / (self.n_episodes * n_actions))
        self.eta *= checked_rate(eta_scale, "eta_scale") / layout.n_layers
        state = NGSState(
            policy=np.full(layout.n_rows, 1.0 / n_actions),
            score=np.zeros(layout.n_rows),
            clock=np.zeros(1, dtype=np.int64),
            rate=np.full(layout.n_layers, self.eta),
            chance=chance,
            value=np.zeros(layout.n_states),
            mass=np.zeros(layout.n_states),
            estimate=np.zeros(layout.n_rows),
            gamma=self.gamma,
        )
        super().__init__(layout, state)

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.clock[0])


def _reach(layout: Layout, chance: Floats) -> float:
    """min over states and policies of q(x), or 1 / (the widest layer) where that is zero.

    Unit losses in x, whatever the action, make the least expected loss the least q(x).
    """
    value, policy = np.zeros(layout.n_states), np.zeros(layout.n_rows)
    least = 1.0
    for x in range(layout.n_states - 1):
        losses = np.zeros(layout.n_rows)
        losses[x * layout.n_actions : (x + 1) * layout.n_actions] = 1.0
        least = min(least, best_response(layout.graph(), chance, losses, value, policy))
        if least <= 0.0:
            return 1.0 / max(layout.layer_sizes)
    return least
