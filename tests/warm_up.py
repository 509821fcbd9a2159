"""``python -m tests.warm_up``: compile what the tests use, every program once.

Two test processes that start with an empty cache would compile the same programs at the same time.
Here the programs are dealt out to the cores of the machine, the longest first and those with most
in common one after the other; the tests then load them from the cache.  Nothing depends on it but
time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import advmdp as am
from advmdp.kernels.learners import interface
from tests.reference.contract import made

NARROW = am.families.random_mdp((1, 3, 2, 1), 2, seed=0)
WIDE = am.families.random_mdp((1, 14, 3, 1), 2, seed=0)
BY_SET = ("uob-reps", "uob-reps-l1", "o-reps")  # a box, a ball, a known transition
NARROW_ONLY = ("uob-ftrl", "uob-log-barrier", "ada-uc-o-reps")  # for all of their families
OTHERS = (
    *("fpop", "ucrl2", "ucbvi-bf", "q-learning-b", "mdp-e", "ngs-2010", "fpl", "exp3-ix"),
    *("dilated-bonus", "pomd", "oppo", "uniform"),  # apo-mvp is the program of oppo
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


def single_steps(name: str, wide: bool) -> None:
    """The step by itself: first measures, several learners that share their counts."""
    mdp = WIDE if wide else NARROW
    interface.solve_pending(mdp.layout.graph(), made(name, mdp).kernel_state, None)


def safe_path(name: str, wide: bool) -> None:
    mdp = WIDE if wide else NARROW
    interface.finish_safely(mdp.layout.graph(), made(name, mdp).kernel_state)


def projection(name: str, wide: bool) -> None:
    mdp = WIDE if wide else NARROW
    confidence = made(name, mdp).confidence_set()
    am.project([table + 0.01 for table in mdp.transitions], confidence)


def observed_run(name: str, wide: bool) -> None:
    from advmdp.claims.playing.observed_runs import observe_run

    observe_run(NARROW, losses_for(NARROW), made(name, NARROW), 3, seed=0)


def tasks() -> list[Task]:
    heavy = (compiled_loop, protocol_loop, projection, single_steps)
    found: list[Task] = [
        (run, name, wide) for run in heavy for wide in (False, True) for name in BY_SET
    ]
    found += [(run, name, False) for run in (*heavy[:2], single_steps) for name in NARROW_ONLY]
    found += [(observed_run, name, False) for name in BY_SET[:2]]
    found += [(safe_path, name, False) for name in (*BY_SET[:2], *NARROW_ONLY)]
    return found + [(run, name, False) for name in OTHERS for run in heavy[:2]]


def perform(task: Task) -> None:
    run, name, wide = task
    run(name, wide)


def main() -> None:
    """Deal the tasks out."""
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(perform, tasks()))


if __name__ == "__main__":
    main()
