"""How long a fresh process takes to import the package and to play its first episode."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.machine import Timing, median_of
from benchmarks.report import AT_MOST, Figure, Grid, Section, seconds

REPEATS = 5
DISTURBED = 1.15  # starting a process waits for files, which is not a disturbance
IMPORT_TARGET, START_TARGET = 0.5, 3.0

IMPORT = "import advmdp"
# The large layout takes the other branch of the Newton solver: its kernels are separate ones.
FIRST_EPISODE = """
import numpy as np
import advmdp as am
mdp = am.families.random_mdp({sizes}, 2, seed=0)
learner = am.UOBREPS(mdp.layout, n_episodes=10)
am.play(mdp, am.losses.Stochastic(np.full(mdp.layout.n_rows, 0.5)), learner, 1)
"""
NARROW = FIRST_EPISODE.format(sizes=(1, 3, 3, 1))
WIDE = FIRST_EPISODE.format(sizes=(1, 20, 20, 1))


def start(code: str, cache: str | None = None) -> Timing:
    """From starting an interpreter to its end."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    cpu, wall = _cpu_of_children(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    wall, cpu = time.perf_counter() - wall, _cpu_of_children() - cpu
    return Timing(wall, wall > DISTURBED * cpu, cpu)


def median_start(code: str, cache: str | None = None) -> Timing:
    """The median of several starts."""
    return median_of([start(code, cache) for _ in range(REPEATS)])


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _figure(what: str, timing: Timing, target: float | None = None) -> Figure:
    return Figure(f"starting: {what}", timing.wall, "s", target, AT_MOST, timing.noisy)


def run(*, quick: bool) -> Section:
    """The section: whole processes, so the interpreter itself is included."""
    start(IMPORT)  # byte code and file caches
    figures = [
        _figure("bare interpreter", median_start("pass")),
        _figure("import numpy", median_start("import numpy")),
        _figure("import numba", median_start("import numba")),
        _figure("import advmdp", median_start(IMPORT), IMPORT_TARGET),
    ]
    with tempfile.TemporaryDirectory() as empty:
        # A quick run relies on the cache that is there already; a full one starts from nothing.
        cache = None if quick else empty
        for name, code in (("narrow", NARROW), ("wide", WIDE)):
            first = start(code, cache)
            second = median_start(code, cache)
            if not quick:
                figures.append(_figure(f"first episode, compiling, {name}", first))
            what = f"first episode, kernels cached, {name}"
            figures.append(_figure(what, second, START_TARGET))
    rows = [
        (
            figure.what.removeprefix("starting: "),
            f"{'~' if figure.noisy else ''}{seconds(figure.value)}",
        )
        for figure in figures
    ]
    note = f"whole processes, median of {REPEATS} starts (one for compiling)"
    return Section([Grid("Starting", ("what", "time"), rows, note)], figures)
