"""``python -m benchmarks.presets search | judge [cuda]``: parameters for practice, and their worth.

``search`` compares multiples of the theory's parameters on training cases; ``judge`` measures the
chosen ones on MDPs, losses and a horizon that the search has not seen.  With ``cuda`` the presets
and seeds of a case are one batch on the GPU.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import advmdp as am
from advmdp.batch import BatchRun, RefusedRuns, play_batch, why_no_gpu
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.presets import PRACTICAL
from benchmarks.preset_cases import JUDGED, LONG, SIZES, TRAINING, Case

RESULTS = Path(__file__).parent / "presets.json"
UOB, KNOWN = "uob-reps", "o-reps-bandit"
BASELINE = "uob-reps-baseline"  # searched and judged by ``benchmarks.baselines``
Preset = dict[str, float]
Scores = dict[str, dict[str, list[float]]]  # case -> regret and loss, one entry for each seed
Engine = Callable[[list[BatchRun], int], list[am.Run | None]]
COARSE_SEEDS, FINE_SEEDS, JUDGED_SEEDS = range(900, 901), range(910, 914), range(10)
THEORY: Preset = {"eta_scale": 1.0}
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    KNOWN: {"eta_scale": (2, 4, 8, 16, 32), "gamma_scale": (0, 0.03, 0.1, 0.3)},
    UOB: {
        "eta_scale": (2, 4, 8, 16),
        "gamma_scale": (0.3, 0.1, 0.03, 0.01),
        "log_scale": (0.1, 0.01, 0.001),
    },
    BASELINE: {
        "eta_scale": (2, 4, 8),
        "gamma_scale": (0.1, 0.03, 0.01),
        "log_scale": (0.01, 0.002),
    },
}
WORKERS = os.cpu_count() or 1
KEPT = 5  # presets of the coarse grid whose neighbours are tried
WORST = 1.0  # no training run may lose to the theory's parameters
SWITCHING = 1.02  # loss on switching tables, as a multiple of that with known transition


def measure(
    name: str, presets: list[Preset], cases: Iterable[Case], seeds: Iterable[int], engine: Engine
) -> list[Scores]:
    """For every preset final regret and expected loss; a refused run counts as infinite.

    A process for each case: the CPU has several cores, and a GPU mostly waits for the compiler.
    """
    scores: list[Scores] = [{} for _ in presets]
    ends_of = partial(ends, name, presets, list(seeds), engine)
    cases = list(cases)
    with ProcessPoolExecutor(min(len(cases), WORKERS), mp_context=get_context("spawn")) as pool:
        for case, found in zip(cases, pool.map(ends_of, cases), strict=True):
            for score, end in zip(scores, found, strict=True):
                score[case.name] = {"regret": end[:, 0].tolist(), "loss": end[:, 1].tolist()}
    return scores


def ends(
    name: str, presets: list[Preset], seeds: list[int], engine: Engine, case: Case
) -> np.ndarray:
    """Regret and expected loss at the end, (preset, seed, 2)."""
    batch = [run_of(name, preset, case, seed) for preset in presets for seed in seeds]
    runs = engine(batch, case.n_episodes)
    found = [
        (math.inf, math.inf) if run is None else (run.regret[-1], run.expected_loss[-1])
        for run in runs
    ]
    return np.array(found).reshape(len(presets), -1, 2)


def run_of(name: str, preset: Preset, case: Case, seed: int) -> BatchRun:
    """A learner in a world."""
    mdp, losses = case.world(seed)
    entry = LEARNERS[name]
    told: dict[str, Any] = {"transitions": mdp.transitions} if entry.knows_transition else {}
    if entry.has_horizon:
        told["n_episodes"] = case.n_episodes
    return BatchRun(mdp, losses, entry.make(mdp.layout, **told, **preset), seed)


def on_cpu(batch: list[BatchRun], n_episodes: int) -> list[am.Run | None]:
    """One run after the other."""
    ends: list[am.Run | None] = []
    for run in batch:
        world = (run.mdp, run.losses, run.learner)
        try:
            ends.append(am.play(*world, n_episodes, seed=run.seed, checkpoints=[n_episodes]))
        except am.UncertifiedStep:
            ends.append(None)
    return ends


def on_gpu(batch: list[BatchRun], n_episodes: int) -> list[am.Run | None]:
    """All at once."""
    try:
        return list(play_batch(batch, n_episodes, checkpoints=[n_episodes]))
    except RefusedRuns as refused:
        return refused.runs


def ratios(scores: Scores, base: Scores, what: str = "regret") -> dict[str, np.ndarray]:
    """Seed by seed; switching cases compare losses only, because their regret can be negative."""
    return {
        case: np.array(scores[case][what]) / np.array(base[case][what])
        for case in scores
        if case.startswith("switching") == (what == "loss")
    }


def geometric_mean(values: Iterable[np.ndarray]) -> float:
    """Over everything."""
    return float(np.exp(np.mean(np.log(np.concatenate(list(values))))))


def rate(scores: Scores, theory: Scores, known: Scores | None) -> dict[str, float]:
    """The objective and what guards it against heavy tails."""
    to_theory = ratios(scores, theory)
    upper = [(np.mean(r) + np.std(r)).reshape(1) for r in to_theory.values()]
    found = {
        "objective": geometric_mean(upper),  # mean plus standard deviation over seeds
        "of theory": geometric_mean(to_theory.values()),
        "worst": float(max(r.max() for r in to_theory.values())),
    }
    if known:
        found["of known P"] = geometric_mean(ratios(scores, known).values())
        found["switching"] = geometric_mean(ratios(scores, known, "loss").values())
    return found


def table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows that share their keys."""
    grid = Table(*rows[0], title=title)
    for row in rows:
        grid.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=150).print(grid)


