"""AdaFTRL: follow the regularised leader with a rate that follows from the past."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from advmdp.kernels.learners.ada_ftrl import LAST, AdaFTRLState, lead
from advmdp.kernels.model.transition import Transition
from advmdp.layout import Floats, Layout
from advmdp.learners.adaptive.adaptive_hints import WINDOW, AdaptiveHints, chosen_hint
from advmdp.learners.adaptive.any_losses import PRIOR, AnyLossLearner, checked_forgetting
from advmdp.learners.base import CertifiesRegret
from advmdp.learners.feedback import FlatEpisode, check_losses
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.tuning import checked_layout, checked_rate
from advmdp.steps.estimates import estimated_transition, known_transition


class _AdaFTRL(AdaptiveHints, AnyLossLearner):
    """What both versions share."""

    _state: AdaFTRLState
    _episode_clock = ("clock", 0)

    def __init__(
        self,
        layout: Layout,
        transition: Transition,
        forgetting: float,
        hint_weight: float | None,
        hint_window: int,
        hint: HintChoice,
    ) -> None:
        self.forgetting = checked_forgetting(forgetting)
        self.hint_weight, recent, self._asked = chosen_hint(layout, hint_weight, hint_window, hint)
        rows, states = np.zeros((3, layout.n_rows)), np.zeros((3, layout.n_states))
        state = AdaFTRLState(
            policy=np.full(layout.n_rows, 1.0 / layout.n_actions),
            advantage=rows[0],
            transition=transition,
            entropy=layout.n_layers * math.log(max(layout.n_actions, 2)),
            forgetting=self.forgetting,
            hint_weight=self.hint_weight,
            total=rows[1],
            gaps=np.zeros(2),
            hint=recent,
            clock=np.zeros(1, dtype=np.int64),
            costs=rows[2],
            value=states[0],
            change=states[1],
            behind=states[2],
        )
        super().__init__(layout, state)
        if recent.mean.any():
            self.renew()

    @property
    def gap_sum(self) -> float:
        """G: the mixability gaps so far, discounted by g for every episode since."""
        return float(self._state.gaps[LAST])

    def _mean_losses(self) -> Floats | None:
        """S over the sum of its weights 1, g, g^2, ..."""
        g, t = self.forgetting, self.episodes
        weight = float(t) if g == 1.0 else (1.0 - g**t) / (1.0 - g)
        return self._state.total / weight if t else None

    def hint(self, losses: Any) -> None:
        """Set m, a guess of the coming losses, a pair table; it stays until another comes.

        With ``hint_window`` the next episode replaces it by the mean of the last losses.
        """
        self._state.hint.mean[:] = check_losses(self.layout, losses, any_losses=True)
        self.renew()

    def _learn_and_turn(
        self, episode: FlatEpisode, losses: tuple[Floats, Floats], coming: Floats
    ) -> None:
        self._learn(episode, losses)
        self._state.hint.mean[:] = coming
        self.renew()

    def _plan(self) -> None:
        lead(self._graph, self._state)


class AdaFTRL(_AdaFTRL, CertifiesRegret):
    """Adversarial losses in any unit, full information, known transition; nothing to tune.

    Episode t plays the regularised leader

        pi_t = argmin over pi of <q^{P,pi}, S + c m_t> + (1/eta) sum_x q(x) KL(pi(.|x) || uniform),

    found by one soft backward pass, with Phi the value of the minimum.  After the losses l_t

        gap = <q_t, l_t - c m_t> - [Phi(S + l_t) - Phi(S + c m_t)],
        G <- g (G + gap),   S <- g (S + l_t),   eta = L ln|A| / G.

    Multiplying all losses by a number, or adding one, changes no policy.  With one state this is
    AdaHedge.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The true transition [P], a triple table.
    forgetting
        g in (0, 1]: what the past weighs less after every episode.
    hint_weight
        c: how much the hint m_t counts, in episodes; by default 1 if there is a ``hint``, else 0.
    hint_window
        m_t is the mean of the losses of the last so many episodes; 0: what ``hint`` sets.
    hint
        The same, or another m_t: "last", a number n for the mean of the last n, a table, or a
        function of the history (``docs/hints.md``), in any unit.

    Guarantee: with G before it is forgotten, regret <= 2 G after every episode, for every sequence
    of losses and of hints, if g = 1 (``regret_bound``, and ``Run.regret_bound`` at every
    checkpoint).  For g < 1 the same holds of the regret that weighs episode t by g^(T-t) [P: the
    losses g^(-t) l_t, up to the unit].  Never worse than of order L range sqrt(L T ln|A|) for
    losses in a range [M].  Cost of an episode: three passes over the triples.

    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = AdaFTRL(Layout(layer_sizes=(1, 2, 1), n_actions=2), P)
    >>> from advmdp.learners.feedback import FullInformation
    >>> losses = [np.zeros((1, 2)), np.array([[50.0, 50.0], [-20.0, -20.0]])]
    >>> learner.update(FullInformation(states=[0, 1, 0], actions=[1, 0], losses=losses))
    >>> learner.policy()[0].round(3), learner.regret_bound
    (array([[0.059, 0.941]]), 70.0)

    Reference: the rate is that of AdaHedge (de Rooij, van Erven, Grunwald, Koolen, "Follow the
    leader if you can, hedge if you must", JMLR 15, 2014); follow the regularised leader with it
    is AdaFTRL of Orabona and Pal, "Scale-free online learning", 2018.  On policies of an MDP, with
    hints and forgetting, the argument is in ``docs/adaptive.md``.
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        forgetting: float = 1.0,
        hint_weight: float | None = None,
        hint_window: int = WINDOW,
        hint: HintChoice = None,
    ) -> None:
        layout = checked_layout(layout)
        transition = known_transition(layout, transitions)
        super().__init__(layout, transition, forgetting, hint_weight, hint_window, hint)

    @property
    def regret_bound(self) -> float:
        """2 G: the regret since the first episode is at most that.  Only without forgetting."""
        if self.forgetting < 1.0:
            raise AttributeError(
                "regret_bound: a learner that forgets bounds the discounted "
                "regret alone, by 2 gap_sum"
            )
        return 2.0 * self.gap_sum


