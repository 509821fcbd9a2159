"""The machine: its name, how fast it moves memory, and stopwatches that notice when it is busy."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T")

# One thread that is never interrupted uses as much processor time as wall-clock time.
DISTURBED = 1.03
SHORTEST = 1e-3  # seconds below which the processor clock is too coarse to tell
PASS_SECONDS = 0.05  # how long a streaming measurement lasts


def describe() -> dict[str, Any]:
    """Processor, cores and versions."""
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def source_stamp() -> str:
    """Of the package's sources; what measures older versions too has to do without it."""
    from advmdp.store.source_stamp import source_stamp as stamp

    return stamp()


def cpu_name() -> str:
    """The model name as the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def load() -> float | None:
    """Processes that want to run, averaged over the last minute."""
    return os.getloadavg()[0] if sys.platform != "win32" else None


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds, whether another process got in the way, and processor seconds."""

    wall: float
    noisy: bool
    cpu: float


def stopwatch(action: Callable[[], T]) -> tuple[Timing, T]:
    """Time one call and return its answer as well."""
    cpu, wall = time.process_time(), time.perf_counter()
    answer = action()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Timing(wall, wall > SHORTEST and wall > DISTURBED * cpu, cpu), answer


def best_of(action: Callable[[], object], repeats: int = 3) -> Timing:
    """The fastest of several calls that do the same work."""
    return min((stopwatch(action)[0] for _ in range(repeats)), key=lambda timing: timing.wall)


def calm(action: Callable[[], T], tries: int = 3) -> tuple[Timing, T]:
    """``stopwatch``, repeated while the machine is busy; the fastest attempt."""
    best = stopwatch(action)
    for _ in range(tries - 1):
        if not best[0].noisy:
            break
        best = min(best, stopwatch(action), key=lambda timed: timed[0].wall)
    return best


def median_of(timings: list[Timing]) -> Timing:
    """The median; noisy when more than half of the timings were."""
    noisy = sum(timing.noisy for timing in timings) * 2 > len(timings)
    wall, cpu = (median(times) for times in zip(*((t.wall, t.cpu) for t in timings), strict=True))
    return Timing(wall, noisy, cpu)


def rotating(actions: Sequence[Callable[[], object]], rounds: int) -> list[Timing]:
    """The median time of each action; they take turns, so a disturbance does not hit only one."""
    times: list[list[Timing]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, collected in zip(actions, times, strict=True):
            collected.append(stopwatch(action)[0])
    return [median_of(collected) for collected in times]


def _passes(first: Floats, second: Floats, third: Floats, rounds: int) -> None:
    """Three passes a round; the arrays take turns, so no pass repeats the one before."""
    for _ in range(rounds):
        for i in range(first.size):
            first[i] = second[i] + third[i]
        for i in range(first.size):
            second[i] = third[i] + first[i]
        for i in range(first.size):
            third[i] = first[i] + second[i]


_stream: Any = numba.njit(nogil=True)(_passes)


@lru_cache
def streaming_pass(size: int) -> float:
    """Seconds for ``a[i] = b[i] + c[i]`` over arrays of ``size`` float64, once."""
    arrays = [np.zeros(size) for _ in range(3)]
    _stream(*arrays, 1)  # compiles
    rounds, lasted = 1, 0.0
    while lasted < PASS_SECONDS / 4:
        rounds *= 2
        lasted = best_of(partial(_stream, *arrays, rounds), 1).wall
    return best_of(partial(_stream, *arrays, rounds)).wall / (3 * rounds)
