"""A finished run as a store keeps it: curves, final figures, effort."""

from __future__ import annotations

import hashlib
import io
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from advmdp.evaluation.rewards import Rewards
from advmdp.evaluation.run import Run

TERMS = ("error", "bias1", "reg", "bias2")
LOSS_CURVES = ("regret", "expected_loss", "realised_loss", "best_loss")
REWARD_CURVES = ("reward_regret", "expected_reward", "realised_reward", "best_reward")
"""The same in rewards, in the same order."""


class Range(Protocol):
    """What a spec says about rewards."""

    @property
    def range(self) -> Rewards:
        """From losses to rewards."""


@dataclass(frozen=True)
class Outcome:
    """What a worker hands back; nothing in it depends on how often the run was cut."""

    curves: dict[str, NDArray[Any] | None]
    figures: dict[str, Any]


def outcome_of(run: Run, rewards: Range | None = None, steps: int | None = None) -> Outcome:
    """The part of a ``Run`` that is kept; with ``rewards``, its figures in rewards too.

    ``steps`` of every episode earn a reward.
    """
    curves: dict[str, NDArray[Any] | None] = {"episodes": run.episodes}
    curves |= {name: getattr(run, name) for name in LOSS_CURVES}
    curves |= {
        name: None if run.decomposition is None else getattr(run.decomposition, name)
        for name in TERMS
    }
    curves |= {"epoch": run.epoch, "mean_width": run.mean_width}
    figures: dict[str, Any] = {name: float(getattr(run, name)[-1]) for name in LOSS_CURVES}
    figures["epoch_starts"] = None if run.epoch_starts is None else run.epoch_starts.tolist()
    figures["solver"] = None if run.solver is None else asdict(run.solver)
    if rewards is not None:
        told = rewards.range.report(run, steps)
        values = (told.regret, told.expected_reward, told.realised_reward, told.best_reward)
        final = (float(curve[-1]) for curve in values)
        figures["rewards"] = {
            "reward_steps": len(run.best.policy) if steps is None else steps,
            **dict(zip(REWARD_CURVES, final, strict=True)),
        }
    return Outcome(curves, figures)


def parquet_of(run: str, curves: dict[str, NDArray[Any] | None]) -> bytes:
    """The curves as a Parquet file: one row per checkpoint, the run's id in every row."""
    import polars as pl

    n_rows = len(curves["episodes"])  # type: ignore[arg-type]
    whole = {"episodes", "epoch"}
    columns = [pl.Series("run", [run] * n_rows, dtype=pl.String)]
    for name, values in curves.items():
        dtype = pl.Int64 if name in whole else pl.Float64
        columns.append(pl.Series(name, [None] * n_rows if values is None else values, dtype=dtype))
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def checksum(data: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
