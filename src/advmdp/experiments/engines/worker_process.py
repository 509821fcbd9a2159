"""A process that plays runs for the local engine."""

from __future__ import annotations

import atexit
import multiprocessing as mp
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from advmdp.errors import UnsafeChoice
from advmdp.experiments.build import build
from advmdp.experiments.engines.interface import CheckpointSchedule
from advmdp.experiments.engines.results import CompletedRun, RunProgress
from advmdp.experiments.engines.single_run import play_run
from advmdp.experiments.own.registry import OwnParts, adopt
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from advmdp.store.log import attach_log

THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"),
)
_stop: Any = None
_progress: Any = None


@contextmanager
def worker_environment() -> Iterator[None]:
    """Start processes inside: they inherit one thread each, and ignore Ctrl-C.

    A terminal sends Ctrl-C to all processes of a group; the parent alone decides what happens.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def exit_with_parent() -> None:
    """End this process when its parent dies: the last checkpoint has what is needed to resume."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def initialise(store: Path, stop: Any, progress: Any, own: OwnParts) -> None:
    """Called once in every process, before its first task."""
    adopt(own)
    warnings.simplefilter("ignore", UnsafeChoice)  # ``check_specs`` hands them to the caller
    global _stop, _progress
    _stop, _progress = stop, progress
    attach_log(store)
    atexit.register(os._exit, 0)  # no resources are held: skip the interpreter's slow teardown
    exit_with_parent()


def warm_up() -> None:
    """A task without work: it starts the process."""


def check_specs(spec_jsons: list[str]) -> set[str]:
    """Build everything that the specs name; what there was to warn of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UnsafeChoice)
        for spec_json in spec_jsons:
            build(RunSpec.from_json(spec_json, allow_code=True))
    return {str(each.message) for each in found if issubclass(each.category, UnsafeChoice)}


def play_spec(spec_json: str, store: Path, schedule: CheckpointSchedule) -> CompletedRun:
    """Play one run."""
    spec = RunSpec.from_json(spec_json, allow_code=True)
    _progress.put((spec.id, None))  # under way: if this process dies, the run is lost with it

    def report(progress: RunProgress) -> None:
        _progress.put((spec.id, progress))

    return play_run(
        spec,
        Store(store).checkpoints(spec.identity()),
        schedule=schedule,
        on_progress=report,
        should_stop=_stop.is_set,
    )
