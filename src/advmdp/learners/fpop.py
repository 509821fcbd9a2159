"""Follow the perturbed leader: FPOP for an unknown transition, FPL for a known one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from advmdp.checks.arguments import flag
from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.kernels.learners.fpop import FPLState, FPOPState, Perturbation, begin_fpl, begin_fpop
from advmdp.kernels.model.visits import EPISODES, EPOCH, Visits
from advmdp.kernels.sets.confidence import adopt_counts
from advmdp.layout import Layout, Table
from advmdp.learners.base import HasEpochs, HasHorizon
from advmdp.learners.common_counts import CommonCounts, number_epoch, take_counts, take_set
from advmdp.learners.compiled import FullInformationLearner
from advmdp.learners.feedback import FullInformation
from advmdp.learners.pair_knowledge import PairKnowledge
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    width_log_term,
)
from advmdp.seeds import Seed, seed_words
from advmdp.steps.confidence import ConfidenceSet, KnownTransition
from advmdp.steps.first_sets import free_balls, no_visits
from advmdp.steps.workspace import new_reach


class FPOP(CommonCounts, FullInformationLearner, HasHorizon, HasEpochs):
    """Adversarial losses, full information, unknown transition; the perturbed optimistic leader.

    With S_t the sum of the losses of the first t episodes, Y_i random bonuses of epoch i, one for
    each pair, independent and exponential with mean 1 / eta, and P_i the L1 balls
    |p - P-bar|_1 <= sqrt(2 m ln(T |X| |A| / delta) / N) with m the number of successors, episode
    t + 1 plays the deterministic policy

        pi_{t+1} = argmin over pi of  min over p in P_i of  <q^{p,pi}, S_t - Y_i>,

    which one backward pass finds: Q = S_t - Y_i + min <p, V>, V = min_a Q.  A new epoch opens when
    the visits of some pair have doubled.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T.
    delta
        Confidence of the sets; by default 1 / T, natural for a bound in expectation.
    eta
        Rate of the exponential law; by default
        sqrt(K sum_k (1 + ln(n_k |A|)) / ((e - 1) T L |X| |A|)), where K stands for the number of
        epochs, |X| |A| log2(8 T / (|X| |A|)).
    noise_scale
        Multiplies the mean 1 / eta of the bonuses; 0 is the optimistic follow-the-leader.
    log_scale
        Multiplies ln(T |X| |A| / delta) in the radii.
    fresh
        Draw the bonuses anew in every episode.  Each policy has the same law, so against losses
        fixed in advance the expected regret is the same; it is needed against adaptive ones.
    seed
        Of the bonuses: a whole number, or a ``SeedSequence``.

    Guarantee: expected regret of order L |X| |A| sqrt(T), up to logarithms, for losses fixed in
    advance.  Cost of an episode: one pass over the triples, the least of all methods for an
    unknown transition.

    >>> learner = FPOP(Layout(layer_sizes=(1, 2, 1), n_actions=2), 100, noise_scale=0.0)
    >>> losses = [np.array([[1.0, 0.0]]), np.zeros((2, 2))]
    >>> learner.update(FullInformation(states=[0, 1, 0], actions=[0, 1], losses=losses))
    >>> learner.policy()[0]
    array([[0., 1.]])

    Reference: Neu, Gyorgy, Szepesvari, "The adversarial stochastic shortest path problem with
    unknown transition probabilities", AISTATS 2012.  The exponential law and the drawing once per
    epoch are from memory; eta and the default delta are reconstructed so as to give the bound.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float | None = None,
        eta: float | None = None,
        noise_scale: float = 1.0,
        log_scale: float = 1.0,
        fresh: bool = False,
        seed: Seed = 0,
    ) -> None:
        layout = checked_layout(layout)
        self.n_episodes = n_episodes = checked_horizon(n_episodes)
        self.delta = checked_delta(min(0.1, 1.0 / n_episodes) if delta is None else delta)
        pairs = layout.n_states * layout.n_actions
        epochs = pairs * math.log2(max(2.0, 8.0 * n_episodes / pairs))
        theory = math.sqrt(epochs) * perturbation_rate(layout, n_episodes)
        self.eta = checked_rate(theory if eta is None else eta, "eta")
        mean = checked_rate(noise_scale, "noise_scale", zero_allowed=True) / self.eta
        self.log_term = width_log_term(layout, n_episodes, self.delta)
        self.log_term *= checked_rate(log_scale, "log_scale")
        state = FPOPState(
            policy=np.zeros(layout.n_rows),
            law=Perturbation(mean, *seed_words(seed)),
            fresh=flag(fresh, "fresh"),
            log_term=self.log_term,
            visits=no_visits(layout, n_episodes),
            rows=free_balls(layout),
            old_rows=free_balls(layout),
            reach=new_reach(layout),
            total=np.zeros(layout.n_rows),
            noise=np.zeros(layout.n_rows),
            costs=np.zeros(layout.n_rows),
            q=np.zeros(layout.n_rows),
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, state)
        begin_fpop(self._graph, state, True)

    def update(self, feedback: FullInformation) -> None:
        """Learn from one episode played with ``policy()``."""
        if self.episodes >= self.n_episodes:
            raise InvalidInput(
                f"update: all {self.n_episodes} episodes are played; "
                "make a learner with a larger n_episodes"
            )
        super().update(feedback)

    def _adopt(self, earlier: FPOPState) -> None:
        """The balls of the earlier counts; the losses begin at zero again."""
        state = self._state
        sets = (state.visits, state.rows, state.old_rows, earlier.visits)
        adopt_counts(self._graph, *sets, self.log_term)
        begin_fpop(self._graph, state, True)

    def _count_on(self, counted: Visits) -> None:
        """A new epoch where some count has doubled since this one began, as after an own episode.

        New balls and new bonuses belong together: what was played under the old bonuses decided
        which visits there are, so that new balls depend on them.
        """
        state = self._state
        with self._one_thread:
            if take_counts(state.visits, counted, state.rows.status):
                sets = (state.visits, state.rows, state.old_rows, counted)
                take_set(self._graph, *sets, self.log_term)
                number_epoch(state.visits)
                begin_fpop(self._graph, state, True)

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        visits = self._state.visits
        return PairKnowledge(
            visits=visits.pairs[visits.counter].astype(np.float64),
            estimated_loss=self._state.total / self.episodes if self.episodes else None,
            confidence=ConfidenceSet.of_rows(self.layout, self._state.rows),
        )

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.visits.clock[EPISODES])

    @property
    def epoch(self) -> int:
        """The epoch of the coming episode: 1, 2, ..."""
        return int(self._state.visits.clock[EPOCH])

    @property
    def perturbation(self) -> Table:
        """Y of the coming episode, a pair table."""
        return self.layout.pairs(self._state.noise.copy())


