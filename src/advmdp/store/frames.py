"""The runs of a store as polars frames."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

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
    **dict.fromkeys(("regret", "expected_loss", "realised_loss", "best_loss"), pl.Float64),
    **dict.fromkeys(("error", "bias1", "reg", "bias2"), pl.Float64),
    "epoch": pl.Int64,
    "mean_width": pl.Float64,
}


def runs_frame(manifests: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """One row per run."""
    rows = []
    for manifest in manifests:
        figures = manifest.get("figures") or {}
        solver = figures.get("solver") or {}
        seconds = manifest.get("seconds")
        flat = {
            **manifest,
            **figures,
            **solver,
            "episodes": manifest["n_episodes"] if figures else None,
            "episodes_per_second": manifest["n_episodes"] / seconds if seconds else None,
            "version": manifest["versions"]["advmdp"],
            "machine": manifest["machine"]["host"],
            "spec": json.dumps(manifest["spec"], sort_keys=True),
        }
        rows.append(tuple(flat.get(name) for name in RUNS))
    return pl.DataFrame(rows, schema=RUNS, orient="row")


def curves_frame(files: Iterable[Path]) -> pl.DataFrame:
    """One row per run and checkpoint."""
    paths = [str(path) for path in files]
    if not paths:
        return pl.DataFrame(schema=CURVES)
    return pl.read_parquet(paths, schema=CURVES)


def with_identity(curves: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Curves with what tells their runs apart in every row: ready for any other tool."""
    keys = ["run", "learner", "mdp", "losses", "n_episodes", "seed", "replicate"]
    return runs.select(keys).join(curves, on="run", how="inner")


def as_bytes(frame: pl.DataFrame, *, csv: bool) -> bytes:
    """The frame as CSV or as Parquet."""
    buffer = io.BytesIO()
    if csv:
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    return buffer.getvalue()
