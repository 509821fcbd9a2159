"""Two versions of the package on the same episodes, in turns, by processor time.

    python -m benchmarks.compare_versions OLD_SOURCES NEW_SOURCES [--rounds 2] [--quick]

Each argument is a folder that contains ``advmdp``; the results are in ``versions.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.episodes import RATES, Rate
from benchmarks.hard_cases import cold_instance, known_episode, known_world, per_call
from benchmarks.machine import describe
from benchmarks.worlds import LARGE, MIDDLE, make_world, seasoned, timed_stretch

RESULTS = Path(__file__).parent / "versions.json"
N_KNOWN = 5_000


def name_of(rate: Rate) -> str:
    """A line of ``episodes``."""
    return f"{rate.shape}, {rate.widths}, after {rate.warm_up:,}"


def measure(*, quick: bool) -> dict[str, dict[str, float]]:
    """Seconds of an episode or a projection, with Newton steps and evaluations.

    ``quick`` leaves the large worlds out.
    """
    import advmdp as am

    found = {}
    for rate in RATES:
        if rate.shape not in ((MIDDLE,) if quick else (MIDDLE, LARGE)):
            continue
        world = make_world(rate.shape)
        learner = seasoned(world, rate.warm_up + rate.n_episodes, rate.log_scale, [rate.warm_up])
        timing, run = timed_stretch(world, learner, rate.n_episodes)
        found[name_of(rate)] = line(timing.cpu / rate.n_episodes, run)
    for declared in (True, False):
        timing, run = known_episode(known_world(declared=declared), N_KNOWN)
        what = "declared" if declared else "not declared"
        found[f"O-REPS, known transition, {what}"] = line(timing.cpu / N_KNOWN, run)
    weights, box = cold_instance(0)
    answer = am.project(weights, box)
    seconds = per_call(lambda: am.project(weights, box), 50)
    found["am.project, cold"] = {"seconds": seconds, "steps": float(answer.iterations)}
    return found


def line(seconds: float, run: object) -> dict[str, float]:
    """What is kept of one stretch."""
    solver = run.solver  # type: ignore[attr-defined]
    return {
        "seconds": seconds,
        "steps": solver.iterations / solver.projections,
        "evaluations": solver.evaluations / solver.projections,
        "regret": float(run.regret[-1]),  # type: ignore[attr-defined]
    }


def measured_with(sources: str, *, quick: bool) -> dict[str, dict[str, float]]:
    """``measure`` in a process of its own."""
    path = os.pathsep.join([str(Path(sources).resolve()), str(Path.cwd())])
    command = [sys.executable, "-m", "benchmarks.compare_versions", "--child"]
    command += ["--quick"] if quick else []
    answer = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, text=True
    )
    found: dict[str, dict[str, float]] = json.loads(answer.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Both versions in turns; the faster of the rounds of each counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="without the large worlds")
    parser.add_argument("--child", action="store_true")
    chosen = parser.parse_args()
    if chosen.child:
        print(json.dumps(measure(quick=chosen.quick)))
        return
    rounds = [
        [measured_with(sources, quick=chosen.quick) for sources in chosen.sources]
        for _ in range(chosen.rounds)
    ]
    lines = {}
    for name in rounds[0][0]:
        old, new = (
            min((each[i][name] for each in rounds), key=lambda found: found["seconds"])
            for i in (0, 1)
        )
        ratio = old["seconds"] / new["seconds"]
        lines[name] = {"old": old, "new": new, "ratio": round(ratio, 3)}
        print(f"{name}: {1e6 * old['seconds']:.1f} -> {1e6 * new['seconds']:.1f} us, {ratio:.2f}x")
    RESULTS.write_text(json.dumps({"machine": describe(), "lines": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
