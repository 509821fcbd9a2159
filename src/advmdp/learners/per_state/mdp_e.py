"""MDP-E: an expert algorithm in every state, fed with Q-values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from advmdp.kernels.learners.hedge import MDPEState
from advmdp.layout import Layout
from advmdp.learners.base import HasHorizon
from advmdp.learners.compiled import FullInformationLearner
from advmdp.learners.tuning import checked_horizon, checked_layout, checked_rate
from advmdp.steps.confidence import KnownTransition


class MDPE(FullInformationLearner, HasHorizon):
    """Adversarial losses, full information, known transition; regret of order L^2 sqrt(T).

    Every state runs Hedge over its actions, and the loss of an action is its Q-value.  After
    episode t, with V(x_L) = 0,

        Q_t(x, a)        = l_t(x, a) + sum over x' of P(x' | x, a) V_t(x')
        V_t(x)           = sum over a of pi_t(a | x) Q_t(x, a)
        pi_{t+1}(a | x)  proportional to  pi_t(a | x) exp(-eta_k Q_t(x, a))   for x in layer k

    from the uniform pi_1.  All states learn in every episode, visited or not.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The true transition [P], a triple table.
    n_episodes
        The horizon T.
    eta_scale
        Multiplies eta_k = sqrt(8 ln|A| / T) / (L - k), Hedge's rate for losses in [0, L - k].

    Guarantee: R_T <= L (L + 1) / 2 sqrt(T ln|A| / 2) on every loss sequence, chosen by an adversary
    who knows the policies or not; nothing here is random.  It follows from the performance
    difference R_T = sum_t sum_x q*(x) <pi_t - pi*, Q_t>(x): the sum over states is an average of
    Hedge regrets.  Cost of an episode: one pass over the triples.

    The original is for a continuing MDP with mixing time tau and has regret of order tau^2 sqrt(T).
    This is its form for layers, where Q-values are exact after one backward pass and L takes the
    place of tau; the rates and the bound are derived for this form, not copied.

    >>> from advmdp.learners.feedback import FullInformation
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = MDPE(layout, P, n_episodes=100)
    >>> losses = [np.zeros((1, 2)), np.array([[1.0, 1.0], [0.0, 0.0]])]  # action 0 leads to losses
    >>> learner.update(FullInformation(states=[0, 1, 0], actions=[1, 0], losses=losses))
    >>> learner.policy()[0].round(4)
    array([[0.4706, 0.5294]])

    Reference: Even-Dar, Kakade, Mansour, "Online Markov Decision Processes", Mathematics of
    Operations Research 34(3), 2009.
    """

    def __init__(
        self, layout: Layout, transitions: Any, n_episodes: int, eta_scale: float = 1.0
    ) -> None:
        layout = checked_layout(layout)
        self.n_episodes = checked_horizon(n_episodes)
        self.eta = math.sqrt(8.0 * math.log(layout.n_actions) / self.n_episodes)
        self.eta *= checked_rate(eta_scale, "eta_scale")
        state = MDPEState(
            policy=np.full(layout.n_rows, 1.0 / layout.n_actions),
            score=np.zeros(layout.n_rows),
            clock=np.zeros(1, dtype=np.int64),
            rate=self.eta / np.arange(layout.n_layers, 0, -1),
            chance=KnownTransition(layout, transitions).rows.transition,
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, state)

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.clock[0])
