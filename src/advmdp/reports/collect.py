"""Results from runs that are still in memory, for those who do not keep a store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.evaluation.run import Run
from advmdp.reports.results import (
    CURVE_COLUMNS,
    FINISHED,
    LOSSES,
    RUN_COLUMNS,
    TERMS,
    Results,
)


@dataclass(frozen=True)
class Played:
    """A run and what it is called in a report."""

    learner: str
    run: Run
    mdp: str = "mdp"
    losses: str = "losses"
    replicate: int = 0
    """Runs with the same number met the same world, losses and random numbers."""
    rewards: Rewards | None = None
    """The range of the rewards that the losses stand for: the report is then in rewards."""
    unit: str = "rewards"
    """What rewards are counted in."""
    steps: int | None = None
    """Steps of an episode that earn a reward: all layers, or one less with an opening layer."""


def collect(plays: Iterable[Played]) -> Results:
    """The frames of a report.

    >>> import numpy as np, advmdp as am
    >>> mdp = am.families.random_mdp((1, 3, 3, 1), n_actions=2, seed=0)
    >>> losses = am.losses.Stochastic(np.linspace(0.0, 1.0, mdp.layout.n_rows))
    >>> runs = [am.play(mdp, losses, am.Uniform(mdp.layout), 100, seed) for seed in range(3)]
    >>> results = collect(Played("uniform", run, replicate=i) for i, run in enumerate(runs))
    >>> results.counts()
    {'finished': 3}
    """
    runs, curves = [], []
    for play in plays:
        row = _run_row(play)
        runs.append(row)
        curves.append(_curve(row["run"], play.run))
    if not runs:
        raise InvalidInput("plays: give at least one run")
    return Results(pl.DataFrame(runs, schema=RUN_COLUMNS), pl.concat(curves))


def _run_row(play: Played) -> dict[str, Any]:
    run, solver = play.run, play.run.solver
    n_episodes = int(run.episodes[-1])
    rewards: dict[str, Any] = {}
    if play.rewards is not None:
        rewards = {
            "reward_low": play.rewards.low,
            "reward_high": play.rewards.high,
            "reward_unit": play.unit,
            "reward_steps": len(run.best.policy) if play.steps is None else play.steps,
        }
    name = f"{play.learner}_{play.mdp}_{play.losses}_T{n_episodes}_r{play.replicate}"
    return {
        **dict.fromkeys(RUN_COLUMNS),
        **{name: float(getattr(run, name)[-1]) for name in LOSSES},
        "run": name,
        "status": FINISHED,
        "learner": play.learner,
        "mdp": play.mdp,
        "losses": play.losses,
        "n_episodes": n_episodes,
        "episodes": n_episodes,
        "seed": 0,
        "replicate": play.replicate,
        "spec": "{}",
        "seconds": run.seconds,
        "episodes_per_second": n_episodes / max(run.seconds, 1e-9),
        **rewards,
        **(
            {
                "projections": solver.projections,
                "safe_paths": solver.safe_paths,
                "worst_residual": solver.worst_residual,
                "worst_gap": solver.worst_gap,
            }
            if solver
            else {}
        ),
    }


def _curve(name: str, run: Run) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "run": [name] * len(run.episodes),
        "episodes": run.episodes,
        **{loss: getattr(run, loss) for loss in LOSSES},
        **{term: getattr(run.decomposition, term, None) for term in TERMS},
        "epoch": run.epoch,
        "mean_width": run.mean_width,
    }
    kept = {name: values for name, values in columns.items() if values is not None}
    missing = [
        pl.lit(None, CURVE_COLUMNS[name]).alias(name) for name in columns.keys() - kept.keys()
    ]
    return pl.DataFrame(kept).with_columns(missing).select(*CURVE_COLUMNS)
