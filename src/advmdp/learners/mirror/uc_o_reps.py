"""UC-O-REPS: full information, unknown transition (Rosenberg and Mansour, 2019)."""

from __future__ import annotations

import math

from advmdp.kernels.learners.mirror.mirror_descent import FULL
from advmdp.layout import Layout
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    log_pairs_per_layer,
    scaled_rate,
    width_log_term,
)
from advmdp.steps.confidence import AnyTransition, ConfidenceSet, L1Set


class UCOREPS(MirrorDescent):
    """Adversarial losses, full information, unknown transition.

        q_{t+1} = argmin over q in Delta(P_i) of  eta <q, l_t> + D(q || q_t)

    with P_i the L1 balls  |p - P-bar|_1 <= sqrt(2 |X_{k+1}| ln(T |X| |A| / delta) / max(1, N))  of
    the epoch i of the next episode, and doubling epochs as in UOB-REPS.

    Parameters
    ----------
    layout, n_episodes, delta
        As in ``UOBREPS``.
    eta
        Learning rate; by default sqrt(2 ln(|X| |A| / L) / T), times ``eta_scale``.  The printed
        value is not known to us; this one optimises the printed bound [reconstructed].
    log_scale
        Multiplies ln(T |X| |A| / delta) in the radii.
    hint
        As in ``OREPS``.

    Guarantee, with probability 1 - 3 delta:  R_T <= 2 L sqrt(2 T ln(|X| |A| / L))
    + 3 L |X| sqrt(2 T |A| ln(T |X| |A| / delta)) + 2 L |X| sqrt(2 T ln(L / delta))  (the first term
    from memory).  Cost of an episode: a few passes over the triples.

    >>> learner = UCOREPS(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
    >>> learner.policy()[0]
    array([[0.5, 0.5]])

    Reference: Rosenberg and Mansour, "Online convex optimization in adversarial Markov decision
    processes", ICML 2019.
    """

    feedback = "full"

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        eta: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        theory = math.sqrt(2.0 * log_pairs_per_layer(layout) / n_episodes)
        super().__init__(
            layout,
            n_episodes,
            eta=scaled_rate(eta, theory, eta_scale, "eta"),
            gamma=0.0,
            log_term=width_log_term(layout, n_episodes, delta)
            * checked_rate(log_scale, "log_scale"),
            estimator=FULL,
            confidence=self._initial_set(layout),
            hint=hint,
        )

    def _initial_set(self, layout: Layout) -> ConfidenceSet:
        """Every transition: the set of the first epoch."""
        return L1Set.everything(layout)


class UCOREPSBox(UCOREPS):
    """UC-O-REPS with the box set of UOB-REPS: full information, unknown transition.

    An ablation: everything as in ``UCOREPS`` except the confidence set, which is the empirical
    Bernstein interval of each triple.

    >>> learner = UCOREPSBox(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
    >>> learner.policy()[0]
    array([[0.5, 0.5]])

    Reference: Rosenberg and Mansour, ICML 2019, with the set of Jin et al., ICML 2020.
    """

    def _initial_set(self, layout: Layout) -> ConfidenceSet:
        return AnyTransition(layout)
