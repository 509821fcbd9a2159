"""``python -m benchmarks.short_presets [LEARNER ...]``: presets for the other learners.

The search of ``benchmarks.presets`` on the same training cases with a quarter of the episodes,
judged on its judged cases with a quarter of theirs and three worlds each (one for learners that
take long).  ``long LEARNER ...``: those presets in three of its judged cases, all episodes and all
ten worlds.  ``table`` prints what docs/results.md shows.  One process; what is found is kept
learner by learner in ``short_presets.json``.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from advmdp.learners.presets import PRACTICAL
from benchmarks.machine import source_stamp
from benchmarks.preset_cases import JUDGED, TRAINING, Case
from benchmarks.preset_grids import GRIDS
from benchmarks.presets import JUDGED_SEEDS as FULL_SEEDS
from benchmarks.presets import (
    WORST,
    Preset,
    Scores,
    ends,
    geometric_mean,
    on_cpu,
    rate,
    ratios,
    refine,
    run_of,
)

RESULTS = Path(__file__).parent / "short_presets.json"
SHARE = 4  # of the episodes, and of the periods of switching tables
STAGES = {"coarse": range(930, 931), "fine": range(940, 942)}
JUDGED_SEEDS = range(50, 53)
LATE_CASES, DELAYS = ("gap 0.2", "majority"), (0, 100, 1000)
LONG = ("gap 0.4", "gap 0.05", "majority")  # cases of README's table
LEAST = 1.0  # a regret below this counts as this: ratios of smaller ones say nothing
THEORY: Preset = {}
SWITCHING = "loss of theory's, switching"

SLOW = {"uob-log-barrier", "bandit-uc-o-reps-shifted", "uob-reps-l1", "uob-reps-l1-printed"}
"""Refined with one seed and judged in one world."""
SAME_WITHOUT_DELAY = {
    "delayed-uob-reps": "uob-reps",
    "delayed-uob-ftrl": "uob-ftrl",
    "dapo": "dilated-bonus",
}
"""Where nothing is late these learners are those ones, whose presets they take over."""


def shorter(case: Case) -> Case:
    """The same world with fewer episodes."""
    return replace(case, n_episodes=case.n_episodes // SHARE, period=max(case.period // SHARE, 10))


def measure(name: str, presets: list[Preset], cases: list[Case], seeds: range) -> list[Scores]:
    """For every preset regret and expected loss at the end; a refused run counts as infinite."""
    scores: list[Scores] = [{} for _ in presets]
    for case in cases:
        found = ends(name, presets, list(seeds), on_cpu, case)
        for score, end in zip(scores, found, strict=True):
            regret = np.maximum(end[:, 0], LEAST)
            score[case.name] = {"regret": regret.tolist(), "loss": end[:, 1].tolist()}
    return scores


def rate_all(name: str, presets: list[Preset], seeds: range) -> list[dict[str, Any]]:
    """The objective, and what guards it, on the training cases."""
    theory, *tried = measure(name, [THEORY, *presets], list(map(shorter, TRAINING)), seeds)
    return [
        preset
        | rate(scores, theory, None)
        | {"switching": geometric_mean(ratios(scores, theory, "loss").values())}
        for preset, scores in zip(presets, tried, strict=True)
    ]


def judge(name: str, preset: Preset) -> dict[str, Any]:
    """Regret, or loss where tables switch, of theory and of the preset."""
    cases = list(map(shorter, JUDGED))
    worlds = JUDGED_SEEDS[:1] if name in SLOW else JUDGED_SEEDS
    theory, practical = measure(name, [THEORY, preset], cases, worlds)
    refused = {
        label: [case for case, score in scores.items() if not np.all(np.isfinite(score["loss"]))]
        for label, scores in (("theory", theory), ("preset", practical))
    }
    if refused["preset"]:
        return {"worlds": list(worlds), "refused": refused}
    compared = ratios(practical, theory) | ratios(practical, theory, "loss")
    means = {
        case.name: {
            label: round(float(np.mean(scores[case.name][what])), 1)
            for label, scores in (("theory", theory), ("preset", practical))
        }
        for case in cases
        for what in ["loss" if case.kind == "switching" else "regret"]
    }
    return {
        "worlds": list(worlds),
        "means": means,
        "of theory's": {case: [round(float(r), 4) for r in rs] for case, rs in compared.items()},
        "regret of theory's": geometric_mean(ratios(practical, theory).values()),
        "worst": float(max(chain(*ratios(practical, theory).values()))),
        SWITCHING: geometric_mean(ratios(practical, theory, "loss").values()),
    }


def _is_finite(rated: dict[str, Any]) -> bool:
    return all(map(math.isfinite, rated.values()))


def judged_late(name: str) -> dict[str, dict[str, list[float]]]:
    """Regret of theory and of the preset when feedback comes late, by case and delay."""
    found: dict[str, dict[str, list[float]]] = {}
    for case in (shorter(case) for case in JUDGED if case.name in LATE_CASES):
        for delay in DELAYS:
            regrets = []
            for preset in (THEORY, PRACTICAL[name]):
                world = run_of(name, preset, case, JUDGED_SEEDS[0])
                run = am.play(
                    *(world.mdp, world.losses, world.learner, case.n_episodes),
                    seed=world.seed,
                    delays=am.delays.Constant(delay),
                    checkpoints=[case.n_episodes],
                )
                regrets.append(round(float(run.regret[-1]), 1))
            found.setdefault(case.name, {})[str(delay)] = regrets
    return found


def found_for(name: str) -> dict[str, Any]:
    """The choice and its worth.

    None is chosen where every candidate loses a training run to theory, or where the one that was
    found has a judged run with a step that could not be certified.
    """
    begun = time.perf_counter()
    twin = SAME_WITHOUT_DELAY.get(name)
    kept: dict[str, Any]
    if twin is None:
        seeds = STAGES | ({"fine": STAGES["fine"][:1]} if name in SLOW else {})
        chosen, stages = refine(name, GRIDS[name], partial(rate_all, name), seeds)
        loses = all(rated["worst"] > WORST for rated in stages["fine"])
        kept = {stage: list(filter(_is_finite, rated))[:5] for stage, rated in stages.items()}
        kept["chosen"] = None if loses else chosen
    else:
        kept = {"chosen": PRACTICAL[twin], "taken from": twin, "late": judged_late(name)}
    print(name, kept["chosen"], "in the package", PRACTICAL.get(name), flush=True)
    if kept["chosen"] is not None:
        kept["judged"] = judge(name, kept["chosen"])
        if "refused" in kept["judged"]:
            kept |= {"chosen": None, "refused": kept["chosen"]}
        print({k: v for k, v in kept["judged"].items() if isinstance(v, float)}, flush=True)
    return kept | {"seconds": round(time.perf_counter() - begun, 1)}


def judged_long(name: str) -> dict[str, float]:
    """Mean regret with the package's preset, in the worlds of ``benchmarks.presets judge``."""
    cases = [case for case in JUDGED if case.name in LONG]
    [found] = measure(name, [PRACTICAL[name]], cases, FULL_SEEDS)
    means = {case: round(float(np.mean(score["regret"])), 1) for case, score in found.items()}
    print(name, means, flush=True)
    return means


