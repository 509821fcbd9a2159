"""Made-up measurements from formulas, and labs that need no processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl

from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, measured_on
from advmdp.claims.playing.run_grids import RunGrid, specs_of
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.interface import EngineOptions
from advmdp.experiments.runner import run_all
from advmdp.experiments.spec import RunSpec

TERMS = ("error", "bias1", "reg", "bias2")
Formula = Callable[[RunSpec], float]
Key = TypeVar("Key")


def luck(spec: RunSpec) -> float:
    """A standard normal number that belongs to the spec."""
    return float(np.random.default_rng(int(spec.hash[:12], 16)).standard_normal())


def gap_of(spec: RunSpec) -> float:
    """The gap of the losses."""
    return float(spec.losses.parameters["gap"])  # type: ignore[arg-type]


def with_noise(specs: Iterable[RunSpec], formula: Formula, noise: float) -> dict[str, float]:
    """By run id: the formula times 1 + noise z, with z of the spec."""
    return {spec.id: formula(spec) * (1.0 + noise * luck(spec)) for spec in specs}


def regrets(
    grids: Mapping[Key, RunGrid], formula: Formula, noise: float = 0.01
) -> dict[Key, RegretGrid]:
    """Grids of runs whose regret is the formula's, up to noise."""
    by_run = with_noise(specs_of(*grids.values()), formula, noise)
    return {key: measured_on(grid, by_run) for key, grid in grids.items()}


def runs_frame(grids: Iterable[RunGrid]) -> pl.DataFrame:
    """The frame of runs as a store has it, as far as it is read."""
    return pl.DataFrame(
        [{"run": spec.id, "n_episodes": spec.n_episodes} for spec in specs_of(*grids)]
    )


def curves_frame(
    grid: RunGrid, terms: Callable[[RunSpec], Sequence[float]], off: float = 0.0
) -> pl.DataFrame:
    """Curves with two checkpoints; the regret is the sum of the terms plus ``off``."""
    rows = []
    for spec in specs_of(grid):
        values = np.array(terms(spec))
        for episodes, share in ((spec.n_episodes // 2, 0.5), (spec.n_episodes, 1.0)):
            parts = dict(zip(TERMS, (share * values).tolist(), strict=True))
            total = share * float(values.sum()) + off
            rows.append({"run": spec.id, "episodes": episodes, **parts, "regret": total})
    return pl.DataFrame(rows)


@dataclass(frozen=True)
class InlineLab(Lab):
    """Plays stored runs in this process: for runs of a moment."""

    workers: int = 1

    def prepare(self, specs: Sequence[RunSpec]) -> None:
        summary = run_all(specs, self.store, InlineEngine(self.store.path, EngineOptions()))
        assert summary.complete, summary.failures


@dataclass(frozen=True)
class LemmaLab(Lab):
    """For claims that need no store; every claim draws from the same stream."""

    store: Any = None

    def rng(self, claim: str) -> np.random.Generator:
        return np.random.default_rng(3)
