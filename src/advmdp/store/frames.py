"""The runs of a store as polars frames."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from advmdp.evaluation.rewards import total_reward
from advmdp.store.outcome import LOSS_CURVES, REWARD_CURVES, TERMS

RUNS = {
    "run": pl.String,
    "hash": pl.String,
    "status": pl.String,
    "learner": pl.String,
    "mdp": pl.String,
    "losses": pl.String,
    "n_episodes": pl.Int64,
    "seed": pl.Int64,
    "replicate": pl.Int64,
    "episodes": pl.Int64,
    "regret": pl.Float64,
    "expected_loss": pl.Float64,
    "realised_loss": pl.Float64,
    "best_loss": pl.Float64,
    "reward_low": pl.Float64,
    "reward_high": pl.Float64,
    "reward_unit": pl.String,
    "reward_steps": pl.Int64,
    **dict.fromkeys(REWARD_CURVES, pl.Float64),
    "seconds": pl.Float64,
    "episodes_per_second": pl.Float64,
    "sittings": pl.Int64,
    "projections": pl.Int64,
    "safe_paths": pl.Int64,
    "worst_residual": pl.Float64,
    "worst_gap": pl.Float64,
    "started": pl.String,
    "finished": pl.String,
    "version": pl.String,
    "machine": pl.String,
    "reason": pl.String,
    "spec": pl.String,
}
CURVES = {
    "run": pl.String,
    "episodes": pl.Int64,
    **dict.fromkeys(LOSS_CURVES, pl.Float64),
    **dict.fromkeys(TERMS, pl.Float64),
    "epoch": pl.Int64,
    "mean_width": pl.Float64,
}


def runs_frame(manifests: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """One row per run."""
    rows = []
    for manifest in manifests:
        figures = manifest.get("figures") or {}
        solver = figures.get("solver") or {}
        rewards = manifest["spec"].get("rewards") or {}
        seconds = manifest.get("seconds")
        flat = {
            **manifest,
            **figures,
            **solver,
            **{f"reward_{name}": value for name, value in rewards.items()},
            **(figures.get("rewards") or {}),
            "episodes": manifest["n_episodes"] if figures else None,
            "episodes_per_second": manifest["n_episodes"] / seconds if seconds else None,
            "version": manifest["versions"]["advmdp"],
            "machine": manifest["machine"]["host"],
            "spec": json.dumps(manifest["spec"], sort_keys=True),
        }
        rows.append(tuple(flat.get(name) for name in RUNS))
    return pl.DataFrame(rows, schema=RUNS, orient="row")


def curves_frame(files: Iterable[Path], runs: pl.DataFrame) -> pl.DataFrame:
    """One row per run and checkpoint; in rewards too, where ``runs`` has a range for them."""
    paths = [str(path) for path in files]
    kept = pl.read_parquet(paths, schema=CURVES) if paths else pl.DataFrame(schema=CURVES)
    ranges = runs.select("run", "reward_low", "reward_high", "reward_steps")
    told = kept.join(ranges, on="run", how="left", maintain_order="left")
    return told.with_columns(**in_rewards(pl.col("episodes"))).drop(ranges.columns[1:])


def in_rewards(n_episodes: pl.Expr) -> dict[str, pl.Expr]:
    """The columns of ``REWARD_CURVES`` from those of ``LOSS_CURVES``; null without a range."""
    low, high = pl.col("reward_low"), pl.col("reward_high")
    steps = n_episodes * pl.col("reward_steps")
    regret, *totals = LOSS_CURVES
    in_totals = [total_reward(pl.col(loss), steps, low, high) for loss in totals]
    return dict(zip(REWARD_CURVES, (pl.col(regret) * (high - low), *in_totals), strict=True))


def with_identity(curves: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Curves with what tells their runs apart in every row: ready for any other tool."""
    keys = ["run", "learner", "mdp", "losses", "n_episodes", "seed", "replicate"]
    keys += ["reward_low", "reward_high", "reward_unit"]
    return runs.select(keys).join(curves, on="run", how="inner")


def as_bytes(frame: pl.DataFrame, *, csv: bool) -> bytes:
    """The frame as CSV or as Parquet."""
    buffer = io.BytesIO()
    if csv:
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    return buffer.getvalue()