class EstimatedAdaFTRL(_AdaFTRL):
    """Adversarial losses in any unit, full information, unknown transition; AdaFTRL on P^.

    ``AdaFTRL`` with the estimate (M + prior [best successor]) / (N + prior) in the place of P, for
    N visits of a pair of which M led to a successor: what was never tried is imagined to go well,
    so that it is tried.  Rows that the layout declares known or shared are used as such.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    forgetting, hint_weight, hint_window, hint
        As for ``AdaFTRL``; transitions are never forgotten.
    prior
        How many imagined visits count.

    Guarantee: none is claimed for the regret: the imagined visits are fewer than a confidence set
    would need.  On prices and loads it earns within 2% of ``AdaFTRL`` [M].  Cost of an episode:
    three passes over the triples.

    >>> learner = EstimatedAdaFTRL(Layout(layer_sizes=(1, 2, 1), n_actions=2), prior=1.0)
    >>> from advmdp.learners.feedback import FullInformation
    >>> losses = [np.array([[3.0, -1.0]]), np.zeros((2, 2))]
    >>> learner.update(FullInformation(states=[0, 1, 0], actions=[1, 0], losses=losses))
    >>> learner.policy()[0].round(3), learner.transition[0][0]
    (array([[0.059, 0.941]]), array([[1. , 0. ],
           [0.5, 0.5]]))

    Reference: as for ``AdaFTRL``; planning on the estimate is certainty equivalence.
    """

    def __init__(
        self,
        layout: Layout,
        forgetting: float = 1.0,
        hint_weight: float | None = None,
        hint_window: int = WINDOW,
        prior: float = PRIOR,
        hint: HintChoice = None,
    ) -> None:
        layout = checked_layout(layout)
        transition = estimated_transition(layout, checked_rate(prior, "prior"))
        super().__init__(layout, transition, forgetting, hint_weight, hint_window, hint)
