"""``python -m benchmarks.environments [WORD ...]``: what learners earn in Gymnasium, and how fast.

With words, only the rows that have one of them in the name of the environment or the learner are
measured anew.  Speed is in episodes per second of processor time, the environment's included.

Every learner plays in the environment itself (``am.gym.play``).  The best policy is that of the
table, for the horizon given; nobody is told.  Presets are those of the package, which were chosen
on other worlds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium

import advmdp as am
from benchmarks.machine import describe, load, source_stamp

RESULTS = Path(__file__).parent / "environments.json"
PRESET = am.PRACTICAL


def hands() -> tuple[Any, Any]:
    """Blackjack, whose table nobody has: hands, and what can follow them."""
    env = gymnasium.make("Blackjack-v1")
    dealt = [(t, card, a) for t in range(4, 22) for card in range(1, 11) for a in (0, 1)]

    def later(hand: Any) -> list[Any]:
        return [(t, hand[1], a) for t in range(4, 22) for a in (0, 1)]

    return env, am.gym.unroll(
        env, 4, am.Rewards(-1, 1), starts=dealt, successors=later, pooled=True
    )


def table(horizon: int, name: str, **options: Any) -> Callable[[], tuple[Any, Any]]:
    def make() -> tuple[Any, Any]:
        env = gymnasium.make(name, max_episode_steps=horizon, **options)
        return env, am.gym.from_gymnasium(env, horizon, pooled=True)

    return make


ENVIRONMENTS: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {
    "FrozenLake 4x4, 30 steps": (table(30, "FrozenLake-v1"), 20_000),
    "FrozenLake 8x8, 60 steps": (table(60, "FrozenLake-v1", map_name="8x8"), 20_000),
    "CliffWalking, 30 steps": (table(30, "CliffWalking-v1"), 5_000),
    "Taxi, 20 steps": (table(20, "Taxi-v4"), 5_000),
    "Blackjack, 4 steps": (hands, 20_000),
}
Make = Callable[[am.Layout, int], Any]
LEARNERS: dict[str, Make] = {
    "uniform": lambda layout, n: am.Uniform(layout),
    "ucbvi-bf, preset, stationary": lambda layout, n: am.UCBVIBF(
        layout, n, stationary=True, **PRESET["ucbvi-bf"]
    ),
    "ucrl2, preset, stationary": lambda layout, n: am.UCRL2(
        layout, stationary=True, **PRESET["ucrl2"]
    ),
}
ON_THE_SMALL_LAKE: dict[str, Make] = {
    "ucbvi-bf, preset": lambda layout, n: am.UCBVIBF(layout, n, **PRESET["ucbvi-bf"]),
    "ucbvi-bf, theory, stationary": lambda layout, n: am.UCBVIBF(layout, n, stationary=True),
    "ucbvi-ch, preset, stationary": lambda layout, n: am.UCBVICH(
        layout, n, stationary=True, **PRESET["ucbvi-ch"]
    ),
    "ucrl2, theory, stationary": lambda layout, n: am.UCRL2(layout, stationary=True),
    "q-learning-h, preset": lambda layout, n: am.QLearningH(layout, n, **PRESET["q-learning-h"]),
    "q-learning-h, preset, stationary": lambda layout, n: am.QLearningH(
        layout, n, stationary=True, **PRESET["q-learning-h"]
    ),
    "q-learning-h, c=0.002, stationary": lambda layout, n: am.QLearningH(
        layout, n, stationary=True, c=0.002
    ),
    "q-learning-h, c=0.002": lambda layout, n: am.QLearningH(layout, n, c=0.002),
    "uob-reps, preset": lambda layout, n: am.UOBREPS(layout, n, **PRESET["uob-reps"]),
}


def best_reward(game: Any) -> float | None:
    """The mean reward of the best policy, where there is a table."""
    if not isinstance(game, am.gym.Tabular):
        return None
    best = am.best_fixed_policy(game.mdp, game.mdp.natural_loss)
    return float(game.rewards.total(best.loss, game.mdp.n_steps))


def measure(name: str, learner: str, make: Make) -> dict[str, Any]:
    """One run; the first episodes of a learner, which compile it, are played before."""
    world, n_episodes = ENVIRONMENTS[name]
    env, game = world()
    am.gym.play(env, make(game.layout, n_episodes), game, 3)
    begin = time.process_time()
    run = am.gym.play(env, make(game.layout, n_episodes), game, n_episodes, seed=1)
    seconds = time.process_time() - begin
    half = n_episodes // 2
    return {
        "environment": name,
        "learner": learner,
        "episodes": n_episodes,
        "states": game.layout.n_states,
        "triples": game.layout.n_entries,
        "mean_reward": round(float(run.reward.mean()), 4),
        "last_half": round(float(run.reward[half:].mean()), 4),
        "best_policy": best_reward(game),
        "episodes_per_second": round(n_episodes / seconds),
    }


def main() -> None:
    """Measure, print, keep."""
    words = sys.argv[1:]
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": []}
    rows = {(row["environment"], row["learner"]): row for row in kept["rows"]}
    for name in ENVIRONMENTS:
        more = ON_THE_SMALL_LAKE if "4x4" in name else {}
        for learner, make in (LEARNERS | more).items():
            if words and not any(word in name or word in learner for word in words):
                continue
            rows[name, learner] = measure(name, learner, make)
            print(rows[name, learner], flush=True)
            about = {"machine": describe(), "load": load(), "sources": source_stamp()}
            RESULTS.write_text(json.dumps({**about, "rows": [*rows.values()]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
