"""``python -m benchmarks.hints``: regret with and without hints, on random worlds.

Full information with a known transition (O-REPS, at its own rate and at 16 times that), and own
paths with an unknown one (UOB-REPS at theory's parameters); losses that are steady, that turn, and
that go around in a cycle of seven tables, which only a function of the history can guess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import advmdp as am

SIZES, N_ACTIONS, N_EPISODES, SEEDS = (1, 5, 5, 5, 5, 1), 3, 5_000, range(5)
CYCLE = 7


def losses_of(n_rows: int, seed: int) -> dict[str, Any]:
    """Steady coin flips, coin flips that turn, and a cycle of tables."""
    rng = np.random.default_rng([seed, 1])
    means = list(rng.random((2, n_rows)))
    cycle = rng.random((CYCLE, n_rows))
    return {
        "coin flips": am.losses.Stochastic(means[0]),
        "a turn at T/2": am.losses.Switching(means, period=N_EPISODES // 2, noisy=True),
        "turns every 100": am.losses.Switching(means, period=100, noisy=True),
        "tables that turn every 100": am.losses.Switching(means, period=100),
        "cycle of seven": am.losses.Replayed(np.resize(cycle, (N_EPISODES, n_rows))),
    }


def a_week_ago(n_rows: int) -> Callable[[Any], Any]:
    """The losses of seven episodes ago, as a function of the history."""
    return lambda history: history[-CYCLE].losses if len(history) >= CYCLE else np.zeros(n_rows)


def learners_of(mdp: am.LayeredMDP) -> dict[str, dict[str, Any]]:
    """Names of learners, and each with its hints."""

    def known(scale: float, hint: Any) -> Any:
        return am.OREPS(mdp.layout, mdp.transitions, N_EPISODES, eta_scale=scale, hint=hint)

    hints = {
        "none": None,
        "last": "last",
        "mean of 7": 7,
        "a week ago": a_week_ago(mdp.layout.n_rows),
    }
    own: dict[str, Any] = {"none": {}, "damped baseline": {"baseline": "damped"}}
    own["undamped baseline"] = {"baseline": "undamped"}
    own |= {name: {"hint": hint} for name, hint in hints.items() if name in ("last", "mean of 7")}
    return {
        "o-reps": {name: known(1.0, hint) for name, hint in hints.items()},
        "o-reps, 16 eta": {name: known(16.0, hint) for name, hint in hints.items()},
        "uob-reps": {
            name: am.UOBREPS(mdp.layout, N_EPISODES, **given) for name, given in own.items()
        },
    }


def main() -> None:
    """Print the mean over the worlds."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for seed in SEEDS:
        mdp = am.families.random_mdp(SIZES, N_ACTIONS, seed=seed)
        for process, losses in losses_of(mdp.layout.n_rows, seed).items():
            for name, variants in learners_of(mdp).items():
                cell = found.setdefault((name, process), {})
                for hint, learner in variants.items():
                    run = am.play(
                        mdp, losses, learner, N_EPISODES, seed=seed, checkpoints=[N_EPISODES]
                    )
                    cell.setdefault(hint, []).append(float(run.regret[-1]))
    for (name, process), cell in found.items():
        means = ", ".join(f"{hint} {np.mean(values):,.0f}" for hint, values in cell.items())
        print(f"{name} | {process}: {means}")


if __name__ == "__main__":
    main()
