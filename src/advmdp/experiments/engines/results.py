"""What an engine reports about a run: progress while it is played, a result when it ends."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from advmdp.errors import AdvMDPError, StorageFailure
from advmdp.experiments.spec import RunSpec
from advmdp.store.outcome import Outcome

log = logging.getLogger(__name__)


class RunProgress(NamedTuple):
    """How far a run is."""

    episodes: int
    """Episodes played so far, over all sittings."""
    episodes_per_second: float
    """Rate of this sitting."""
    regret: float | None = None
    """None where it is known at the end only, as in a batch on a GPU."""
    epoch: int | None = None
    """None for learners without epochs."""
    resumed_at: int = 0
    """Episodes of earlier sittings."""


OnProgress = Callable[[str, RunProgress], None]
"""Called with the id of a run and its progress."""


class RunStopped(AdvMDPError):
    """The run was asked to stop; its episodes so far are in a checkpoint."""


@dataclass(frozen=True)
class CompletedRun:
    """A run that was played to its end."""

    outcome: Outcome
    seconds: float
    """Time spent on the run, over all sittings."""
    resumed_at: int = 0
    """Episodes of earlier sittings."""
    resumed_seconds: float = 0.0
    """Time spent on those."""


class RunResult(NamedTuple):
    """How a run ended; with nothing but the spec, it was stopped and can be resumed."""

    spec: RunSpec
    completed: CompletedRun | None = None
    failure: str | None = None
    """Why the run cannot be played, in one line."""
    lost: str | None = None
    """What happened to the worker that played the run; the run itself may be played again."""
    storage_failure: StorageFailure | None = None
    """The disk refused a checkpoint."""


def result_of(spec: RunSpec, play: Callable[[], CompletedRun]) -> RunResult:
    """Play a run and classify how it ended; an error of one run never ends the others."""
    try:
        return RunResult(spec, completed=play())
    except Exception as problem:
        return result_of_error(spec, problem)


def result_of_error(spec: RunSpec, problem: Exception) -> RunResult:
    """How a run ended that raised an error."""
    if isinstance(problem, RunStopped):
        return RunResult(spec)
    if isinstance(problem, StorageFailure):
        return RunResult(spec, storage_failure=problem)
    if isinstance(problem, AdvMDPError):
        return RunResult(spec, failure=str(problem))
    log.error("%s failed", spec.id, exc_info=problem)  # a defect: the log has the traceback
    return RunResult(spec, failure=describe_error(problem))


def describe_error(problem: Exception) -> str:
    """The type and the message of an error on one line.

    >>> describe_error(KeyError("a"))
    "KeyError: 'a'"
    """
    return " ".join(f"{type(problem).__name__}: {problem}".split())
