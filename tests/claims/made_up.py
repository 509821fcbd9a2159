"""Runs made of formulas, in the frames that judges read; and a lab that plays in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from advmdp.claims.designs import Design, all_specs
from advmdp.claims.lab import Lab
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.runner import run_all
from advmdp.experiments.spec import RunSpec

TERMS = ("error", "bias1", "reg", "bias2")
Regret = Callable[[RunSpec], float]


def runs_frame(designs: Iterable[Design], regret: Regret, noise: float = 0.01) -> pl.DataFrame:
    """Runs whose regret is the formula's, times 1 + noise z with z of the replicate and length."""
    rows = [
        {
            "run": spec.id,
            "n_episodes": spec.n_episodes,
            "replicate": spec.replicate,
            "regret": regret(spec) * (1.0 + noise * luck(spec)),
        }
        for spec in all_specs(*designs)
    ]
    return pl.DataFrame(rows)


def luck(spec: RunSpec) -> float:
    """A standard normal number that belongs to the spec."""
    return float(np.random.default_rng(int(spec.hash[:12], 16)).standard_normal())


def gap_of(spec: RunSpec) -> float:
    """The gap of the losses."""
    return float(spec.losses.parameters["gap"])  # type: ignore[arg-type]


def curves_frame(
    design: Design, terms: Callable[[RunSpec], Sequence[float]], off: float = 0.0
) -> pl.DataFrame:
    """Curves with two checkpoints; the regret is the sum of the terms plus ``off``."""
    rows = []
    for spec in all_specs(design):
        values = np.array(terms(spec))
        for episodes, share in ((spec.n_episodes // 2, 0.5), (spec.n_episodes, 1.0)):
            parts = dict(zip(TERMS, (share * values).tolist(), strict=True))
            total = share * float(values.sum()) + off
            rows.append({"run": spec.id, "episodes": episodes, **parts, "regret": total})
    return pl.DataFrame(rows)


@dataclass(frozen=True)
class InlineLab(Lab):
    """No processes: for runs of a moment."""

    workers: int = 1

    def prepare(self, specs: Sequence[RunSpec]) -> None:
        summary = run_all(specs, self.store, InlineEngine(self.store.path))
        assert summary.complete, summary.failures
