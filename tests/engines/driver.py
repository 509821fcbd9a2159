"""Plays small sweeps with one engine, lets things go wrong, and writes down what happened.

``python -m tests.engines.driver ENGINE FOLDER`` writes FOLDER/report.json.  It is a program of its
own, since numba's CUDA simulator is chosen before numba is imported, and Ray leaves threads behind.
"""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from advmdp.errors import StorageFailure
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.interface import CheckpointSchedule, Engine, EngineOptions
from advmdp.experiments.engines.registry import find_engine
from advmdp.experiments.engines.results import CompletedRun, RunProgress
from advmdp.experiments.runner import Summary, Watcher, run_all
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from tests.engines.trials import TRIALS, Trial
from tests.experiments.sweeps import one_run

OFTEN = EngineOptions(workers=1, schedule=CheckpointSchedule(seconds=0.0))


class Recorder(Watcher):
    """Writes down all events, and lets something happen once, when a long run is under way."""

    def __init__(self, happening: Callable[[], None] | None = None, n_long: int = 0) -> None:
        self._happening, self._n_long = happening, n_long
        self._lengths: dict[str, int] = {}
        self.n_runs = self.n_unfinished = 0
        self.n_started: dict[str, int] = defaultdict(int)
        self.episodes: dict[str, list[int]] = defaultdict(list)
        self.finished_runs: list[str] = []
        self.lost_runs: list[str] = []
        self.under_way: list[str] = []  # when it happened

    def begin(self, specs: Sequence[RunSpec], unfinished: Sequence[RunSpec]) -> None:
        self.n_runs, self.n_unfinished = len(specs), len(unfinished)
        self._lengths = {spec.id: spec.n_episodes for spec in specs}

    def started(self, spec: RunSpec) -> None:
        self.n_started[spec.id] += 1

    def progress(self, run: str, progress: RunProgress) -> None:
        self.episodes[run].append(progress.episodes)
        is_long = self._lengths[run] == self._n_long
        is_under_way = 1 < progress.episodes < self._lengths[run]
        if self._happening is not None and is_long and is_under_way:
            happening, self._happening = self._happening, None
            ended = set(self.finished_runs)
            self.under_way = [other for other in self.episodes if other not in ended]
            happening()

    def finished(self, spec: RunSpec, completed: CompletedRun) -> None:
        self.finished_runs.append(spec.id)

    def lost(self, spec: RunSpec) -> None:
        self.lost_runs.append(spec.id)

    def events(self) -> dict[str, Any]:
        """As plain JSON."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


class Driver:
    """One engine, one folder for its stores."""

    def __init__(self, name: str, folder: Path) -> None:
        self._make, self._folder = find_engine(name), folder
        self._trial: Trial = TRIALS[name]
        self._specs = self._trial.specs()
        self._long = [spec for spec in self._specs if spec.n_episodes == self._trial.n_long]

    def report(self) -> dict[str, Any]:
        """Every property that ``tests/test_every_engine.py`` asserts."""
        self._make.require()
        properties = (self.whole, self.stopped, self.lost, self.full_disk, self.unbuildable)
        with self._trial.session():
            return {
                "runs": {spec.id: spec.n_episodes for spec in self._specs},
                "long": [spec.id for spec in self._long],
                **{play.__name__: _observed(play) for play in properties},
            }

    def whole(self) -> dict[str, Any]:
        """Nothing goes wrong; the results are those of this process, up to rounding."""
        store, events = self._store("whole"), Recorder()
        summary = self._play(store, events)
        here = self._store("here")
        run_all(self._specs, here, InlineEngine(here.path))
        ours, theirs = (s.curves().sort("run", "episodes") for s in (store, here))
        np.testing.assert_allclose(ours["regret"], theirs["regret"], rtol=1e-9, atol=1e-9)
        return {"summary": vars(summary), "curves": curves(store), **events.events()}

    def stopped(self) -> dict[str, Any]:
        """Ctrl-C while a long run is under way, and the same sweep again."""
        store = self._store("stopped")
        events = Recorder(lambda: signal.raise_signal(signal.SIGINT), self._trial.n_long)
        summary = self._play(store, events)
        statuses = dict(zip(*store.runs().select("run", "status"), strict=True))
        files = self._trial.checkpoints(store.path, self._long)
        return {
            "summary": vars(summary),
            "statuses": statuses,
            "n_checkpoints": sum(file.exists() for file in files),
            **events.events(),
            "again": self._again(store),
        }

    def lost(self) -> dict[str, Any]:
        """The worker of a long run is lost."""
        store = self._store("lost")
        engine = self._engine(store)
        events = Recorder(lambda: self._trial.lose_worker(engine), self._trial.n_long)
        summary = run_all(self._specs, store, engine, events)
        return {"summary": vars(summary), "curves": curves(store), **events.events()}

    def full_disk(self) -> dict[str, Any]:
        """No checkpoint of a long run can be written; later there is room."""
        store, message = self._store("full"), ""
        files = self._trial.checkpoints(store.path, self._long)
        for file in files:  # on a disk that is not there; root may write anywhere else
            file.parent.mkdir(parents=True, exist_ok=True)
            file.symlink_to(self._folder / "unmounted" / file.name)
        try:
            self._play(store, Recorder())
        except StorageFailure as problem:
            message = str(problem)
        finished = list(curves(store))
        for file in files:
            file.unlink()
        return {"message": message, "finished": finished, "again": self._again(store)}

    def unbuildable(self) -> dict[str, Any]:
        """One of the runs has a parameter that no learner accepts."""
        store, bad = self._store("bad"), one_run(learner={"name": "uob-reps", "delta": 2.0})
        specs = [*self._specs[:1], bad, *self._specs[1:3]]
        summary = run_all(specs, store, self._engine(store))
        return {"summary": vars(summary), "bad": bad.id, "finished": list(curves(store))}

    def _store(self, name: str) -> Store:
        return Store(self._folder / name, create=True)

    def _engine(self, store: Store) -> Engine:
        return self._make(store.path, OFTEN)

    def _play(self, store: Store, events: Watcher) -> Summary:
        return run_all(self._specs, store, self._engine(store), events)

    def _again(self, store: Store) -> dict[str, Any]:
        """The same sweep once more, undisturbed."""
        summary = self._play(store, Recorder())
        left = [path.name for path in (store.path / "work").iterdir()]
        return {"summary": vars(summary), "curves": curves(store), "left": left}


def _observed(play: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What was observed, or the traceback of what should not have been raised."""
    try:
        return play()
    except Exception:
        return {"error": traceback.format_exc()}


def curves(store: Store) -> dict[str, str]:
    """Checksums of the results, by run."""
    files = store.path.glob("runs/*/curves.parquet")
    return {file.parent.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    (folder / "report.json").write_text(json.dumps(Driver(sys.argv[1], folder).report()))
