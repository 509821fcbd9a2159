"""``python -m benchmarks.worst_gaps WHAT``: the worst case of leaders up to ten million episodes.

The runs of claim ``both-worlds-unknown`` that are hardest: coin flips at every gap of a grid, a run
of its own for every T, presets, the transition unknown.  One line is appended to worst_gaps.jsonl
for every run; what is there is not played again, so it can be stopped at any time.  WHAT is

* ``play [LEARNER]``: a run on each core, world after world; one world of a learner takes two
  minutes of a core;
* ``judge``: write worst_gaps.json from the worlds that are complete.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from advmdp import play
from advmdp.claims.playing.run_grids import horizon_grid
from advmdp.claims.regret.both_worlds_unknown import CLAIM
from advmdp.claims.regret.steady_and_worst import with_preset
from advmdp.claims.statistics.worst_gap import exponent, worst_over_gaps
from advmdp.experiments.build import build
from advmdp.reports.statistics import Interval
from benchmarks.machine import source_stamp
from benchmarks.steady_decades import FOLDER, lines_of, play_on_cores

RUNS = FOLDER / "worst_gaps.jsonl"
RESULTS = FOLDER / "worst_gaps.json"
HORIZONS, GAPS, N_WORLDS = CLAIM.full.worst_horizons, CLAIM.full.gaps, 6
LEARNERS = with_preset("uob-ftrl", "optimistic-ftrl")
GRIDS = {name: horizon_grid(one, HORIZONS, GAPS, N_WORLDS) for name, one in LEARNERS.items()}
Job = tuple[str, int, int, int]  # learner; replicate, place in HORIZONS and among the gaps


def measure(job: Job) -> dict[str, Any]:
    """The regret of one run."""
    name, *place = job
    spec = GRIDS[name][*place]
    mdp, losses, learner, seed, _ = build(spec)
    run = play(mdp, losses, learner, spec.n_episodes, seed, checkpoints=[spec.n_episodes])
    return {
        "job": job,
        "run": spec.id,
        "regret": round(float(run.regret[-1]), 4),
        "sources": source_stamp(),
    }


def judge(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The largest mean regret over the gaps at every T, and its exponents."""
    shape = (N_WORLDS, len(HORIZONS), sum(GAPS))
    tables = {name: np.full(shape, np.nan) for name in LEARNERS}
    for one in lines:
        name, *place = one["job"]
        tables[name][*place] = one["regret"]
    found = {}
    for name, table in tables.items():
        values = table[np.isfinite(table).all(axis=(1, 2))]
        if len(values) == 0:
            continue
        worst = worst_over_gaps(values)
        found[name] = {
            "worlds": len(values),
            "T": HORIZONS,
            "largest mean regret": worst.mean.tolist(),
            "exponent": figures_of(exponent(HORIZONS, worst)),
            "exponent of the last decade": figures_of(exponent(HORIZONS[-2:], worst.last(2))),
        }
    return found


def figures_of(interval: Interval | None) -> dict[str, float] | None:
    """As JSON."""
    return interval and interval._asdict()


def main() -> None:
    """Play what is missing, or judge."""
    what, names = sys.argv[1:2], sys.argv[2:] or list(LEARNERS)
    lines = lines_of(RUNS)
    if what == ["judge"]:
        RESULTS.write_text(json.dumps(judge(lines), indent=1) + "\n")
        return
    done = {tuple(one["job"]) for one in lines}
    places = np.ndindex(N_WORLDS, len(HORIZONS), sum(GAPS))
    jobs = [(name, *place) for place in places for name in names]
    play_on_cores(RUNS, measure, [job for job in jobs if job not in done])


if __name__ == "__main__":
    main()