def neighbours(presets: list[Preset]) -> list[Preset]:
    """The presets, and each with one parameter moved by half a step of a grid of factors 2."""
    moved = [
        {**preset, key: preset[key] * factor}
        for preset in presets[:2]
        for key in preset
        for factor in ((0.7, 1.4) if key == "eta_scale" else (0.5, 2.0))
    ]
    return list({tuple(preset.items()): preset for preset in presets + moved}.values())


def refine(
    name: str,
    grid: Mapping[str, tuple[float, ...]],
    rate_all: Callable[[list[Preset], range], list[dict[str, Any]]],
    stages: Mapping[str, range],
) -> tuple[Preset, dict[str, Any]]:
    """A coarse grid with some seeds, then the best and their neighbours with others."""
    presets: list[Preset] = [
        dict(zip(grid, map(float, values), strict=True))
        for values in itertools.product(*grid.values())
    ]
    found = {}
    for stage, seeds in stages.items():
        rated = rate_all(presets, seeds)
        rated.sort(key=lambda r: (r["worst"] > WORST, r["objective"]))
        allowed = [r for r in rated if r.get("switching", 0.0) <= SWITCHING] or rated
        table(f"{name}, {stage}, seeds {list(seeds)}: best of {len(presets)}", rated[:12])
        found[stage] = rated
        presets = neighbours([{key: r[key] for key in grid} for r in allowed[:KEPT]])
    return {key: allowed[0][key] for key in grid}, found


def explore(
    name: str, known_preset: Preset | None, engine: Engine
) -> tuple[Preset, dict[str, Any]]:
    """The grid of a learner, rated against theory and against a known transition."""

    def rate_all(presets: list[Preset], seeds: range) -> list[dict[str, Any]]:
        theory, *tried = measure(name, [THEORY, *presets], TRAINING, seeds, engine)
        known = None
        if known_preset:
            [known] = measure(KNOWN, [known_preset], TRAINING, seeds, engine)
        return [p | rate(s, theory, known) for p, s in zip(presets, tried, strict=True)]

    stages = {"coarse": COARSE_SEEDS, "fine": FINE_SEEDS}
    return refine(name, GRIDS[name], rate_all, stages)


