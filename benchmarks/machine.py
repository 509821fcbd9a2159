"""The machine a run was made on, and one number for how fast it moves memory."""

from __future__ import annotations

import os
import platform
import sys
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import best_of

Floats = NDArray[np.float64]

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
