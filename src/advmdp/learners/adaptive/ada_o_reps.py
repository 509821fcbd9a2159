"""AdaO-REPS: mirror descent on occupancy measures with a rate that follows from the past."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from advmdp.errors import UncertifiedStep
from advmdp.kernels.learners.mirror.ada_mirror import (
    COMING,
    LAST,
    AdaMirrorState,
    AdaSettings,
    Kept,
    Plan,
    log_term_of_counts,
)
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.model.recent import Recent
from advmdp.kernels.model.row_status import KNOWN
from advmdp.kernels.model.visits import Visits
from advmdp.kernels.steps.interface import (
    RESIDUAL,
    certificate_of,
    forget_everything,
    solve_step,
)
from advmdp.layout import Floats, Layout
from advmdp.learners.adaptive.adaptive_hints import WINDOW, AdaptiveHints, chosen_hint
from advmdp.learners.adaptive.any_losses import checked_forgetting
from advmdp.learners.base import AcceptsAnyLosses, CertifiesRegret, CountsEpisodes, Observes
from advmdp.learners.common_counts import (
    CommonCounts,
    take_set,
    taken_back_unless_certified,
)
from advmdp.learners.feedback import FlatEpisode
from advmdp.learners.ftrl.shared import box_of_one
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.mirror.initial_measure import is_balanced, uniform_measure
from advmdp.learners.occupancy_learner import OccupancyLearner
from advmdp.learners.tuning import (
    MAX_EPISODES,
    checked_delta,
    checked_layout,
    checked_rate,
)
from advmdp.steps.confidence import AnyTransition, ConfidenceSet
from advmdp.steps.first_sets import copy_of, no_visits
from advmdp.steps.workspace import new_kl_step, new_reach


class _AdaMirrorDescent(
    AdaptiveHints, OccupancyLearner, CountsEpisodes, AcceptsAnyLosses, Observes
):
    """What both versions share."""

    feedback = "full"
    accepts_any_losses: ClassVar[bool] = True  # type: ignore[misc]
    _state: AdaMirrorState

    def __init__(
        self,
        layout: Layout,
        confidence: ConfidenceSet,
        forgetting: float,
        hint_weight: float | None,
        hint_window: int,
        hint: HintChoice,
        log_term: float = 0.0,
        log_scale: float = 1.0,
    ) -> None:
        self.forgetting = checked_forgetting(forgetting)
        self.hint_weight, recent, self._asked = chosen_hint(layout, hint_weight, hint_window, hint)
        rows, graph = confidence.rows, layout.graph()
        step = new_kl_step(layout, uniform_measure(layout, confidence))
        if not is_balanced(layout, confidence) and not any(
            solve_step(graph, step, rows, in_logs) for in_logs in (None, True)
        ):
            raise UncertifiedStep("learner: no certified initial measure in its set")
        pairs = np.zeros((4, layout.n_rows))
        state = AdaMirrorState(
            settings=AdaSettings(
                int((rows.status == KNOWN).all()),
                _entropy(layout, step.measure, rows.status == KNOWN),
                self.forgetting,
                self.hint_weight,
                log_term,
                log_scale,
            ),
            step=step,
            first=copy_of(step.measure),
            rows=rows,
            old_rows=copy_of(rows),
            visits=no_visits(layout, (MAX_EPISODES - 1) // layout.n_layers),
            reach=new_reach(layout),
            plan=Plan(pairs[0], np.zeros(layout.n_states), pairs[1]),
            gaps=np.zeros(2),
            hint=recent,
            kept=Kept(
                copy_of(step.measure),
                np.zeros(2),
                Recent(np.zeros((1, layout.n_rows)), pairs[2]),
            ),
            spare=copy_of(step.measure),
            costs=pairs[3],
        )
        super().__init__(layout, state)

    @property
    def gap_sum(self) -> float:
        """G: the mixability gaps so far, discounted by g for every episode since."""
        return float(self._state.gaps[LAST])

    def _learn_and_turn(
        self, episode: FlatEpisode, losses: tuple[Floats, Floats], coming: Floats
    ) -> None:
        """The update takes d = l - c m from the iterate and gives it c m'; both are the same array
        there, so m' is written to it, and l is shifted such that d is what it was."""
        of_path, everywhere = losses
        heard = self._state.hint.mean.copy()
        if self._state.gaps[COMING] > 0.0:  # q_1 has not heard the hint
            everywhere = everywhere + self.hint_weight * (coming - heard)
        self._state.hint.mean[:] = coming
        try:
            self._learn(episode, (of_path, everywhere))
        except UncertifiedStep:
            self._state.hint.mean[:] = heard
            raise

    def _why_uncertified(self) -> str:
        return f"flow residual {certificate_of(self._state.step).figures[RESIDUAL]:.1e}"


def _entropy(layout: Layout, first: Measure, known: Any) -> float:
    """The largest D(q || q_1): the entropy of q_1 over pairs and, where unknown, successors."""
    pairs = np.repeat(first.mass[:-1], layout.n_actions) * first.policy
    of_rows = np.add.reduceat(_entropy_terms(first.chance), layout.row_start[:-1])
    total = _entropy_terms(pairs).sum() + (pairs * of_rows)[~known].sum()
    return max(float(total), math.log(2.0))


def _entropy_terms(share: Floats) -> Floats:
    """-p ln p."""
    positive = share > 0.0
    return -share * np.log(share, where=positive, out=np.zeros_like(share))


