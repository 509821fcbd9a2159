"""``python -m tests.warm_up``: compile what the tests use, every program once.

Two test processes that start with an empty cache would compile the same programs at the same time.
Here the programs are dealt out to the cores of the machine, those with most in common to one of
them; the tests then load them from the cache.  Nothing depends on it but time (``-v`` tells it).
It needs the packages of a user only, so that it can begin before those of the tests are there.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import advmdp as am
from advmdp.kernels.learners import interface
from advmdp.steps.mirror_descent import Projector, project_measure, project_safely
from tests.reference.worlds import GRID, made

NARROW = am.families.random_mdp((1, 3, 2, 1), 2, seed=0)
WIDE = am.families.random_mdp((1, 14, 3, 1), 2, seed=0)
BY_SET = ("uob-reps", "uob-reps-l1", "o-reps")  # a box, a ball, a known transition
NARROW_ONLY = ("uob-ftrl", "uob-log-barrier", "ada-uc-o-reps")  # for all of their families
OTHERS = (
    *("fpop", "ucrl2", "ucbvi-bf", "q-learning-b", "mdp-e", "ngs-2010", "fpl", "exp3-ix"),
    *("dilated-bonus", "pomd", "oppo", "uniform", "lykouris"),  # apo-mvp is the program of oppo
    *("ada-ftrl", "plan-window"),
)
Task = tuple[Callable[..., None], str, bool]


def losses_for(mdp: am.LayeredMDP) -> am.losses.Stochastic:
    return am.losses.Stochastic(np.full(mdp.layout.n_rows, 0.5))


def compiled_loop(name: str, wide: bool) -> None:
    mdp = WIDE if wide else NARROW
    am.play(mdp, losses_for(mdp), made(name, mdp), 3, compiled=True)


def protocol_loop(name: str, wide: bool) -> None:
    mdp = WIDE if wide else NARROW
    am.play(mdp, losses_for(mdp), made(name, mdp), 3, compiled=False)


def late_loops(name: str, wide: bool) -> None:
    mdp, late = WIDE if wide else NARROW, am.delays.Constant(1)
    for compiled in (True, False):
        am.play(mdp, losses_for(mdp), made(name, mdp), 3, compiled=compiled, delays=late)


def single_steps(name: str, wide: bool) -> None:
    """The step by itself: first measures, several learners that share their counts."""
    mdp = WIDE if wide else NARROW
    interface.solve_pending(mdp.layout.graph(), made(name, mdp).kernel_state, None)


def first_measure(name: str, wide: bool) -> None:
    """Where not every state is equally likely to be reached, it is a projection."""
    made(name, GRID)


def safe_path(name: str, wide: bool) -> None:
    mdp = WIDE if wide else NARROW
    interface.finish_safely(mdp.layout.graph(), made(name, mdp).kernel_state)


def projection(name: str, wide: bool) -> None:
    mdp = WIDE if wide else NARROW
    confidence = made(name, mdp).confidence_set()
    am.project([table + 0.01 for table in mdp.transitions], confidence)


def projections_in_parts(name: str, wide: bool) -> None:
    """What a projection falls back on: without what cannot be reached, and in logarithms."""
    mdp = WIDE if wide else NARROW
    confidence = made(name, mdp).confidence_set()
    projector = Projector(mdp.layout)
    projector.project([table + 0.01 for table in mdp.transitions], confidence)
    work = (projector._graph, projector._measure, confidence.rows, projector._solver)
    project_measure(*work, None)
    project_safely(*work)


def taken_back(name: str, wide: bool) -> None:
    """An episode without its step, and as if it had not been."""
    mdp = WIDE if wide else NARROW
    learner = made(name, mdp)

    def begin_only(graph: Any, state: Any, *seen: Any) -> bool:
        interface.begin_update(graph, state, *seen)
        interface.undo_update(graph, state, *seen[:2])
        return True

    learner._update_program = begin_only
    am.play(mdp, losses_for(mdp), learner, 1, compiled=False)


def observed_run(name: str, wide: bool) -> None:
    from advmdp.claims.playing.observed_runs import observe_run

    observe_run(NARROW, losses_for(NARROW), made(name, NARROW), 3, seed=0)


def groups() -> list[list[Task]]:
    """What has most kernels in common goes to one process: it types and lowers them once.

    The first two have little in common, and the later ones find in the cache what they share with
    these; the smallest comes last, so that no process waits long for the other.
    """
    heavy = (compiled_loop, protocol_loop, projection, single_steps)
    by_set: dict[str, list[Task]] = {
        name: [
            *((run, name, False) for run in (*heavy, safe_path, projections_in_parts, taken_back)),
            *((run, name, True) for run in (projection, compiled_loop)),
        ]
        for name in BY_SET
    }
    by_set["uob-reps"] += [(run, "uob-reps", True) for run in (protocol_loop, single_steps)]
    for name in BY_SET[:2]:
        by_set[name] += [(observed_run, name, False)]
    single = (*heavy[:2], single_steps, safe_path)
    box = by_set["uob-reps"] + [(run, "ada-uc-o-reps", False) for run in (*single, first_measure)]
    box += [(late_loops, "delayed-uob-reps", False)]
    leaders = [(run, name, False) for name in NARROW_ONLY[:2] for run in single]
    leaders += [(taken_back, "uob-ftrl", False), (late_loops, "delayed-uob-ftrl", False)]
    others = [(run, name, False) for name in OTHERS for run in heavy[:2]]
    others += [(late_loops, "dapo", False)]  # dilated-bonus has its other programs
    return [box, leaders, by_set["uob-reps-l1"], by_set["o-reps"], others]


def perform(group: list[Task]) -> None:
    for run, name, wide in group:
        begin = time.process_time()
        run(name, wide)
        if "-v" in sys.argv:
            print(f"{time.process_time() - begin:6.1f} s {run.__name__} {name} {wide}", flush=True)


def main() -> None:
    """Deal the groups out."""
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(perform, groups()))


if __name__ == "__main__":
    main()
