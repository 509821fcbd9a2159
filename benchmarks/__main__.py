"""``python -m benchmarks [SECTION ...] [--quick]``: measure, print, keep the figures."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import (
    adaptive,
    doubling,
    episodes,
    extreme_settings,
    frozen_lake,
    hard_cases,
    known_rivals,
    large_worlds,
    leaders,
    learners,
    loops,
    memory,
    policy_optimisation,
    pooling,
    projections,
    report_speed,
    robustness,
    serve,
    service,
    starting,
    sweeps,
    taxi,
)
from benchmarks.machine import describe, load, source_stamp
from benchmarks.report import Figure, Section, print_grid, print_verdicts

RESULTS = Path(__file__).parent / "results.json"

SECTIONS: dict[str, Callable[..., Section]] = {
    "starting": starting.run,
    "episodes": episodes.run,
    "loops": loops.run,
    "hard": hard_cases.run,
    "known": known_rivals.run,
    "scaling": large_worlds.run_growth,
    "support": large_worlds.run_support,
    "gymnasium": taxi.run,
    "lake": frozen_lake.run,
    "memory": memory.run,
    "learners": learners.run,
    "adaptive": adaptive.run,
    "pooling": pooling.run,
    "robustness": robustness.run,
    "extremes": extreme_settings.run,
    "doubling": doubling.run,
    "projections": projections.run,
    "leaders": leaders.run,
    "policies": policy_optimisation.run,
    "sweeps": sweeps.run,
    "service": service.run,
    "serve": serve.run,
    "report": report_speed.run,
}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="about a minute, rougher figures")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the figures are kept")
    parsed = parser.parse_args()
    unknown = sorted(set(parsed.sections) - set(SECTIONS))
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; choose from {', '.join(SECTIONS)}")
    return parsed


def kept(path: Path, machine: dict[str, Any]) -> dict[str, Any]:
    """Sections measured earlier on the same machine; a partial run replaces only its own."""
    if path.exists():
        stored: dict[str, Any] = json.loads(path.read_text())
        if stored.get("machine") == machine:
            return stored
    return {"machine": machine, "sections": {}}


def main() -> int:
    """Run the sections asked for; the exit status says whether all targets are reached."""
    chosen = arguments()
    machine, stamp = describe(), source_stamp()
    console = Console(width=max(Console().width, 150))
    console.print(", ".join(f"{key} {value}" for key, value in machine.items()), highlight=False)
    console.print("~ marks a measurement during which another process took processor time")
    if chosen.quick:
        console.print(
            "quick: shorter runs, earlier and easier moments; only a full run judges targets"
        )
    console.print()
    results = kept(chosen.output, machine)
    verdicts: list[Figure] = []
    for name in chosen.sections or SECTIONS:
        begin = time.perf_counter()
        section = SECTIONS[name](quick=chosen.quick)
        for grid in section.grids:
            print_grid(console, grid)
        verdicts += section.figures
        results["sections"][name] = {
            "when": time.strftime("%Y-%m-%d %H:%M:%S"),
            "quick": chosen.quick,
            "seconds": round(time.perf_counter() - begin, 1),
            "load": load(),
            "source": stamp,
            **section.as_json(),
        }
        chosen.output.write_text(json.dumps(results, indent=1) + "\n")
    print_verdicts(console, verdicts)
    return 0 if all(figure.passed is not False for figure in verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
