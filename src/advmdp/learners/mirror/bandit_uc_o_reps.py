"""Bandit UC-O-REPS: the estimator that UOB-REPS improves on (Rosenberg and Mansour, 2019)."""

from __future__ import annotations

import math
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.kernels.learners.mirror.mirror_descent import OWN
from advmdp.layout import Layout
from advmdp.learners.mirror.baselines import MEMORY, chosen_baseline
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.tuning import (
    checked_alpha,
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    scaled_rate,
    width_log_term,
)
from advmdp.steps.confidence import L1Set


class BanditUCOREPS(MirrorDescent):
    """Adversarial losses, bandit feedback, unknown transition, every state easily reached.

        l^_t(x, a) = l_t(x, a) / (pi_t(a | x) max(q^_t(x), alpha))   if visited, else 0
        q_{t+1}    = argmin over q in Delta(P_i) of  eta <q, l^_t> + D(q || q_t)

    The learner's own occupancy q^_t stands where the unknown true one should: the bias has either
    sign and is bounded only if every policy reaches every state with probability ``alpha``.
    Whether the original enforces q(x) >= alpha in the projection is not known to us; here the
    assumption enters where it is needed, in the denominator [reconstructed].

    Parameters
    ----------
    layout, n_episodes, delta, log_scale
        As in ``UCOREPS``; the set is the L1 ball.
    alpha
        The reachability that the tuning relies on.
    eta
        By default sqrt(alpha L ln(|X| |A|) / (T |X| |A|)) [reconstructed], times ``eta_scale``.
    baseline, baseline_memory, damping_scale
        As in ``UOBREPS``; gamma_0 is a multiple of the default learning rate.
    hint
        As in ``UOBREPS``.

    Guarantee under the assumption: order L |X| sqrt(|A| T) / alpha up to logarithms.  Cost of an
    episode: a few passes over the triples.

    >>> learner = BanditUCOREPS(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
    >>> learner.policy()[0]
    array([[0.5, 0.5]])

    Reference: Rosenberg and Mansour, "Online stochastic shortest path with bandit feedback and
    unknown transition function", NeurIPS 2019.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        alpha: float = 0.1,
        eta: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        baseline: str | None = None,
        baseline_memory: int = MEMORY,
        damping_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        control = (baseline, baseline_memory, damping_scale)
        rates = (eta, log_scale, eta_scale)
        self._start(layout, n_episodes, delta, alpha, rates, control, hint)

    def _start(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float,
        alpha: float,
        rates: tuple[float | None, float, float],
        control: tuple[str | None, int, float],
        hint: Any,
        floor: float = 0.0,
        least: float = 0.0,
    ) -> None:
        eta, log_scale, eta_scale = rates
        baseline, memory, damping = control
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        self.alpha = alpha = checked_alpha(alpha)
        pairs = layout.n_states * layout.n_actions
        theory = math.sqrt(alpha * layout.n_layers * math.log(pairs) / (n_episodes * pairs))
        super().__init__(
            layout,
            n_episodes,
            eta=scaled_rate(eta, theory, eta_scale, "eta"),
            gamma=0.0,
            log_term=width_log_term(layout, n_episodes, delta)
            * checked_rate(log_scale, "log_scale"),
            estimator=OWN,
            confidence=L1Set.everything(layout, floor, least),
            least_visit=self.alpha,
            baseline=chosen_baseline(
                layout, baseline, memory, theory * checked_rate(damping, "damping_scale")
            ),
            hint=hint,
        )


class FlooredBanditUCOREPS(BanditUCOREPS):
    """Adversarial losses, bandit feedback, unknown transition, every state easily reached.

    ``BanditUCOREPS`` with its assumption enforced: the mirror step is taken over the measures of
    Delta(P_i) with q(x) >= alpha for every state, so that every estimate is at most
    1 / (alpha pi_t(a | x)) by construction.  If no plausible transition lets a policy keep that
    much everywhere, the assumption is false and the update is refused.

    Parameters
    ----------
    alpha
        The floor; by default 1 / |X|^2, which is feasible where every state can be reached with
        probability 1 / |X| by some policy.
    layout, n_episodes, delta, eta, log_scale, eta_scale
        As in ``BanditUCOREPS``, and so are ``baseline``, its two parameters, and ``hint``.

    Guarantee under the assumption: order L |X| sqrt(|A| T) / alpha up to logarithms.  Whether the
    original enforces the floor or only assumes it is not known to us [reconstructed].  Cost of an
    episode: a few passes over the triples.

    >>> learner = FlooredBanditUCOREPS(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
    >>> learner.alpha
    0.0625

    Reference: Rosenberg and Mansour, NeurIPS 2019.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        alpha: float | None = None,
        eta: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        baseline: str | None = None,
        baseline_memory: int = MEMORY,
        damping_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout = checked_layout(layout)
        alpha = checked_rate(1.0 / layout.n_states**2 if alpha is None else alpha, "alpha")
        if alpha > 1.0 / max(layout.layer_sizes):
            raise InvalidInput(
                f"alpha: {alpha!r} must be positive and at most one over the widest layer "
                f"({1.0 / max(layout.layer_sizes):.4g})"
            )
        control = (baseline, baseline_memory, damping_scale)
        rates = (eta, log_scale, eta_scale)
        self._start(layout, n_episodes, delta, alpha, rates, control, hint, least=alpha)


class ShiftedBanditUCOREPS(BanditUCOREPS):
    """Adversarial losses, bandit feedback, unknown transition, no assumption; order T^{3/4}.

    ``BanditUCOREPS`` over shifted transitions: every plausible p is replaced by
    (1 - alpha n) p + alpha with n successors, so that q^_t(x) >= alpha for every state by
    construction; the policy is played in the true MDP.  With declared successors the shift is over
    these: states that few rows lead to may have less, and there the estimates divide by alpha, as
    in ``BanditUCOREPS``; the guarantee is for layouts without a declared support.

    Parameters
    ----------
    alpha
        The shift; by default (|A| / T)^{1/4} / sqrt(L), at most half of one over the widest layer.
        Both the exact form of the shift and this value are our reading [reconstructed]: they give
        the published exponents.
    layout, n_episodes, delta, eta, log_scale, eta_scale
        As in ``BanditUCOREPS``, and so are ``baseline``, its two parameters, and ``hint``.

    Guarantee: order L^{3/2} |X| |A|^{1/4} T^{3/4} up to logarithms.  Cost of an episode: a few
    passes over the triples.

    >>> learner = ShiftedBanditUCOREPS(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
    >>> round(learner.alpha, 4)
    0.25

    Reference: Rosenberg and Mansour, NeurIPS 2019.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        alpha: float | None = None,
        eta: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        baseline: str | None = None,
        baseline_memory: int = MEMORY,
        damping_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        largest = 1.0 / int(layout.row_sizes().max())
        if alpha is None:
            theory = (layout.n_actions / n_episodes) ** 0.25 / math.sqrt(layout.n_layers)
            alpha = min(theory, 0.5 * largest)
        alpha = checked_rate(alpha, "alpha")
        if alpha >= largest:
            raise InvalidInput(
                f"alpha: {alpha!r} must be positive and below one over the widest layer ({largest})"
            )
        control = (baseline, baseline_memory, damping_scale)
        rates = (eta, log_scale, eta_scale)
        self._start(layout, n_episodes, delta, alpha, rates, control, hint, floor=alpha)
