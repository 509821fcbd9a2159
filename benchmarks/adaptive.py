"""The learners with nothing to set: compiled episodes in a second of processor time."""

from __future__ import annotations

from functools import partial

import advmdp as am
from benchmarks.learners import OF_ITS_OWN, make
from benchmarks.machine import stopwatch
from benchmarks.report import Figure, Grid, Section, number
from benchmarks.worlds import MIDDLE, make_world

ROUNDS = 5
N_EPISODES = {"ada-ftrl": 50_000, "ada-o-reps": 20_000, "ada-mixture": 500}


def run(*, quick: bool) -> Section:
    """The quickest of several runs from the first episode, after one that compiles."""
    world, section, rows = make_world(MIDDLE), Section(), []
    for name, most in N_EPISODES.items():
        n_episodes = most // 10 if quick else most
        timings = []
        for n in (3, *[n_episodes] * ROUNDS):
            learner = make(name, world, n)
            timing, _ = stopwatch(partial(am.play, world.mdp, world.losses, learner, n, seed=1))
            timings.append(timing)
        rates = [n_episodes / timing.cpu for timing in timings[1:]]
        rows.append((name, f"{n_episodes:,}", number(max(rates)), number(min(rates))))
        what = f"{name}, {MIDDLE}, by processor time"
        section.figures.append(Figure(what, max(rates), "episodes/s", OF_ITS_OWN.get(name)))
    columns = ("learner", "episodes", "best round, episodes/s", "worst")
    section.grids.append(Grid(f"Nothing to set, {MIDDLE}, coin flips", columns, rows))
    return section
