"""A long, aggressive run: is every single projection certified?"""

from __future__ import annotations

import numpy as np

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section, number
from benchmarks.worlds import SMALL, make_world

EPISODES = 1_000_000
LOG_SCALE, ETA_SCALE = 0.01, 16.0
CERTIFIED = 1e-10  # of flow residual and duality gap; the solver itself asks for less
COLUMNS = ("losses", "episodes", "projections", "safe path", "uncertified")
CERTIFICATES = ("worst residual", "worst gap", "steps", "episodes/s")


def processes(mean: np.ndarray) -> dict[str, am.losses.LossProcess]:
    """Coin flips, tables that turn around, and an adversary that reacts."""
    return {
        "coin flips": am.losses.Stochastic(mean),
        "switching": am.losses.Switching([mean, 1.0 - mean], period=5000),
        "reacting": am.losses.Adaptive(mean),
    }


def aggressive(
    world_mdp: am.LayeredMDP, losses: am.losses.LossProcess, n_episodes: int
) -> tuple[am.Run | None, str]:
    """The run, or None and the message of the projection that was refused."""
    learner = am.UOBREPS(
        world_mdp.layout, n_episodes=n_episodes, log_scale=LOG_SCALE, eta_scale=ETA_SCALE
    )
    try:
        return am.play(world_mdp, losses, learner, n_episodes, checkpoints=[n_episodes]), ""
    except am.UncertifiedStep as error:
        return None, f"{error} (after {learner.episodes:,} episodes)"


def run(*, quick: bool) -> Section:
    """The section."""
    world = make_world(SMALL)
    n_episodes = EPISODES // (10 if quick else 1)
    mean = np.random.default_rng(1).random(world.layout.n_rows)
    rows, figures, notes = [], [], []
    for name, losses in processes(mean).items():
        played, refusal = aggressive(world.mdp, losses, n_episodes)
        what = f"robustness, {name}"
        if played is None or played.solver is None:
            notes.append(f"{name}: {refusal}")
            rows.append((name, f"{n_episodes:,}", "-", "-", "1", *["-"] * len(CERTIFICATES)))
            figures.append(Figure(f"{what}: uncertified projections", 1, "", 0, AT_MOST))
            continue
        solver = played.solver
        uncertified = int(not max(solver.worst_residual, solver.worst_gap) <= CERTIFIED)
        rows.append(
            (
                name,
                f"{n_episodes:,}",
                f"{solver.projections:,}",
                f"{solver.safe_paths:,}",
                f"{uncertified}",
                f"{solver.worst_residual:.0e}",
                f"{solver.worst_gap:.0e}",
                f"{solver.iterations / solver.projections:.2f}",
                number(n_episodes / played.seconds),
            )
        )
        figures += [
            Figure(f"{what}: uncertified projections", uncertified, "", 0, AT_MOST),
            Figure(f"{what}: safe-path projections", solver.safe_paths, ""),
            Figure(f"{what}: worst residual", solver.worst_residual, ""),
            Figure(f"{what}: worst gap", solver.worst_gap, ""),
        ]
    title = f"Robustness at {SMALL}, log_scale {LOG_SCALE:g}, eta_scale {ETA_SCALE:g}"
    return Section([Grid(title, (*COLUMNS, *CERTIFICATES), rows, "; ".join(notes))], figures)