def search(engine: Engine) -> dict[str, Any]:
    """Known transition first: its preset is what the unknown one is compared with."""
    chosen: dict[str, Preset] = {}
    stages: dict[str, Any] = {}
    for name in (KNOWN, UOB):
        chosen[name], stages[name] = explore(name, chosen.get(KNOWN), engine)
        print(f"{name}: {chosen[name]}", flush=True)
    seeds = {"coarse": list(COARSE_SEEDS), "fine": list(FINE_SEEDS)}
    return {"cases": [asdict(c) for c in TRAINING], "seeds": seeds, "chosen": chosen, **stages}


def judge(engine: Engine) -> dict[str, Any]:
    """The chosen parameters on the judged cases, seed by seed."""
    rows, kept = [], {}
    totals: dict[str, list[np.ndarray]] = {"gain": [], "known": [], "switching": []}
    for case in JUDGED:
        moves = case.kind == "switching"
        what = "loss" if moves else "regret"
        tried = [PRACTICAL[UOB]] if moves else [PRACTICAL[UOB], THEORY]
        practical, *theory = measure(UOB, tried, [case], JUDGED_SEEDS, engine)
        [known] = measure(KNOWN, [PRACTICAL[KNOWN]], [case], JUDGED_SEEDS, engine)
        runs = {"practical": practical, "known P": known}
        compared = {"practical / known P": ratios(runs["practical"], runs["known P"], what)}
        totals["switching" if moves else "known"] += compared["practical / known P"].values()
        if not moves:
            runs["theory"] = theory[0]
            compared["theory / practical"] = ratios(runs["theory"], runs["practical"])
            totals["gain"] += compared["theory / practical"].values()
        kept[case.name] = runs
        row: dict[str, Any] = {"case": f"{case.name} ({what})"}
        for label in ("theory", "practical", "known P"):
            values = np.array(runs[label][case.name][what]) if label in runs else np.zeros(0)
            row[label] = f"{values.mean():,.0f} ± {values.std(ddof=1):,.0f}" if len(values) else "-"
        for label in ("theory / practical", "practical / known P"):
            r = compared.get(label, {}).get(case.name)
            spread = "-" if r is None else f"[{r.min():.3f}, {r.max():.3f}]"
            row[label] = spread if r is None else f"{geometric_mean([r]):.3f} {spread}"
        rows.append(row)
        print(*row.values(), sep=" | ", flush=True)
    table(f"T = {LONG:,}, layers {SIZES} x 3, seeds {list(JUDGED_SEEDS)}", rows)
    means = {key: geometric_mean(values) for key, values in totals.items()}
    reached = {
        "at least 2.5 times below theory": means["gain"] >= 2.5,
        "within 1.5 times of known P": means["known"] <= 1.5,
        "switching: loss at most 2% above known P": means["switching"] <= 1.02,
    }
    table("Geometric means", [means])
    table("Reached", [reached])
    sets = {"cases": [asdict(c) for c in JUDGED], "seeds": list(JUDGED_SEEDS)}
    return {**sets, "presets": PRACTICAL, "runs": kept, "means": means, "reached": reached}


def main() -> None:
    """Run one part and keep the other."""
    parts: dict[str, Callable[[Engine], dict[str, Any]]] = {"search": search, "judge": judge}
    if len(sys.argv) < 2 or sys.argv[1] not in parts or sys.argv[2:] not in ([], ["cuda"]):
        sys.exit(__doc__)
    engine = on_gpu if sys.argv[2:] else on_cpu
    if engine is on_gpu and (reason := why_no_gpu()):
        print(reason, file=sys.stderr)
        sys.exit(2)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(
        json.dumps(kept | {sys.argv[1]: parts[sys.argv[1]](engine)}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