class FPL(FullInformationLearner, HasHorizon):
    """Adversarial losses, full information, known transition; the perturbed leader.

    At the start of phase m, after the losses S of all episodes before it, new bonuses Y_m are
    drawn, independent and exponential with mean 1 / eta, and

        pi = argmin over pi of <q^{P,pi}, S - Y_m>

    is played in every episode of the phase; it is found by backward induction.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The true transition [P], a triple table.
    n_episodes
        The horizon T.
    phase
        Episodes in a phase.  Phases let a continuing chain mix; here every episode starts afresh,
        so that longer ones save computation and nothing else.
    eta
        Rate of the exponential law; by default
        sqrt(sum_k (1 + ln(n_k |A|)) / ((e - 1) T L |X| |A| phase)).
    noise_scale
        Multiplies the mean 1 / eta of the bonuses; 0 is follow-the-leader, whose regret can be
        linear.
    seed
        Of the bonuses: a whole number, or a ``SeedSequence``.

    Guarantee: expected regret at most 2 sqrt((e - 1) T L |X| |A| phase sum_k (1 + ln(n_k |A|))) for
    losses fixed in advance, with phase 1 for adaptive ones too.  Cost of a phase: one pass over
    the triples.

    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = FPL(Layout(layer_sizes=(1, 2, 1), n_actions=2), P, 100, noise_scale=0.0)
    >>> losses = [np.zeros((1, 2)), np.array([[1.0, 1.0], [0.0, 0.0]])]  # action 0 leads to losses
    >>> learner.update(FullInformation(states=[0, 1, 0], actions=[1, 0], losses=losses))
    >>> learner.policy()[0]
    array([[0., 1.]])

    Reference: Yu, Mannor, Shimkin, "Markov decision processes with arbitrary reward processes",
    Mathematics of Operations Research 34(3), 2009, in the form that it takes in an episodic MDP.
    The rate and the bound are reconstructed; their phases grow, in a way not verified here.
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_episodes: int,
        phase: int = 1,
        eta: float | None = None,
        noise_scale: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        layout = checked_layout(layout)
        self.n_episodes = n_episodes = checked_horizon(n_episodes)
        self.phase = phase = whole_number(phase, "phase")
        theory = perturbation_rate(layout, n_episodes) / math.sqrt(phase)
        self.eta = checked_rate(theory if eta is None else eta, "eta")
        mean = checked_rate(noise_scale, "noise_scale", zero_allowed=True) / self.eta
        state = FPLState(
            policy=np.zeros(layout.n_rows),
            law=Perturbation(mean, *seed_words(seed)),
            phase=self.phase,
            clock=np.zeros(1, dtype=np.int64),
            chance=KnownTransition(layout, transitions).rows.transition,
            total=np.zeros(layout.n_rows),
            noise=np.zeros(layout.n_rows),
            costs=np.zeros(layout.n_rows),
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, state)
        begin_fpl(self._graph, state)

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        losses = self._state.total / self.episodes if self.episodes else None
        return PairKnowledge(estimated_loss=losses, chance=self._state.chance)

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.clock[0])

    @property
    def perturbation(self) -> Table:
        """Y of the current phase, a pair table."""
        return self.layout.pairs(self._state.noise.copy())


def perturbation_rate(layout: Layout, n_episodes: int) -> float:
    """sqrt(sum_k (1 + ln(n_k |A|)) / ((e - 1) T L |X| |A|)): the rate when Y is drawn once.

    It balances the largest bonus that a policy collects, at most sum_k (1 + ln(n_k |A|)) / eta in
    expectation, and the price of a leader that changes, eta (e - 1) T L |X| |A|.
    """
    n_actions = layout.n_actions
    largest = sum(1.0 + math.log(n * n_actions) for n in layout.layer_sizes[:-1])
    changes = (math.e - 1.0) * n_episodes * layout.n_layers * layout.n_states * n_actions
    return math.sqrt(largest / changes)
