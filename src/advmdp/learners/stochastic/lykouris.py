"""Stochastic losses with corrupted episodes, whose number is unknown (Lykouris et al. 2019)."""

from __future__ import annotations

import math

import numpy as np

from advmdp.kernels.learners.robust_levels import (
    EPISODES,
    LEVEL,
    LevelsState,
    Widths,
    open_episode,
)
from advmdp.layout import Layout, Table
from advmdp.learners.base import HasHorizon
from advmdp.learners.compiled import BanditLearner
from advmdp.learners.pair_knowledge import PairKnowledge
from advmdp.learners.saving.state_checks import (
    TOLERANCE,
    Scope,
    checks,
    require_clock,
    require_finite,
    require_policy,
)
from advmdp.learners.stochastic.optimistic import knowledge_of_model
from advmdp.learners.stochastic.ucbvi import empty_model
from advmdp.learners.tuning import checked_delta, checked_horizon, checked_layout, checked_rate
from advmdp.seeds import Seed, seed_words


class Lykouris(BanditLearner, HasHorizon):
    """Stochastic losses but for some corrupted episodes, bandit feedback, unknown transition.

    There are M = ceil(log2 T) levels.  An episode is played by level l with probability 2^-l, by
    level 1 with what is left over; a level with 2^l >= C sees a logarithm of C corrupted episodes.
    Before its episode level l bounds the optimal losses to go of every pair from both sides,

        Q-(x, a) = max( 0,     l- + <P^, V-> - w ),      V-(x) = min_{a active} Q-(x, a)
        Q+(x, a) = min( L - k, l- + <P^, V+> + w ),      V+(x) = min_{a active} Q+(x, a),

    each the better of two: from the N visits in its own episodes, with
    w = (L - k) (sqrt(2 lambda / N) + 2 lambda / N), and from those in all episodes, with
    w = (L - k) (sqrt(2 lambda / N) + 2^l 2 lambda / N), lambda = ln(2 |X| |A| M T / delta).  An
    action is active if no level from l on excludes it (Q- above the least Q+ of the active ones);
    a level that would leave none excludes none.  The active action with the least Q- is played.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T: it enters the logarithm and the number of levels.
    delta
        The guarantee holds with probability 1 - delta.
    width_scale
        Multiplies w.  With 1 nothing is excluded in runs of ordinary length; values of 0.01 to 0.1
        learn, without the proof.
    seed
        Of the draws of the levels.

    Guarantee: the paper's algorithm has regret of order C sqrt(T) + C^2, up to logarithms, where
    the losses and transitions of C episodes, an unknown number, are chosen by an adversary and
    those of all others are drawn from one law [P].  For this reading it is not proved.  Cost of an
    episode: one or two backward passes.

    >>> from advmdp.learners.feedback import Trajectory
    >>> learner = Lykouris(Layout(layer_sizes=(1, 2, 1), n_actions=2), 100, width_scale=0.001)
    >>> learner.n_levels, learner.level
    (7, 2)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0]
    array([[0., 1.]])

    Reference: Lykouris, Simchowitz, Slivkins, Sun, "Corruption-robust exploration in episodic
    reinforcement learning", 2019 (COLT 2021).  Levels subsampled at rates 2^-l, bonuses enlarged by
    the corruption that a level allows for, and elimination joined with optimism are the paper's
    [M]; Hoeffding widths, their constants, the minimum of the two bounds and the nested active sets
    are a reconstruction [R].
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        width_scale: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        layout = checked_layout(layout)
        self.n_episodes = n_episodes = checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        self.width_scale = scale = checked_rate(width_scale, "width_scale", zero_allowed=True)
        self.seed = seed
        self.n_levels = levels = max(1, math.ceil(math.log2(n_episodes)))
        pairs = 2.0 * layout.n_states * layout.n_actions
        self.log_term = log_term = math.log(pairs * levels * n_episodes / delta)
        root, inverse = scale * math.sqrt(2.0 * log_term), scale * 2.0 * log_term
        state = LevelsState(
            policy=np.zeros(layout.n_rows),
            widths=Widths(root, inverse, levels, *seed_words(seed)),
            clock=np.zeros(2, dtype=np.int64),
            model=empty_model(layout, False),
            pairs=np.zeros(levels * layout.n_rows, dtype=np.int64),
            triples=np.zeros(levels * layout.n_entries, dtype=np.int64),
            loss_sum=np.zeros(levels * layout.n_rows),
            lower=np.zeros(levels * layout.n_rows),
            upper=np.tile(_losses_to_go(layout), levels),
            least=np.zeros(layout.n_states),
            most=np.zeros(layout.n_states),
            active=np.ones(layout.n_actions),
        )
        super().__init__(layout, state)
        open_episode(self._graph, state)

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.clock[EPISODES])

    @property
    def level(self) -> int:
        """The level that plays the coming episode, from 1."""
        return int(self._state.clock[LEVEL]) + 1

    def bounds(self, level: int) -> tuple[Table, Table]:
        """Q- and Q+ of a level, two pair tables."""
        place = slice((level - 1) * self.layout.n_rows, level * self.layout.n_rows)
        lower, upper = self._state.lower[place].copy(), self._state.upper[place].copy()
        return self.layout.pairs(lower), self.layout.pairs(upper)

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair; the lower bounds are those of the coming episode's level."""
        lower = np.concatenate([table.ravel() for table in self.bounds(self.level)[0]])
        return knowledge_of_model(self.layout, self._state.model, lower)


def _losses_to_go(layout: Layout) -> np.ndarray:
    """L - k for every row: the largest sum of losses from there."""
    layer = np.repeat(np.arange(layout.n_layers + 1), np.diff(layout.layer_start))
    return np.repeat((layout.n_layers - layer[:-1]).astype(np.float64), layout.n_actions)


@checks(LevelsState)
def check_levels(state: LevelsState, scope: Scope) -> None:
    """The levels' counts add up to those of all episodes; a level that exists; finite bounds."""
    levels = state.widths.n_levels
    require_policy(scope, state.policy)
    require_clock(scope, state.clock, EPISODES)
    scope.require(state.clock[LEVEL] < levels, "clock", f"has a level outside 1..{levels}")
    require_finite(scope, state, "pairs", "triples", "loss_sum", "lower", least=0)
    require_finite(scope, state, "upper")
    for name in ("pairs", "triples"):
        total = getattr(state, name).reshape(levels, -1).sum(axis=0)
        fits = np.array_equal(total, getattr(state.model, name))
        scope.require(fits, name, "does not add up to the counts of all episodes")
    sums = state.loss_sum.reshape(levels, -1).sum(axis=0)
    near = TOLERANCE * (1.0 + state.model.pairs)
    fits = (np.abs(sums - state.model.loss_sum) <= near).all()
    scope.require(bool(fits), "loss_sum", "does not add up to the losses of all episodes")
