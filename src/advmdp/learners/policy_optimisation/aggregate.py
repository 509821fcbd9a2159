"""Policy optimisation when only the sum of an episode's losses is seen."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from advmdp.kernels.learners.policies.dilated_bonus import WHOLE
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.layout import Layout
from advmdp.learners.policy_optimisation.dilated_bonus import DilatedBonus
from advmdp.learners.tuning import checked_layout
from advmdp.steps.confidence import KnownTransition
from advmdp.steps.minimise_triples import boxes_of


class AggregateDilatedBonus(DilatedBonus):
    """The sum of an episode's losses only (aggregate bandit feedback), unknown transition.

    ``DilatedBonus`` on the U-function, U(x, a) = E[loss of the whole episode | it goes through
    (x, a)].  With c_t the sum of the losses of episode t,

        U^_t(x, a) = c_t 1{visited} / (u_t(x, a) + gamma)

    takes the place of Q^_t; bonus, weights and sets stay what they are.  U(x, a) = Q(x, a) + W(x),
    where W(x), what is lost on the way to x, is the same for all actions of x: both lead the
    weights of a state to the same action.

    Parameters
    ----------
    layout, n_episodes, delta, eta, gamma, log_scale, eta_scale, gamma_scale
        As of ``DilatedBonus``.
    bonus_scale, width_scale, dilation
        As of ``DilatedBonus``.

    U is at most L, as Q is, so that the constants of ``DilatedBonus`` [M] keep eta U^ <= 1/2 and
    the bonus covers the same bias; their use here is a reconstruction [R].  The constants that its
    docstring names learn faster here too.

    Guarantee [A]: R_T = O~(L^3 |X| sqrt(|A| T)).  With one layer it is ``DilatedBonus`` to the last
    bit.  Cost of an episode: as ``DilatedBonus``.

    >>> from advmdp.learners.feedback import Aggregate
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = AggregateDilatedBonus(layout, n_episodes=100, eta_scale=10.0)
    >>> learner.update(Aggregate(states=[0, 1, 0], actions=[0, 1], total=1.0))
    >>> learner.policy()[0].round(4)
    array([[0.4816, 0.5184]])

    Reference: Lancewicki, Mansour, "Near-optimal regret using policy optimization in online MDPs
    with aggregate bandit feedback", 2025.
    """

    feedback: ClassVar[Literal["bandit", "full", "aggregate"]] = "aggregate"
    _observed: ClassVar[int] = WHOLE


class KnownAggregateDilatedBonus(AggregateDilatedBonus):
    """The sum of an episode's losses only (aggregate bandit feedback), known transition.

    ``AggregateDilatedBonus`` over a set of one transition: u = l = q, and the bonus is what the
    implicit exploration costs,

        b_t(x) = sum_a pi_t(a | x) 3 gamma L / (q_t(x, a) + gamma),

    dilated along the true transition.

    Parameters
    ----------
    layout, transitions
        The MDP; the transition is handed over openly.
    n_episodes, eta, gamma, eta_scale, gamma_scale, bonus_scale, dilation
        As of ``AggregateDilatedBonus``.

    Guarantee [A]: R_T = O~(L^2 sqrt(|X| |A| T)), the best possible order.  A layout that declares
    all rows known makes ``AggregateDilatedBonus`` this learner, to the last bit.  Cost of an
    episode: as ``AggregateDilatedBonus``, two passes for each state.

    >>> import numpy as np
    >>> from advmdp.learners.feedback import Aggregate
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> P = [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))]
    >>> learner = KnownAggregateDilatedBonus(layout, P, n_episodes=100, eta_scale=10.0)
    >>> learner.update(Aggregate(states=[0, 1, 0], actions=[0, 1], total=1.0))
    >>> learner.policy()[0].round(4)
    array([[0.4816, 0.5184]])

    Reference: Lancewicki, Mansour, "Near-optimal regret using policy optimization in online MDPs
    with aggregate bandit feedback", 2025.
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_episodes: int,
        eta: float | None = None,
        gamma: float | None = None,
        eta_scale: float = 1.0,
        gamma_scale: float = 1.0,
        bonus_scale: float = 1.0,
        dilation: float | None = None,
    ) -> None:
        self._boxes = boxes_of(KnownTransition(checked_layout(layout), transitions))
        super().__init__(
            layout,
            n_episodes,
            eta=eta,
            gamma=gamma,
            eta_scale=eta_scale,
            gamma_scale=gamma_scale,
            bonus_scale=bonus_scale,
            dilation=dilation,
        )

    def _first_set(self, layout: Layout) -> BoxRows:
        """The transition that is known."""
        return self._boxes
