"""Claims without a paper: a verdict that is known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from advmdp.claims.catalogue import AnyClaim
from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.experiments.spec import RunSpec
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval

Measure = Callable[[Lab, Any], Any]
TEXTS = dict.fromkeys(("reference", "checked", "instances", "measured", "bound", "margin"), "so")


def known(lab: Lab, verdict: str) -> str:
    """A measurement that is the effort."""
    return verdict


def judge(verdict: Any) -> Judgement:
    """The verdict that was measured, with a panel and runs."""
    line = Series("uob-reps", "UOB-REPS", np.array([1.0, 10.0]), np.array([2.0, np.nan]))
    bound = Series("bound", "the bound", np.array([1.0, 10.0]), np.array([3.0, 9.0]))
    return Judgement(
        verdict,
        figures={},
        data={"slope": Interval(0.5, np.nan, 0.6, 3)},
        panels=(Panel("Growth", "T (episodes)", "regret", (line, bound), x_log=True),),
        runs=("run-1", "run-2"),
    )


def claim(
    verdict: str = "holds",
    statement: str = "A claim",
    measure: Measure = known,
    *,
    stored: bool = True,
) -> AnyClaim:
    """A claim with this verdict, which rests on stored runs but needs none."""
    return Claim(
        "fake",
        Description(statement=statement, **TEXTS),
        quick=verdict,
        full=verdict,
        measure_at=measure,
        judge=judge,
        grids=no_grids if stored else None,
    )


def no_grids(effort: Any) -> dict[str, Any]:
    """No stored runs."""
    return {}


def claim_on(specs: list[RunSpec], measure: Measure = known) -> AnyClaim:
    """A claim that rests on these stored runs."""
    grid = np.array(specs, dtype=object).reshape(-1, 1, 1)
    return Claim(
        "fake",
        Description(statement="A claim", **TEXTS),
        quick="holds",
        full="holds",
        measure_at=measure,
        judge=judge,
        grids=lambda effort: {"all": grid},
    )


def finding(verdict: str = "holds", statement: str = "A claim", **fields: Any) -> Finding:
    """A finding with this verdict."""
    made = claim(verdict, statement).conclude(verdict)
    return Finding(**{**vars(made), **fields})
