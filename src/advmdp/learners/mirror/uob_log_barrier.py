"""UOB-Log-Barrier: mirror descent with a log barrier on triples and rates that grow."""

from __future__ import annotations

import math

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.kernels.ftrl.triples.step import TripleStep
from advmdp.kernels.learners.mirror.mirror_descent import UPPER
from advmdp.kernels.model.measure import Measure
from advmdp.layout import Layout
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    scaled_rate,
    width_log_term,
)
from advmdp.steps.confidence import AnyTransition
from advmdp.steps.ftrl_workspace import new_triple_step


class UOBLogBarrier(MirrorDescent):
    """Adversarial (adaptive) losses, bandit feedback, unknown transition; small losses.

    UOB-REPS with a log barrier in place of the relative entropy, no implicit exploration, and a
    learning rate for each pair that grows when the pair becomes rare,

        l^_t(x, a) = l_t(x, a) / u_t(x, a)                  on the visited pairs, else 0
        q_{t+1}    = argmin over q in Delta(P_i) of
                     <q, l^_t> + sum of d(q(x, a, x') / q_t(x, a, x')) / eta_t(x, a)

    with d(f) = f - 1 - ln f.  Where 1 / u_t(x, a) >= rho(x, a), before the step:
    rho = 2 / u_t(x, a), and eta(x, a) is multiplied by e^{1 / (7 ln T)}; rho starts at
    2 |X_k| |A| [M].

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T; learning rates and widths are tuned for it.
    delta
        Confidence parameter of the widths.
    eta
        The first learning rate; by default min(1/2, sqrt(W ln T / (L T))) with W the number of
        triples [R: it balances W ln T / eta and eta L T], times ``eta_scale``.
    growth_scale
        Multiplies the exponent 1 / (7 ln T) of the growth [M]; 0 for constant rates, which saves
        the upper bounds of all pairs.
    limit_scale
        Multiplies the 2 of rho, at its start and whenever a rate grows [M]; above 1/2, so that a
        rate waits for its pair to become rarer.
    log_scale
        Multiplies ln(T |X| |A| / delta) in the confidence widths, as in ``UOBREPS``.

    hint
        As in ``UOBREPS``.

    The truncation q >= 1 / (T^3 |X|^2 |A|) of the reference is left out.

    Guarantee [M, of the reference's algorithm]: with high probability of order
    |X| sqrt(L |A| L*) up to logarithms and lower order, L* the loss of the best policy, also
    against an adaptive adversary.  Cost of an episode: upper bounds of all pairs, and a few passes
    over the triples with a row problem each.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> UOBLogBarrier(layout, n_episodes=100).policy()[0]
    array([[0.5, 0.5]])

    Reference: Lee, Luo, Wei, Zhang, "Bias no more: high-probability data-dependent regret bounds
    for adversarial bandits and MDPs", NeurIPS 2020.
    """

    _steepest = math.inf

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        eta: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        growth_scale: float = 1.0,
        hint: HintChoice = None,
        limit_scale: float = 1.0,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        log_horizon = math.log(max(n_episodes, 3))
        balanced = math.sqrt(layout.n_entries * log_horizon / (layout.n_layers * n_episodes))
        rate = scaled_rate(eta, min(0.5, balanced), eta_scale, "eta")
        growth = checked_rate(growth_scale, "growth_scale", zero_allowed=True)
        self._rates = (rate, math.exp(min(growth / (7.0 * log_horizon), 1.0)))
        self._ahead = _checked_factor(limit_scale)
        super().__init__(
            layout,
            n_episodes,
            eta=1.0,
            gamma=0.0,
            log_term=width_log_term(layout, n_episodes, delta)
            * checked_rate(log_scale, "log_scale"),
            estimator=UPPER,
            confidence=AnyTransition(layout),
            hint=hint,
        )
        self.eta = rate

    def _new_step(self, layout: Layout, measure: Measure) -> TripleStep:
        sizes = np.repeat(layout.layer_sizes[:-1], layout.layer_sizes[:-1])
        limit = (
            self._ahead * layout.n_actions * np.repeat(sizes, layout.n_actions).astype(np.float64)
        )
        rate, growth = self._rates
        return new_triple_step(layout, measure, 1.0 / rate, limit, growth, self._ahead)


def _checked_factor(limit_scale: float) -> float:
    """How much rarer a pair has to become for its rate to grow."""
    factor = 2.0 * checked_rate(limit_scale, "limit_scale")
    if factor <= 1.0:
        raise InvalidInput(f"{limit_scale} is not above 1/2", field="limit_scale")
    return factor
