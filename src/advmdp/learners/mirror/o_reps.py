"""O-REPS: relative entropy policy search with a known transition (Zimin and Neu, 2013)."""

from __future__ import annotations

import math
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.kernels.learners.mirror.mirror_descent import FULL, OWN
from advmdp.layout import Layout
from advmdp.learners.mirror.baselines import MEMORY, chosen_baseline
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.tuning import (
    checked_horizon,
    checked_layout,
    checked_rate,
    log_pairs_per_layer,
    scaled_rate,
)
from advmdp.steps.confidence import KnownTransition


class OREPS(MirrorDescent):
    """Adversarial losses, full information, known transition; optimal regret.

        q_1     = the occupancy measure of P of largest entropy over the pairs
        q_{t+1} = argmin over q in Delta(P) of  eta <q, l_t> + D(q || q_t)

    Parameters
    ----------
    layout, transitions
        The MDP; the transition is handed over openly, as a set of one element [P].
    n_episodes
        The horizon T.
    eta
        Learning rate; by default sqrt(ln(|X| |A| / L) / T), times ``eta_scale``.
    hint
        What the coming losses m_{t+1} may be: the next iterate is then that of
        eta <q, l_t - m_t + m_{t+1}>.  "last" for l_t, a number n for the mean of the last n, a pair
        table, or a function of the history (``docs/hints.md``).

    Guarantee: R_T <= 2 L sqrt(T ln(|X| |A| / L)) on every loss sequence, with certainty; with a
    hint, that of ``docs/hints.md``.  Cost of an episode: a few passes over the triples.

    >>> import numpy as np
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> P = [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))]
    >>> OREPS(layout, P, n_episodes=100).policy()[0]
    array([[0.5, 0.5]])

    Reference: Zimin and Neu, "Online learning in episodic Markovian decision processes by relative
    entropy policy search", NIPS 2013.
    """

    feedback = "full"

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_episodes: int,
        eta: float | None = None,
        eta_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        theory = math.sqrt(log_pairs_per_layer(layout) / n_episodes)
        super().__init__(
            layout,
            n_episodes,
            eta=scaled_rate(eta, theory, eta_scale, "eta"),
            gamma=0.0,
            log_term=0.0,
            estimator=FULL,
            confidence=KnownTransition(layout, transitions),
            hint=hint,
        )


class OREPSBandit(MirrorDescent):
    """Adversarial losses, bandit feedback, known transition; optimal regret in expectation.

        l~_t(x, a) = l_t(x, a) / (q_t(x, a) + gamma)      on the visited pairs, else 0
        q_{t+1}    = argmin over q in Delta(P) of  eta <q, l~_t> + D(q || q_t)

    With gamma = 0 (the default) the estimator is unbiased; a positive gamma is the implicit
    exploration of UOB-REPS, for comparisons with high probability.

    Parameters
    ----------
    layout, transitions, n_episodes
        As in ``OREPS``.
    eta
        Learning rate; by default sqrt(L ln(|X| |A| / L) / (T |X| |A|)), times ``eta_scale``.
    gamma
        Implicit exploration.  By default ``gamma_scale`` (zero) times the default learning rate
        before ``eta_scale``; give one of the two.
    baseline, baseline_memory, damping_scale
        As in ``UOBREPS``; gamma_0 is a multiple of the default learning rate.
    hint
        As in ``UOBREPS``.

    Guarantee: E[R_T] <= 2 sqrt(L |X| |A| T ln(|X| |A| / L)) against an oblivious adversary, without
    a baseline and a hint.  Cost of an episode: a few passes over the triples.

    >>> import numpy as np
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> P = [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))]
    >>> OREPSBandit(layout, P, n_episodes=100).policy()[0]
    array([[0.5, 0.5]])

    Reference: Zimin and Neu, NIPS 2013.
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_episodes: int,
        eta: float | None = None,
        gamma: float | None = None,
        eta_scale: float = 1.0,
        gamma_scale: float = 0.0,
        baseline: str | None = None,
        baseline_memory: int = MEMORY,
        damping_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        gamma_scale = checked_rate(gamma_scale, "gamma_scale", zero_allowed=True)
        if gamma is not None and gamma_scale != 0.0:
            raise InvalidInput("gamma, gamma_scale: give one of them, not both")
        pairs = layout.n_states * layout.n_actions
        theory = math.sqrt(layout.n_layers * log_pairs_per_layer(layout) / (n_episodes * pairs))
        super().__init__(
            layout,
            n_episodes,
            eta=scaled_rate(eta, theory, eta_scale, "eta"),
            gamma=theory * gamma_scale
            if gamma is None
            else checked_rate(gamma, "gamma", zero_allowed=True),
            log_term=0.0,
            estimator=OWN,
            confidence=KnownTransition(layout, transitions),
            baseline=chosen_baseline(
                layout,
                baseline,
                baseline_memory,
                theory * checked_rate(damping_scale, "damping_scale"),
            ),
            hint=hint,
        )
