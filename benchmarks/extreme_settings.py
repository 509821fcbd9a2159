"""Settings far beyond theory: how many runs end because a step could not be certified, and why.

    python -m benchmarks.extreme_settings --cases 300

A case is a learner on a world with a loss process, with multipliers of the learning rate from 1e-2
to 1e6, of the exploration and of the log term of the widths, all log-uniform.  It is a function of
its number, so that a refused one can be played again (``--only``) and two versions be compared.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section

EPISODES = 2_000
CASES, QUICK_CASES = 400, 40
MOST_REFUSED = 0.005  # of the cases: the target
CERTIFIED = 1e-8  # of the duality gap: with a floor its multiplier times the flow residual
LEARNERS = (
    "uob-reps",
    "uob-reps-l1",
    "o-reps",
    "o-reps-bandit",
    "uc-o-reps",
    "uc-o-reps-box",
    "bandit-uc-o-reps",
    "bandit-uc-o-reps-floor",
    "bandit-uc-o-reps-shifted",
)
SCALES = {"eta_scale": (-2.0, 6.0), "gamma_scale": (-4.0, 2.0), "log_scale": (-3.0, 0.3)}


class Case(NamedTuple):
    """A number, and what follows from it."""

    number: int
    learner: str
    world: str
    losses: str
    scales: dict[str, float]

    def __str__(self) -> str:
        scales = ", ".join(f"{name} {value:.2g}" for name, value in self.scales.items())
        return f"{self.number}: {self.learner} on {self.world}, {self.losses} losses, {scales}"


def worlds() -> dict[str, am.LayeredMDP]:
    """Dense and declared, narrow and wide."""
    return {
        "1,3,3,1 x2": am.families.random_mdp((1, 3, 3, 1), 2, seed=0),
        "1,5x4,1 x3": am.families.random_mdp((1, 5, 5, 5, 5, 1), 3, seed=1),
        "1,6x3,1 x2, 2 successors": am.families.random_mdp((1, 6, 6, 6, 1), 2, 2, n_successors=2),
        "1,15,15,1 x2": am.families.random_mdp((1, 15, 15, 1), 2, seed=3),
        "river 5 x 8": am.families.river_swim(length=5, horizon=8),
        "grid 3 x 3": am.families.grid(3, 3, horizon=5),
    }


def processes(mdp: am.LayeredMDP, seed: int) -> dict[str, am.losses.LossProcess]:
    """Coin flips, tables that turn around, and an adversary that reacts."""
    mean = np.random.default_rng(seed).random(mdp.layout.n_rows)
    return {
        "coin-flip": am.losses.Stochastic(mean),
        "switching": am.losses.Switching([mean, 1.0 - mean], period=200),
        "reacting": am.losses.Adaptive(mean),
    }


def case_of(number: int, names: list[str]) -> Case:
    """The case with this number; ``names`` are those of the worlds."""
    rng = np.random.default_rng([2026, number])
    learner, world = LEARNERS[rng.integers(len(LEARNERS))], names[rng.integers(len(names))]
    losses = ("coin-flip", "switching", "reacting")[rng.integers(3)]
    taken = inspect.signature(am.LEARNERS[learner].make).parameters
    drawn = {name: float(10.0 ** rng.uniform(*span)) for name, span in SCALES.items()}
    scales = {name: value for name, value in drawn.items() if name in taken}
    return Case(number, learner, world, losses, scales)


def learner_of(case: Case, mdp: am.LayeredMDP, n_episodes: int) -> Any:
    """As the catalogue makes it."""
    entry = am.LEARNERS[case.learner]
    known = {"transitions": mdp.transitions} if entry.knows_transition else {}
    return entry.make(mdp.layout, n_episodes=n_episodes, **known, **case.scales)


def played(case: Case, mdp: am.LayeredMDP, n_episodes: int) -> tuple[am.Run | None, str]:
    """The run, or None and the message of the step that was refused."""
    learner, losses = learner_of(case, mdp, n_episodes), processes(mdp, case.number)[case.losses]
    end = {"seed": case.number, "checkpoints": [n_episodes]}
    try:
        return am.play(mdp, losses, learner, n_episodes, **end), ""
    except am.UncertifiedStep as error:
        return None, str(error)


def outcomes(numbers: Iterator[int] | range, n_episodes: int) -> Iterator[dict[str, Any]]:
    """How each case ended."""
    found = worlds()
    for number in numbers:
        case = case_of(number, list(found))
        began = time.perf_counter()
        run, refusal = played(case, found[case.world], n_episodes)
        solver = run.solver if run is not None else None
        yield {
            "case": str(case),
            "refused": refusal,
            "safe paths": solver.safe_paths if solver is not None else None,
            "worst residual": solver.worst_residual if solver is not None else None,
            "worst gap": solver.worst_gap if solver is not None else None,
            "seconds": time.perf_counter() - began,
        }


def run(*, quick: bool) -> Section:
    """The section."""
    ends = list(outcomes(range(QUICK_CASES if quick else CASES), EPISODES))
    refused = [end for end in ends if end["refused"]]
    whole = [end for end in ends if not end["refused"]]
    safe = sum(end["safe paths"] for end in whole)
    worst = max(end["worst gap"] for end in whole)
    row = (f"{len(ends)}", f"{EPISODES:,}", f"{len(refused)}", f"{safe:,}", f"{worst:.0e}")
    grid = Grid(
        "Settings far beyond theory",
        ("runs", "episodes each", "refused", "safe path", "worst gap"),
        [row],
        "\n  ".join(f"{end['case']}: {end['refused']}" for end in refused),
    )
    share = len(refused) / len(ends)
    return Section(
        [grid],
        [
            Figure("extreme settings: share refused", share, "", MOST_REFUSED, AT_MOST),
            Figure("extreme settings: worst gap", worst, "", CERTIFIED, AT_MOST),
        ],
    )


def main() -> None:
    """The command line: one line a case, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*", help="these numbers and no others")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--output", type=Path, help="a file; standard output without")
    chosen = parser.parse_args()
    numbers = chosen.only or range(chosen.first, chosen.first + chosen.cases)
    refused = 0
    with chosen.output.open("w") if chosen.output else sys.stdout as stream:
        for end in outcomes(numbers, chosen.episodes):
            refused += bool(end["refused"])
            print(json.dumps(end), file=stream, flush=True)
    print(f"{refused} of {len(numbers)} refused", file=sys.stderr)


if __name__ == "__main__":
    main()
