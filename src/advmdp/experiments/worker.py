"""What a process of the local engine does."""

from __future__ import annotations

import atexit
import multiprocessing as mp
import os
import threading
from pathlib import Path
from typing import Any

from advmdp.experiments.build import build
from advmdp.experiments.execute import Played, Saving, execute
from advmdp.experiments.spec import RunSpec
from advmdp.play import Progress
from advmdp.store import Store
from advmdp.store.log import attach_log

_stop: Any = None
_progress: Any = None


def prepare(store: Path, stop: Any, progress: Any) -> None:
    """Called once in every process, before its first run."""
    global _stop, _progress
    _stop, _progress = stop, progress
    attach_log(store)
    atexit.register(
        os._exit, 0
    )  # nothing is held: do not take the interpreter apart piece by piece
    leave_with_parent()


def leave_with_parent() -> None:
    """A killed sweep leaves no process behind: what is lost is in the last checkpoint."""
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def nothing() -> None:
    """What a process does first: start."""


def check(spec_jsons: list[str]) -> None:
    """Make everything that the specs ask for."""
    for spec_json in spec_jsons:
        build(RunSpec.from_json(spec_json))


def task(spec_json: str, store: Path, saving: Saving) -> Played:
    """Play one run."""
    spec = RunSpec.from_json(spec_json)
    _progress.put((spec.id, None))  # under way: what becomes of this process concerns the run

    def report(progress: Progress) -> None:
        _progress.put((spec.id, progress))

    return execute(
        spec,
        Store(store).checkpoints(spec.identity()),
        saving=saving,
        progress=report,
        should_stop=_stop.is_set,
    )
