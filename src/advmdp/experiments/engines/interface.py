"""The interface of an engine: take runs, play them, report how each ended.

An engine knows nothing of queues, retries or results on disk; ``advmdp.experiments.runner`` hands
it runs that nobody else plays and stores what it returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from advmdp.experiments.build import build
from advmdp.experiments.engines.results import OnProgress, RunResult
from advmdp.experiments.spec import RunSpec


@dataclass(frozen=True)
class CheckpointSchedule:
    """When checkpoints are written: after so many seconds or episodes, whichever comes first."""

    seconds: float = 30.0
    episodes: int | None = None
    """None: by time alone."""


@dataclass(frozen=True)
class EngineOptions:
    """What a user may choose; an engine ignores the options that do not apply to it."""

    workers: int | None = None
    """Processes that play; None: as many as there are cores."""
    address: str | None = None
    """Of a cluster; None: one is started on this machine."""
    schedule: CheckpointSchedule = CheckpointSchedule()
    task_cores: float | None = None
    """Cores that a cluster sets aside for a run; None: one."""
    task_memory: int | None = None
    """Bytes of memory that a cluster sets aside for a run; None: no matter how many."""


DEFAULT_OPTIONS = EngineOptions()


class Engine(ABC):
    """Plays runs of a store.

    Parameters
    ----------
    store
        The folder of the store, which need not exist before the first run is submitted.
    options
        The user's choices.
    """

    sets_aside: ClassVar[bool] = False
    """Whether cores and memory can be set aside for each run."""
    batched: ClassVar[bool] = False
    """Whether many similar runs are played at once: a few are faster on the cores."""
    capacity: int = 1
    """How many runs may be submitted and not yet returned."""

    def __init__(self, store: Path, options: EngineOptions = DEFAULT_OPTIONS) -> None:
        self.store, self.options = store, options

    @classmethod
    @abstractmethod
    def require(cls) -> None:
        """Raise an error with the remedy if this machine lacks what the engine needs."""

    def check(self, specs: Sequence[RunSpec]) -> None:
        """Raise ``InvalidInput`` for values that no learner, MDP or loss process accepts."""
        for spec in specs:
            build(spec)

    @abstractmethod
    def submit(self, spec: RunSpec) -> None:
        """Take a run that is not finished and that nobody else plays."""

    @abstractmethod
    def poll(self, on_progress: OnProgress) -> list[RunResult]:
        """Wait for a moment; return the runs that ended, after reporting their last progress."""

    @abstractmethod
    def stop(self) -> None:
        """Ask all runs to end, resumable from a checkpoint; ``poll`` returns each of them."""

    @abstractmethod
    def close(self) -> None:
        """Free all resources; runs that were not returned are abandoned."""
