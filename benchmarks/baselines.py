"""``python -m benchmarks.baselines worlds | counterexample | search | judge``: loss baselines.

``worlds``: UOB-REPS at theory's parameters without a baseline, with a damped and with an undamped
one, on random worlds.  ``counterexample``: two actions whose losses make a damped baseline cost a
part of T.  ``search`` and ``judge``: a preset for the damped one, as ``benchmarks.presets`` does
it; the other columns of the judged cases are those of ``benchmarks/presets.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from advmdp.learners.presets import PRACTICAL
from benchmarks.preset_cases import JUDGED
from benchmarks.presets import BASELINE, JUDGED_SEEDS, KNOWN, explore, measure, on_cpu, table

RESULTS = Path(__file__).parent / "baselines.json"
PRESETS = Path(__file__).parent / "presets.json"
VARIANTS: dict[str, dict[str, Any]] = {
    "none": {},
    "damped": {"baseline": "damped"},
    "undamped": {"baseline": "undamped"},
}
LONG: dict[str, dict[str, Any]] = {  # visits in memory
    "damped, 20": {"baseline": "damped", "baseline_memory": 20},
    "damped, 100": {"baseline": "damped", "baseline_memory": 100},
}
SIZES, N_ACTIONS, N_EPISODES, SEEDS = (1, 5, 5, 5, 5, 1), 3, 5_000, range(10)
Rows = list[dict[str, Any]]


def regret(mdp: am.LayeredMDP, losses: Any, n_episodes: int, seed: int, kind: str) -> float:
    """Of UOB-REPS at theory's parameters."""
    learner = am.UOBREPS(mdp.layout, n_episodes, **{**VARIANTS, **LONG}[kind])
    run = am.play(mdp, losses, learner, n_episodes, seed=seed, checkpoints=[n_episodes])
    return float(run.regret[-1])


def processes(n_rows: int, seed: int) -> dict[str, Any]:
    """Steady, adverse, drifting and turning losses."""
    means = list(np.random.default_rng([seed, 1]).random((2, n_rows)))
    return {
        "coin flips": am.losses.Stochastic(means[0]),
        "adverse stretches": am.losses.Majority.against(means[0]),
        "drift": am.losses.Drifting(*means, period=N_EPISODES),
        "a turn at T/2": am.losses.Switching(means, period=N_EPISODES // 2, noisy=True),
    }


def worlds() -> Rows:
    """Regret for every world and every kind of losses."""
    rows: Rows = []
    for seed in SEEDS:
        mdp = am.families.random_mdp(SIZES, N_ACTIONS, seed=seed)
        for name, losses in processes(mdp.layout.n_rows, seed).items():
            found = {kind: regret(mdp, losses, N_EPISODES, seed, kind) for kind in VARIANTS}
            rows.append({"losses": name, "seed": seed, **found})
    table(f"{SIZES} x {N_ACTIONS}, T = {N_EPISODES}", rows)
    return rows


def hostile_losses(n_episodes: int) -> np.ndarray:
    """Two actions: 0 earns a bad name, is then good for long while it is rarely seen, and returns.

    In units of 1 / gamma: for 6 action 0 costs 1 and the other nothing; for 80 it costs nothing
    and the other 0.1; for 6 it costs nothing and the other 1.
    """
    gamma = am.UOBREPS(am.Layout((1, 1), 2), n_episodes).gamma
    parts = [(6.0, (1.0, 0.0)), (80.0, (0.0, 0.1)), (6.0, (0.0, 1.0))]
    cycle = np.concatenate([np.tile(loss, (int(length / gamma), 1)) for length, loss in parts])
    return np.resize(cycle, (n_episodes, 2))


def counterexample() -> Rows:
    """Regret against the losses above: a long memory costs a part of T."""
    mdp = am.families.random_mdp((1, 1), 2, seed=0)
    rows: Rows = []
    for n_episodes in (10_000, 40_000, 160_000):
        losses = am.losses.Replayed(hostile_losses(n_episodes))
        found = {
            kind: float(np.mean([regret(mdp, losses, n_episodes, seed, kind) for seed in range(3)]))
            for kind in {**VARIANTS, **LONG}
        }
        rows.append({"T": n_episodes, **found})
    table("two actions, losses made for the purpose", rows)
    return rows


def search() -> dict[str, Any]:
    """A preset for the damped baseline."""
    chosen, stages = explore(BASELINE, PRACTICAL[KNOWN], on_cpu)
    print(f"{BASELINE}: {chosen}")
    return {"chosen": chosen, **stages}


def judge() -> dict[str, Any]:
    """The preset on the judged cases, beside what ``benchmarks.presets`` found there."""
    before = json.loads(PRESETS.read_text())["judge"]["runs"]
    rows: Rows = []
    for case in JUDGED:
        [found] = measure(BASELINE, [PRACTICAL[BASELINE]], [case], JUDGED_SEEDS, on_cpu)
        what = "loss" if case.kind == "switching" else "regret"
        row: dict[str, Any] = {"case": case.name, "of": what}
        for label, scores in {**before[case.name], "baseline": found}.items():
            row[label] = round(float(np.mean(scores[case.name][what])))
        rows.append({"theory": "-", **row})
        print(row, flush=True)
    table("T = 100,000, mean over 10 worlds", rows)
    return {"preset": PRACTICAL[BASELINE], "means": rows}


def main() -> None:
    """Run one part and keep the others."""
    parts: dict[str, Callable[[], Any]] = {
        "worlds": worlds,
        "counterexample": counterexample,
        "search": search,
        "judge": judge,
    }
    if len(sys.argv) != 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    found = parts[sys.argv[1]]()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(kept | {sys.argv[1]: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
