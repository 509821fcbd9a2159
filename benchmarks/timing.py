"""Stopwatches that notice when the machine was busy with something else."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

T = TypeVar("T")

# One thread that is never interrupted uses as much processor time as wall-clock time.
DISTURBED = 1.03
SHORTEST = 1e-3  # seconds below which the processor clock is too coarse to tell


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds, and whether another process got in the way."""

    wall: float
    noisy: bool


def stopwatch(action: Callable[[], T]) -> tuple[Timing, T]:
    """Time one call and return its answer as well."""
    cpu, wall = time.process_time(), time.perf_counter()
    answer = action()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Timing(wall, wall > SHORTEST and wall > DISTURBED * cpu), answer


def best_of(action: Callable[[], object], repeats: int = 3) -> Timing:
    """The fastest of several calls that do the same work."""
    return min((stopwatch(action)[0] for _ in range(repeats)), key=lambda timing: timing.wall)


def median_of(timings: list[Timing]) -> Timing:
    """The median; noisy when more than half of the timings were."""
    noisy = sum(timing.noisy for timing in timings) * 2 > len(timings)
    return Timing(median(timing.wall for timing in timings), noisy)


def rotating(actions: Sequence[Callable[[], object]], rounds: int) -> list[Timing]:
    """The median time of each action, taken in turns so that none finds its own data in cache."""
    times: list[list[Timing]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, collected in zip(actions, times, strict=True):
            collected.append(stopwatch(action)[0])
    return [median_of(collected) for collected in times]
