"""Lemma 2: with probability 1 - 4 delta the truth is in the confidence set of every epoch.

The sets depend on the visits alone, so that one run tells for every factor on the log term whether
sets built with it would contain P: each run has a *least factor*, and the share of runs above a
factor estimates the failure probability there.  That shows where the lemma's constants matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from advmdp.batch import BatchRun
from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import verdict_of
from advmdp.claims.lab import Lab
from advmdp.claims.playing.observed_runs import observe_runs
from advmdp.claims.playing.random_instances import LearnerFactory, random_instance, shape_name
from advmdp.claims.statistics.exact_tests import ERROR_RATE, clopper_pearson_upper, exceeds_rate
from advmdp.layout import Floats
from advmdp.learners.mirror.uob_reps import UOBREPS
from advmdp.reports.figures.panels import Panel, Series

DELTA = 0.01
FACTORS = (1.0, 0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.001)
SHRUNK = 0.01
"""The factor on the log term of the runs for comparison."""


class Effort(NamedTuple):
    """Runs with the printed widths, and a few with a shrunk log term for comparison."""

    n_runs: int
    n_episodes: int
    n_shrunk: int
    layers: tuple[int, ...] = (1, 3, 3, 1)
    n_actions: int = 2


class Measurement(NamedTuple):
    """What was observed in each run, and in all of them together."""

    effort: Effort
    least_factors: list[float]
    """Of each run: the least factor on the log term with which all sets would contain P."""
    missed: list[int]
    """Of each run: the epochs whose set does not contain P."""
    shrunk_missed: list[int]
    """The same for the runs with a shrunk log term."""
    epochs: int
    rows: int
    """Rows with several successors, summed over epochs."""
    tight_rows: int
    """Those of them whose set is not the whole simplex."""


def measure(lab: Lab, effort: Effort, make: LearnerFactory = UOBREPS) -> Measurement:
    """Coverage over all epochs, each run on an instance of its own."""
    rng = lab.rng("confidence")
    runs = _runs(effort, effort.n_runs, rng, make, 1.0)
    seen = observe_runs(runs, effort.n_episodes, bounds=False, on_gpu=lab.on_gpu)
    shrunk_runs = _runs(effort, effort.n_shrunk, rng, make, SHRUNK)
    shrunk = observe_runs(shrunk_runs, effort.n_episodes, bounds=False, on_gpu=lab.on_gpu)
    return Measurement(
        effort,
        least_factors=[one.least_factor for one in seen],
        missed=[one.epochs_missed for one in seen],
        shrunk_missed=[one.epochs_missed for one in shrunk],
        epochs=sum(one.epochs for one in seen),
        rows=sum(one.rows for one in seen),
        tight_rows=sum(one.tight_rows for one in seen),
    )


def judge(measurement: Measurement) -> Judgement:
    """Whether more runs lost P than 4 delta explains."""
    effort, least = measurement.effort, np.array(measurement.least_factors)
    failures = sum(missed > 0 for missed in measurement.missed)
    lost_when_shrunk = sum(missed > 0 for missed in measurement.shrunk_missed)
    share = measurement.tight_rows / measurement.rows
    breaks = float(np.quantile(least, 1.0 - 4 * DELTA))
    return Judgement(
        verdict_of(
            not exceeds_rate(failures, effort.n_runs, 4 * DELTA),
            can_fail=measurement.tight_rows > 0,
        ),
        figures={
            **effort._asdict(),
            "shape": shape_name(effort.layers, effort.n_actions),
            "epochs": measurement.epochs,
            "share": share,
            "failures": failures,
            "limit": clopper_pearson_upper(failures, effort.n_runs),
            "lost_when_shrunk": lost_when_shrunk,
            "breaks": breaks,
            "times": 1 / max(breaks, 1e-9),
        },
        data={
            "failures": failures,
            "runs": effort.n_runs,
            "epochs": measurement.epochs,
            "tight_share": share,
            "factors": list(FACTORS),
            "chance_to_lose_P": [float((least > factor).mean()) for factor in FACTORS],
            "factor_at_4_delta": breaks,
            "largest_least_factor": float(least.max()),
            "shrunk": {"factor": SHRUNK, "lost": lost_when_shrunk},
        },
        panels=(_coverage_panel(least),),
    )


CLAIM = Claim(
    "confidence-sets",
    Description(
        statement="confidence sets",
        reference="Lemma 2 (lem:confidence_sets), Eq. (width)",
        checked=(
            "P in the set of every epoch, looked at when the epoch opens; and the least factor on "
            "the log term with which all sets of a run would still hold P"
        ),
        instances=(
            "{n_runs} runs of {n_episodes} episodes, each in a random world {shape}, "
            f"delta = {DELTA}; "
            "{epochs} epochs, {share:.0%} of their rows with a set that is not the whole simplex"
        ),
        measured=(
            "{failures} of {n_runs} runs lost P once or more (chance of it at most {limit:.2%} "
            f"with confidence {1 - ERROR_RATE:.1%}); with the log term x {SHRUNK}, "
            "{lost_when_shrunk} of {n_shrunk}"
        ),
        bound=f"a chance of 4 delta = {4 * DELTA:.0%}",
        margin=(
            "coverage falls to 1 - 4 delta only with the log term x {breaks:.3f}: the printed one "
            "is {times:.0f} times what these worlds need"
        ),
        error_rate=f"{ERROR_RATE:.1%} (binomial test)",
    ),
    quick=Effort(1000, 3000, 50),
    full=Effort(10_000, 5000, 500),
    measure_at=measure,
    judge=judge,
    on_gpu=True,
)


def _runs(
    effort: Effort, n_runs: int, rng: np.random.Generator, make: LearnerFactory, log_scale: float
) -> Iterator[BatchRun]:
    for _ in range(n_runs):
        mdp, losses, seed = random_instance(effort.layers, effort.n_actions, rng)
        learner = make(mdp.layout, effort.n_episodes, delta=DELTA, log_scale=log_scale)
        yield BatchRun(mdp, losses, learner, seed)


def _coverage_panel(least: Floats) -> Panel:
    factors = np.geomspace(1e-4, 1.0, 80)
    share = np.array([(least <= factor).mean() for factor in factors])
    asked = np.full(2, 1.0 - 4 * DELTA)
    return Panel(
        "Coverage against the log term of the widths",
        "factor on ln(T|X||A|/delta)",
        "share of runs that never lose P",
        (
            Series("uob-reps", "runs covered in all epochs", factors, share),
            Series("bound", "1 - 4 delta", factors[[0, -1]], asked),
        ),
        x_log=True,
        note=f"One point of every run: {len(least)} runs.",
    )