class AdaOREPS(_AdaMirrorDescent, CertifiesRegret):
    """Adversarial losses in any unit, full information, known transition; nothing to tune.

    O-REPS with the rate of AdaHedge.  Episode t plays q_t at the rate eta; after the losses l_t

        gap     = <q_t, l_t> - min over q in Delta(P) of [<q, l_t> + D(q || q_t) / eta]
        r       = G / (G + gap),   G <- g (G + gap),   eta' = H / G
        q_{t+1} = Pi(q_t^r q_1^{1-r} e^{-g eta' l_t}),   which is Pi(q_+^r q_1^{1-r})

    with q_1 the occupancy measure of largest entropy H, q_+ where the minimum is, and Pi the
    relative-entropy projection onto Delta(P).  Multiplying all losses by a number, or adding one,
    changes no policy.  With one state this is AdaHedge.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The true transition [P], a triple table.
    forgetting
        g in (0, 1]: what the past weighs less after every episode.
    hint_weight, hint_window, hint
        As in ``AdaFTRL``: by default the mean of the losses of so many last episodes counts as so
        many more.

    Guarantee: with G before it is forgotten, regret <= 2 G after every episode, for every sequence
    of losses, if g = 1 (``regret_bound``, and ``Run.regret_bound`` at every checkpoint); for g < 1
    the regret that weighs episode t by g^(T-t).  Cost of an episode: two projections, a few passes
    over the triples each.

    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = AdaOREPS(Layout(layer_sizes=(1, 2, 1), n_actions=2), P)
    >>> from advmdp.learners.feedback import FullInformation
    >>> losses = [np.zeros((1, 2)), np.array([[50.0, 50.0], [-20.0, -20.0]])]
    >>> learner.update(FullInformation(states=[0, 1, 0], actions=[1, 0], losses=losses))
    >>> learner.policy()[0].round(3), learner.regret_bound
    (array([[0.111, 0.889]]), 70.0)

    Reference: O-REPS of Zimin and Neu, NIPS 2013, with the rate of de Rooij, van Erven, Grunwald,
    Koolen, JMLR 15, 2014; the argument is in ``docs/adaptive.md``.
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
        known = box_of_one(layout, transitions)
        super().__init__(layout, known, forgetting, hint_weight, hint_window, hint)

    @property
    def regret_bound(self) -> float:
        """2 G: the regret since the first episode is at most that.  Only without forgetting."""
        if self.forgetting < 1.0:
            raise AttributeError(
                "regret_bound: a learner that forgets bounds the discounted "
                "regret alone, by 2 gap_sum"
            )
        return 2.0 * self.gap_sum


class AdaUCOREPS(CommonCounts, _AdaMirrorDescent):
    """Adversarial losses in any unit, full information, unknown transition; no horizon.

    ``AdaOREPS`` over the measures of a confidence set, the boxes of UOB-REPS, with the logarithm of
    delta / (t (t + 1)) in place of that of delta / T when an epoch opens in episode t.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    delta
        Confidence parameter of the sets.
    forgetting
        As in ``AdaOREPS``; transitions are never forgotten.
    log_scale
        Multiplies the logarithm in the widths, as in ``UOBREPS``.
    hint_weight, hint_window, hint
        As in ``AdaOREPS``.

    Guarantee, for g = 1, while the true transition is in all sets: the losses that the iterates q_t
    promise exceed those of any fixed policy by at most 2 G; to the regret comes what the policies
    really lose beyond the promises, of order L |X| range sqrt(|A| T) up to logarithms as for
    ``UCOREPS``.  Cost of an episode: two projections, a few passes over the triples each.

    >>> learner = AdaUCOREPS(Layout(layer_sizes=(1, 2, 1), n_actions=2))
    >>> from advmdp.learners.feedback import FullInformation
    >>> losses = [np.array([[3.0, -1.0]]), np.zeros((2, 2))]
    >>> learner.update(FullInformation(states=[0, 1, 0], actions=[1, 0], losses=losses))
    >>> learner.policy()[0].round(3), learner.gap_sum
    (array([[0.004, 0.996]]), 2.0)

    Reference: UC-O-REPS of Rosenberg and Mansour, ICML 2019, with the sets of Jin et al., ICML
    2020, and the rate of AdaHedge.
    """

    def __init__(
        self,
        layout: Layout,
        delta: float = 0.1,
        forgetting: float = 1.0,
        log_scale: float = 1.0,
        hint_weight: float | None = None,
        hint_window: int = WINDOW,
        hint: HintChoice = None,
    ) -> None:
        layout = checked_layout(layout)
        self.delta = delta = checked_delta(delta)
        log_term = math.log(layout.n_states * layout.n_actions / delta)
        scale = checked_rate(log_scale, "log_scale")
        hints = (hint_weight, hint_window, hint)
        super().__init__(layout, AnyTransition(layout), forgetting, *hints, log_term, scale)

    def _adopt(self, earlier: AdaMirrorState) -> None:
        """The set of the earlier counts, and q_1 projected onto it."""
        self._move_into_set(earlier.visits)

    def _move_into_set(self, counted: Visits) -> None:
        """The set of these counts, and the iterate projected onto it."""
        state = self._state
        pooled = state._replace(visits=state.visits._replace(pairs=counted.pairs))
        log_term = log_term_of_counts(self._graph, pooled)
        sets = (state.visits, state.rows, state.old_rows, counted)
        take_set(self._graph, *sets, log_term)
        forget_everything(state.step)
        if not any(
            solve_step(self._graph, state.step, state.rows, in_logs) for in_logs in (None, True)
        ):
            raise UncertifiedStep("learner: no certified measure in the set of these counts")

    def _count_on(self, counted: Visits) -> None:
        """The set becomes that of all visits, and the iterate is projected onto it.

        t in its widths is the number of all episodes then, whoever played them.  The projection is
        no further from any measure of the set, so that 2 G stands.
        """
        with taken_back_unless_certified(self):
            self._move_into_set(counted)
