"""Lemma 2: with probability 1 - 4 delta the truth is in the confidence set of every epoch.

The sets depend on the visits alone, so a run tells for every factor on the log term at once whether
sets made with it would have held P: each run has a *least factor*, and the share of runs above a
factor is the chance of failure there.  That shows where the lemma's constants begin to matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from advmdp.batch import BatchRun
from advmdp.claims.chances import ERROR_RATE, judged, most_likely_at_most, too_many
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.claims.witness import watch_all
from advmdp.claims.worlds import MakeLearner, random_world, seeded, shape_name
from advmdp.kernels.accounting import witness as kernel
from advmdp.layout import Floats
from advmdp.learners.uob_reps import UOBREPS
from advmdp.reports.figures.panels import Panel, Series

DELTA = 0.01
FACTORS = (1.0, 0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.001)


@dataclass(frozen=True)
class Size:
    """Runs of the printed widths, and a few with a shrunk log term for comparison."""

    n_runs: int
    n_episodes: int
    n_shrunk: int
    layers: tuple[int, ...] = (1, 3, 3, 1)
    n_actions: int = 2


QUICK, FULL = Size(1000, 3000, 50), Size(10_000, 5000, 500)
SHRUNK = 0.01


def measure(lab: Lab) -> Finding:
    """The claim at the lab's effort."""
    size = QUICK if lab.quick else FULL
    found = examine(size, lab.rng("confidence"), on_card=lab.on_card)
    return seeded(lab, found, on_card=lab.on_card)


def examine(
    size: Size, rng: np.random.Generator, make: MakeLearner = UOBREPS, *, on_card: bool = False
) -> Finding:
    """Coverage over all epochs, each run in a world of its own."""
    runs = _runs(size, size.n_runs, rng, make, 1.0)
    least, missed, counts = _sums(watch_all(runs, size.n_episodes, bounds=False, on_card=on_card))
    shrunk = _runs(size, size.n_shrunk, rng, make, SHRUNK)
    shrunk_missed = _sums(watch_all(shrunk, size.n_episodes, bounds=False, on_card=on_card))[1]
    failures = int((missed > 0).sum())
    chances = [float((least > factor).mean()) for factor in FACTORS]
    share = counts[kernel.TIGHT_ROWS] / counts[kernel.ROWS]
    limit = most_likely_at_most(failures, size.n_runs)
    holds = not too_many(failures, size.n_runs, 4 * DELTA)
    breaks = float(np.quantile(least, 1.0 - 4 * DELTA))
    return Finding(
        claim="confidence sets",
        reference="Lemma 2 (lem:confidence_sets), Eq. (width)",
        checked=(
            "P in the set of every epoch, looked at when the epoch opens; and the least factor on "
            "the log term with which all sets of a run would still hold P"
        ),
        instances=(
            f"{size.n_runs} runs of {size.n_episodes} episodes, each in a random world "
            f"{shape_name(size.layers, size.n_actions)}, delta = {DELTA}; "
            f"{counts[kernel.LOOKED]} epochs, {share:.0%} of their rows with a set that is not "
            "the whole simplex"
        ),
        measured=(
            f"{failures} of {size.n_runs} runs lost P once or more (chance of it at most "
            f"{limit:.2%} with confidence {1 - ERROR_RATE:.1%}); with the log term x {SHRUNK}, "
            f"{int((shrunk_missed > 0).sum())} of {size.n_shrunk}"
        ),
        bound=f"a chance of 4 delta = {4 * DELTA:.0%}",
        margin=(
            f"coverage falls to 1 - 4 delta only with the log term x {breaks:.3f}: the printed "
            f"one is {1 / max(breaks, 1e-9):.0f} times what these worlds need"
        ),
        verdict=judged(holds, can_fail=bool(counts[kernel.TIGHT_ROWS])),
        error_rate=f"{ERROR_RATE:.1%} (binomial test)",
        panels=(_panel(least),),
        data={
            "failures": failures,
            "runs": size.n_runs,
            "epochs": int(counts[kernel.LOOKED]),
            "tight_share": float(share),
            "factors": list(FACTORS),
            "chance_to_lose_P": chances,
            "factor_at_4_delta": breaks,
            "largest_least_factor": float(least.max()),
            "shrunk": {"factor": SHRUNK, "lost": int((shrunk_missed > 0).sum())},
        },
    )


def _runs(
    size: Size, n_runs: int, rng: np.random.Generator, make: MakeLearner, log_scale: float
) -> Iterator[BatchRun]:
    for _ in range(n_runs):
        mdp, losses, seed = random_world(size.layers, size.n_actions, rng)
        learner = make(mdp.layout, size.n_episodes, delta=DELTA, log_scale=log_scale)
        yield BatchRun(mdp, losses, learner, seed)


def _sums(
    notes: Sequence[kernel.Witness],
) -> tuple[Floats, Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Of every run the least factor and the sets that missed P; and the summed counters."""
    counts = np.array([note.counts for note in notes])
    least = np.array([note.worst[kernel.LEAST_SCALE] for note in notes])
    return least, counts[:, kernel.MISSED].astype(np.float64), counts.sum(axis=0)


def _panel(least: Floats) -> Panel:
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
