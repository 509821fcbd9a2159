"""Runs made of formulas, for tests that look at runs and play none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from advmdp.evaluation.account import SolverStatistics
from advmdp.evaluation.comparator import Comparator
from advmdp.evaluation.run import Run


def made_up_run(
    regret: NDArray[np.float64],
    episodes: NDArray[np.int64],
    best_per_episode: float = 1.5,
    projections: int | None = None,
) -> Run:
    """A run with the given regret; the best fixed policy loses the same in every episode."""
    best_loss = best_per_episode * episodes
    solver = None
    if projections is not None:
        solver = SolverStatistics(projections, 3 * projections, 0, 0, 0, 2e-13, 3e-16)
    return Run(
        episodes=episodes,
        regret=regret,
        expected_loss=best_loss + regret,
        realised_loss=best_loss + regret,
        best_loss=best_loss,
        decomposition=None,
        epoch=None if solver is None else np.full(len(episodes), 7),
        mean_width=None,
        epoch_starts=None,
        solver=solver,
        best=Comparator([], np.zeros(0), float(best_loss[-1])),
        seconds=2.0,
        compiled=True,
    )


def learner_and_baseline(n_episodes: int = 10_000) -> tuple[Run, Run]:
    """Regret sqrt(40 T) beside regret T / 2."""
    episodes = np.unique(np.linspace(1, n_episodes, 1000).round().astype(np.int64))
    learner = made_up_run(np.sqrt(40.0 * episodes), episodes, projections=1234)
    return learner, made_up_run(episodes / 2, episodes)