def show(results: dict[str, Any]) -> None:
    """A row for each learner, as in docs/results.md."""
    print("| learner | preset | regret, of theory's | worst run | loss where tables switch |")
    print("|---|---|--:|--:|--:|")
    for name in (*GRIDS, *SAME_WITHOUT_DELAY):
        found = results["learners"].get(name, {})
        if found.get("chosen") is not None:
            judged = found["judged"]
            preset = ", ".join(f"{key}={value:g}" for key, value in found["chosen"].items())
            row = (judged["regret of theory's"], judged["worst"], judged[SWITCHING])
            print(f"| `{name}` | `{preset}` |", " | ".join(f"{value:.3f}" for value in row), "|")


def main() -> None:
    """Choose and judge, learner by learner."""
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if sys.argv[1:] == ["table"]:
        show(results)
        return
    results |= {
        "sources": source_stamp(),
        "training": [asdict(shorter(case)) for case in TRAINING],
        "judged": [asdict(shorter(case)) for case in JUDGED],
        "seeds": {key: list(s) for key, s in STAGES.items()} | {"judged": list(JUDGED_SEEDS)},
    }
    is_long = sys.argv[1:2] == ["long"]
    part, find = ("long", judged_long) if is_long else ("learners", found_for)
    for name in sys.argv[1 + is_long :] or (*GRIDS, *SAME_WITHOUT_DELAY):
        results.setdefault(part, {})[name] = find(name)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
