"""UOB-REPS: upper occupancy bound relative entropy policy search."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels import uob_reps as kernel
from advmdp.kernels.dual import Measure
from advmdp.kernels.episode import play_uob_reps
from advmdp.kernels.flow import forward
from advmdp.kernels.projection import Solver
from advmdp.kernels.visits import BERNSTEIN, EPISODES, EPOCH, OPENS, Visits
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import CompiledLoop, Trajectory, check_trajectory
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_rate,
    uob_reps_rate,
    width_log_term,
)
from advmdp.steps.confidence import BoxSet
from advmdp.steps.occupancy import join
from advmdp.steps.workspace import all_transitions, is_wide, new_reach, new_solver


class UOBREPS:
    """Adversarial losses, bandit feedback, unknown transition; regret of order sqrt(T).

    Keeps an occupancy measure q and plays its policy.  After episode t, with u_t the upper
    occupancy bound over the current confidence set and i the epoch of the NEXT episode,

        l^_t(x, a) = l_t(x, a) / (u_t(x, a) + gamma)      on the visited pairs, else 0
        q_{t+1}    = argmin over q in Delta(P_i) of  eta <q, l^_t> + D(q || q_t)

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T; learning rate, exploration and widths are tuned for it.
    delta
        Confidence parameter; the guarantee holds with probability 1 - 9 delta.
    eta, gamma
        Learning rate and implicit exploration.  By default both are the theorem's
        sqrt(L ln(L |X| |A| / delta) / (T |X| |A|)), times ``eta_scale`` and ``gamma_scale``.
    log_scale
        Multiplies ln(T |X| |A| / delta) in the confidence widths.  The theory's constants keep a
        pair's set vacuous for its first hundred visits or so; smaller values learn faster without
        the proof.

    Guarantee: R_T = O(L |X| sqrt(|A| T ln(T |X| |A| / delta))) (Theorem 3).  Cost of an episode: a
    few passes over the triples.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = UOBREPS(layout, n_episodes=100, delta=0.1)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0].round(4)
    array([[0.4542, 0.5458]])

    Reference: Jin, Jin, Luo, Sra, Yu, "Learning Adversarial Markov Decision Processes with Bandit
    Feedback and Unknown Transition", ICML 2020.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        eta: float | None = None,
        gamma: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        gamma_scale: float = 1.0,
    ) -> None:
        self.layout = layout
        self.n_episodes = checked_horizon(n_episodes)
        self.delta = checked_delta(delta)
        theory = uob_reps_rate(layout, n_episodes, delta)
        self.eta = checked_rate(theory if eta is None else eta, "eta")
        self.eta *= checked_rate(eta_scale, "eta_scale")
        self.gamma = checked_rate(theory if gamma is None else gamma, "gamma", zero_allowed=True)
        self.gamma *= checked_rate(gamma_scale, "gamma_scale", zero_allowed=True)
        self.log_term = width_log_term(layout, n_episodes, delta)
        self.log_term *= checked_rate(log_scale, "log_scale")
        self._graph = layout.graph()
        self._wide = is_wide(layout)
        self._state = kernel.Learner(
            rates=kernel.Rates(self.eta, self.gamma, self.log_term, BERNSTEIN),
            measure=_first_measure(layout),
            rows=all_transitions(layout),
            visits=_no_visits(layout, n_episodes),
            solver=new_solver(layout),
            reach=new_reach(layout),
            path=kernel.Path(*(np.zeros(layout.n_layers) for _ in kernel.Path._fields)),
        )

    # ------------------------------------------------------------------ the contract

    def policy(self) -> Table:
        """pi_t = pi^{q_t} of the coming episode."""
        return self.layout.pairs(np.maximum(self._state.measure.policy, 0.0))

    def update(self, trajectory: Trajectory) -> None:
        """One episode: bounds, estimates, counters, epoch, mirror descent (Algorithm UOB-REPS)."""
        steps = check_trajectory(self.layout, trajectory)
        if self.episodes >= self.n_episodes:
            raise InvalidInput(
                f"update: all {self.n_episodes} episodes are played; "
                "make a learner with a larger n_episodes"
            )
        if not kernel.update(self._graph, self._state, self._wide, *steps):
            self._finish(steps.states, steps.path)

    # ------------------------------------------------------------------ what can be looked at

    @property
    def upper_occupancy_of_last(self) -> Floats:
        """u_t(x_k, a_k) of the last update, one for each layer."""
        return self._state.path.bound.copy()

    @property
    def estimate_of_last(self) -> Floats:
        """The estimated losses of the visited pairs of the last update."""
        return self._state.path.estimate.copy()

    @property
    def epoch(self) -> int:
        """The epoch of the coming episode: 1, 2, ..."""
        return int(self._state.visits.clock[EPOCH])

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.visits.clock[EPISODES])

    @property
    def epoch_starts(self) -> NDArray[np.int64]:
        """For every epoch, the number of episodes before it."""
        return self._state.visits.starts[: self.epoch].copy()

    @property
    def visits(self) -> Table:
        """N(x, a), a pair table."""
        return self.layout.pairs(self._state.visits.pairs.astype(np.float64))

    @property
    def transitions_seen(self) -> Table:
        """M(x' | x, a), a triple table."""
        return self.layout.triples(self._state.visits.triples.astype(np.float64))

    @property
    def mean_width(self) -> float:
        """The mean over triples of upper - lower bound: 1 at first, 0 when all is known."""
        rows = self._state.rows
        return float((rows.upper - rows.lower).mean())

    def occupancy(self) -> Table:
        """q_t of the coming episode, a triple table."""
        return self.layout.triples(join(self.layout, *self._state.measure))

    def confidence_set(self) -> BoxSet:
        """A copy of the confidence set P_i of the coming episode."""
        rows = self._state.rows
        return BoxSet(self.layout, rows.lower.copy(), rows.upper.copy())

    # ------------------------------------------------------------------ inside the package

    @property
    def measure(self) -> Measure:
        """q_t as the kernels hold it: live arrays, for the accounting."""
        return self._state.measure

    @property
    def last_path(self) -> kernel.Path:
        """Bounds and estimates of the last update as the kernels hold them."""
        return self._state.path

    @property
    def moved(self) -> bool:
        """Whether the last update projected: not so without a loss and without a new epoch."""
        return bool(self._state.path.estimate.any() or self._state.visits.clock[OPENS])

    @property
    def last_projection(self) -> Solver:
        """The solver after the last update, for the accounting."""
        return self._state.solver

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: whole episodes without leaving compiled code."""
        return CompiledLoop(play_uob_reps, (self._state, self._wide), self._finish)

    def _finish(self, states: NDArray[np.int64], path: NDArray[np.int64]) -> None:
        """Complete a pending projection on the safe path, or take the episode back."""
        if kernel.finish_safely(self._graph, self._state, self._wide):
            return
        kernel.undo_update(self._graph, self._state, states, path)
        raise UncertifiedStep(
            f"episode {self.episodes + 1}: no certified projection (flow residual "
            f"{self._state.solver.figures[0]:.1e}); the episode was taken back: "
            "lower eta or raise gamma or log_scale"
        )


def _first_measure(layout: Layout) -> Measure:
    """q_1: uniform, 1 / (|X_k| |A| |X_{k+1}|) on every triple; every state has mass 1 / |X_k|.

    With a declared support the same formula would not conserve flow; there q_1 is the measure of
    the uniform policy and of transitions uniform over the declared successors.
    """
    size = layout.row_sizes()
    chance = np.repeat(1.0 / size, size)
    policy = np.full(layout.n_rows, 1.0 / layout.n_actions)
    mass = np.zeros(layout.n_states)
    forward(layout.graph(), chance, policy, mass)
    return Measure(chance, policy, mass)


def _no_visits(layout: Layout, n_episodes: int) -> Visits:
    n_rows, n_entries = layout.n_rows, layout.n_entries
    most_epochs = 2 + min(n_episodes, n_rows * (1 + int(math.log2(n_episodes))))
    counts = {
        name: np.zeros(n_rows, dtype=np.int64)
        for name in ("pairs", "opened", "changed", "old_opened")
    }
    return Visits(
        **counts,
        triples=np.zeros(n_entries, dtype=np.int32),
        marked=np.zeros(n_rows, dtype=np.uint8),
        clock=np.array([1, 0, 0, 0, 0], dtype=np.int64),
        starts=np.zeros(most_epochs, dtype=np.int64),
        old_kind=np.zeros(n_rows, dtype=np.uint8),
        old_slack=np.zeros(n_rows),
        old_lower=np.zeros(n_entries),
        old_upper=np.zeros(n_entries),
    )
