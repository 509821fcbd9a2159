"""Results made of formulas, with exponents and differences that are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from advmdp.evaluation.run import log_spaced
from advmdp.evaluation.schema import Level, loss_columns, term_columns
from advmdp.reports.results import Results, curve_columns, run_columns
from advmdp.store.frames import polars_schema

RUN_SCHEMA, CURVE_SCHEMA = (polars_schema(columns()) for columns in (run_columns, curve_columns))
LOSSES = tuple(column.name for column in loss_columns(Level.RUN))
TERMS = tuple(term.name for term in term_columns())

LAWS = {"uob-reps": (8.0, 0.5), "exp3-ix": (2.0, 0.75), "uniform": (0.4, 1.0)}
"""Constant and exponent of each learner's regret."""
PROJECTING = ("uob-reps", "uob-reps eta_scale=2")
SHARES = (0.15, 0.25, 0.5, 0.1)  # of the four terms in the regret
MDP, LOSS = "random layer_sizes=1,3,3,1 n_actions=2", "majority period=100"


def made_up_results(
    laws: Mapping[str, tuple[float, float]] = LAWS,
    n_episodes: Sequence[int] = (1000, 4000, 16000),
    n_replicates: int = 8,
    *,
    common: float = 0.2,
    own: float = 0.02,
    mdps: Sequence[str] = (MDP,),
    losses: Sequence[str] = (LOSS,),
    seed: int = 0,
) -> Results:
    """Finished runs; the regret of a replicate is the law times a factor.

    The factor is 1 + ``common`` z + ``own`` z', where z is the same for all learners (the world),
    z' each learner's own, both standard normal.
    """
    rng = np.random.default_rng(seed)
    runs, curves = [], []
    for mdp, loss in product(mdps, losses):
        worlds = rng.standard_normal(n_replicates)
        for T, (learner, (constant, exponent)) in product(n_episodes, laws.items()):
            factors = 1.0 + common * worlds + own * rng.standard_normal(n_replicates)
            for replicate, factor in enumerate(factors):
                names = {"learner": learner, "mdp": mdp, "losses": loss, "n_episodes": T}
                names |= {"seed": 0, "replicate": replicate}
                t = log_spaced(T)
                curve = _curve(names, t, factor * constant * t**exponent, rng)
                curves.append(pl.DataFrame(curve, schema_overrides=CURVE_SCHEMA))
                runs.append(_run(names, curve))
    return Results(pl.DataFrame(runs, schema=RUN_SCHEMA), pl.concat(curves))


def changed(results: Results, run: int, **values: Any) -> Results:
    """The results with other values in one row of the runs."""
    rows = results.runs.to_dicts()
    rows[run] |= values
    return Results(pl.DataFrame(rows, schema=RUN_SCHEMA), results.curves)


def in_rewards(
    results: Results, low: float | None, high: float | None, unit: str | None
) -> Results:
    """The results with another range, as other runs."""
    runs = results.runs.with_columns(
        run=pl.col("run") + f" {unit}{low}",
        reward_low=pl.lit(low, pl.Float64),
        reward_high=pl.lit(high, pl.Float64),
        reward_unit=pl.lit(unit, pl.String),
        reward_steps=pl.lit(3 if unit else None, pl.Int64),
    )
    return Results(runs, results.curves.with_columns(run=pl.col("run") + f" {unit}{low}"))


def _curve(
    names: Mapping[str, Any],
    t: NDArray[np.int64],
    regret: NDArray[np.float64],
    rng: np.random.Generator,
) -> dict[str, Any]:
    luck = np.cumsum(np.sqrt(np.diff(t, prepend=0)) * rng.standard_normal(len(t)))
    curve = {
        "run": ["_".join(map(str, names.values()))] * len(t),
        "episodes": t,
        "regret": regret,
        "expected_loss": 1.5 * t + regret,
        "realised_loss": 1.5 * t + regret + luck,
        "best_loss": 1.5 * t,
    }
    if names["learner"] in PROJECTING:
        epoch, width = 1 + (5 * np.log2(t)).astype(np.int64), np.minimum(1.0, 8 / np.sqrt(t))
        terms = {term: share * regret for term, share in zip(TERMS, SHARES, strict=True)}
        return {**curve, **terms, "epoch": epoch, "mean_width": width}
    return {**curve, **{name: [None] * len(t) for name in (*TERMS, "epoch", "mean_width")}}


def _run(names: Mapping[str, Any], curve: Mapping[str, Any]) -> dict[str, Any]:
    projects = names["learner"] in PROJECTING
    return {
        **names,
        **{key: float(curve[key][-1]) for key in LOSSES},
        "run": curve["run"][0],
        "hash": "1f2e3d4c",
        "status": "finished",
        "spec": json.dumps(dict(names)),
        "episodes": names["n_episodes"],
        "seconds": names["n_episodes"] / 50_000,
        "episodes_per_second": 50_000.0,
        "projections": names["n_episodes"] if projects else None,
        "safe_paths": 0 if projects else None,
        "worst_residual": 2e-14 if projects else None,
        "worst_gap": 3e-16 if projects else None,
        "started": "2026-01-01T00:00:00",
        "version": "0.1.0",
        "machine": "a machine",
    }
