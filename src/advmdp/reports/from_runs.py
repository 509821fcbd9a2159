"""Results from runs in memory, without a store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards, reward_steps
from advmdp.evaluation.run import Run
from advmdp.evaluation.schema import FINISHED, curves_of, final_value_of
from advmdp.reports.results import Results, run_columns
from advmdp.store.frames import curve_frame, polars_schema


@dataclass(frozen=True)
class LabelledRun:
    """A run with its labels in a report."""

    learner: str
    run: Run
    mdp: str = "mdp"
    losses: str = "losses"
    replicate: int = 0
    """Runs with equal numbers met the same world, losses and random numbers."""
    rewards: Rewards | None = None
    """The range of the rewards that the losses stand for: the report is then in rewards."""
    unit: str = "rewards"
    """The unit of the rewards."""
    steps: int | None = None
    """Steps of an episode that earn a reward: all layers, or one less with an opening layer."""

    @property
    def name(self) -> str:
        """The id of the run in a report."""
        n_episodes = self.run.episodes[-1]
        return f"{self.learner}_{self.mdp}_{self.losses}_T{n_episodes}_r{self.replicate}"


def results_from_runs(runs: Iterable[LabelledRun]) -> Results:
    """The frames of a report.

    >>> import numpy as np, advmdp as am
    >>> mdp = am.families.random_mdp((1, 3, 3, 1), n_actions=2, seed=0)
    >>> losses = am.losses.Stochastic(np.linspace(0.0, 1.0, mdp.layout.n_rows))
    >>> runs = [am.play(mdp, losses, am.Uniform(mdp.layout), 100, seed) for seed in range(3)]
    >>> labelled = (LabelledRun("uniform", run, replicate=i) for i, run in enumerate(runs))
    >>> results_from_runs(labelled).counts()
    {'finished': 3}
    """
    labelled = list(runs)
    if not labelled:
        raise InvalidInput("runs: give at least one run")
    rows = [_row(each) for each in labelled]
    curves = pl.concat(curve_frame(each.name, curves_of(each.run)) for each in labelled)
    return Results(pl.DataFrame(rows, schema=polars_schema(run_columns())), curves)


def _row(labelled: LabelledRun) -> dict[str, Any]:
    """One row of the runs; what only a store knows is null."""
    run, n_episodes = labelled.run, int(labelled.run.episodes[-1])
    row: dict[str, Any] = {
        column.name: None if column.source is None else final_value_of(run, column)
        for column in run_columns()
    }
    row |= {
        "run": labelled.name,
        "status": FINISHED,
        "learner": labelled.learner,
        "mdp": labelled.mdp,
        "losses": labelled.losses,
        "n_episodes": n_episodes,
        "seed": 0,
        "replicate": labelled.replicate,
        "spec": "{}",
        "seconds": run.seconds,
        "episodes_per_second": n_episodes / max(run.seconds, 1e-9),
    }
    if labelled.rewards is not None:
        row |= {
            "reward_low": labelled.rewards.low,
            "reward_high": labelled.rewards.high,
            "reward_unit": labelled.unit,
            "reward_steps": reward_steps(run, labelled.steps),
        }
    return row
