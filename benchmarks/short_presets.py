"""``python -m benchmarks.short_presets [LEARNER ...]``: presets for the other learners.

The search of ``benchmarks.presets`` on the same training cases with a quarter of the episodes,
judged on its judged cases with a quarter of theirs and three worlds each.  One process; what is
found is kept learner by learner in ``short_presets.json``.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from advmdp.learners.presets import PRACTICAL
from benchmarks.machine import source_stamp
from benchmarks.preset_cases import JUDGED, TRAINING, Case
from benchmarks.presets import (
    Preset,
    Scores,
    ends,
    geometric_mean,
    on_cpu,
    rate,
    ratios,
    refine,
)

RESULTS = Path(__file__).parent / "short_presets.json"
SHARE = 4  # of the episodes, and of the periods of switching tables
STAGES = {"coarse": range(930, 931), "fine": range(940, 942)}
JUDGED_SEEDS = range(50, 53)
LEAST = 1.0  # a regret below this counts as this: ratios of smaller ones say nothing
THEORY: Preset = {}
Grid = dict[str, tuple[float, ...]]

SETS: Grid = {"log_scale": (0.1, 0.01, 0.001)}
BARRIER: Grid = {"log_barrier": (0.03, 0.1, 0.3, 1.0)}
UPPER: Grid = {"log_barrier": (0.1, 0.3), "log_scale": (0.01, 0.001), "bonus_scale": (1.0, 0.1)}
L1: Grid = {"eta_scale": (2, 4, 8), "gamma_scale": (0.1, 0.01), **SETS}
REACHABLE: Grid = {"eta_scale": (2, 4, 8, 16), **SETS}
DILATED: Grid = {
    "eta_scale": (3, 10, 30),
    "gamma_scale": (0.01, 0.001),
    "bonus_scale": (0.1, 0.01),
}
WIDTHS: Grid = {"log_scale": (0.01, 0.002)}
OPTIMISTIC: Grid = {"eta_scale": (1, 4, 16), "bonus_scale": (0.1, 0.01, 0.001)}
GRIDS: dict[str, Grid] = {
    "tsallis-ftrl": {"eta_scale": (1, 2, 4), **BARRIER},
    "log-barrier-ftrl": {"adapt_scale": (0.0, 0.1, 1.0), **BARRIER},
    "uob-ftrl": {"eta_scale": (1, 2, 4), **UPPER},
    "optimistic-ftrl": {
        "root_scale": (0.0, 0.5, 1.0),
        "adapt_scale": (0.0, 1.0),
        "log_barrier": (0.1, 0.3),
        "log_scale": (0.01, 0.001),
    },
    "dilated-bonus": DILATED | WIDTHS,
    "pomd": {"eta_scale": (10, 30, 100), "gamma_scale": (0.01, 0.001), **WIDTHS},
    "oppo": OPTIMISTIC,
    "apo-mvp": OPTIMISTIC,
    "tsallis-ftrl-aggregate": {"eta_scale": (0.5, 1, 2), **BARRIER},
    "uob-ftrl-aggregate": {"eta_scale": (0.5, 1, 2), **UPPER},
    "dilated-bonus-aggregate": DILATED | WIDTHS,
    "dilated-bonus-aggregate-known": DILATED,
    "o-reps": {"eta_scale": (1, 2, 4, 8, 16, 32)},
    "mdp-e": {"eta_scale": (1, 2, 4, 8, 16, 32)},
    "fpl": {"noise_scale": (0.3, 0.1, 0.03, 0.01)},
    "fpop": {"noise_scale": (0.3, 0.1, 0.03, 0.01), **SETS},
    "uc-o-reps": {"eta_scale": (1, 4, 16), **SETS},
    "uc-o-reps-box": {"eta_scale": (1, 4, 16), **SETS},
    "ada-uc-o-reps": SETS,
    "exp3-ix": {"eta_scale": (2, 4, 8, 16), "gamma_scale": (0.3, 0.1, 0.03)},
    "ngs-2010": {"eta_scale": (1, 2, 4, 8, 16)},
    "ucrl2-window": {"loss_scale": (0.1, 0.02), "transition_scale": (0.1, 0.02)},
    "bandit-uc-o-reps": REACHABLE,
    "bandit-uc-o-reps-floor": REACHABLE,
    "uob-reps-l1": L1,
    "uob-reps-l1-printed": L1,
    "bandit-uc-o-reps-shifted": {"eta_scale": (2, 8), "log_scale": (0.1, 0.01)},
    "uob-log-barrier": {"eta_scale": (2, 8), "log_scale": (0.1, 0.01)},
}
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
    theory, practical = measure(name, [THEORY, preset], cases, JUDGED_SEEDS)
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
        "means": means,
        "of theory's": {case: [round(float(r), 4) for r in rs] for case, rs in compared.items()},
        "regret of theory's": geometric_mean(ratios(practical, theory).values()),
        "worst": float(max(chain(*ratios(practical, theory).values()))),
        "loss of theory's, switching": geometric_mean(ratios(practical, theory, "loss").values()),
    }


def found_for(name: str) -> dict[str, Any]:
    """The choice and its worth."""
    begun = time.perf_counter()
    twin = SAME_WITHOUT_DELAY.get(name)
    if twin is None:
        chosen, stages = refine(name, GRIDS[name], partial(rate_all, name), STAGES)
        kept = {"chosen": chosen, **{stage: rated[:5] for stage, rated in stages.items()}}
    else:
        kept = {"chosen": PRACTICAL[twin], "taken from": twin}
    kept["judged"] = judge(name, kept["chosen"])
    print(name, kept["chosen"], "in the package", PRACTICAL.get(name), flush=True)
    print({key: v for key, v in kept["judged"].items() if not isinstance(v, dict)}, flush=True)
    return kept | {"seconds": round(time.perf_counter() - begun, 1)}


def main() -> None:
    """Choose and judge, learner by learner."""
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results |= {
        "sources": source_stamp(),
        "training": [asdict(shorter(case)) for case in TRAINING],
        "judged": [asdict(shorter(case)) for case in JUDGED],
        "seeds": {key: list(s) for key, s in STAGES.items()} | {"judged": list(JUDGED_SEEDS)},
    }
    for name in sys.argv[1:] or (*GRIDS, *SAME_WITHOUT_DELAY):
        results.setdefault("learners", {})[name] = found_for(name)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
