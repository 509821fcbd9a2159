"""An engine that is not part of the package: threads of this process."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue

from advmdp.experiments.engines.interface import DEFAULT_OPTIONS, Engine, EngineOptions
from advmdp.experiments.engines.results import OnProgress, RunProgress, RunResult, result_of
from advmdp.experiments.engines.single_run import play_run
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store


class ThreadEngine(Engine):
    """A pool of threads; progress is reported by the thread that polls."""

    capacity = 4

    def __init__(self, store: Path, options: EngineOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(store, options)
        self._pool = ThreadPoolExecutor(options.workers)
        self._futures: set[Future[RunResult]] = set()
        self._progress: SimpleQueue[tuple[str, RunProgress]] = SimpleQueue()
        self._stop = threading.Event()

    @classmethod
    def require(cls) -> None:
        """Available everywhere."""

    def submit(self, spec: RunSpec) -> None:
        self._futures.add(self._pool.submit(self._play, spec))

    def _play(self, spec: RunSpec) -> RunResult:
        return result_of(
            spec,
            lambda: play_run(
                spec,
                Store(self.store).checkpoints(spec.identity()),
                schedule=self.options.schedule,
                on_progress=lambda progress: self._progress.put((spec.id, progress)),
                should_stop=self._stop.is_set,
            ),
        )

    def poll(self, on_progress: OnProgress) -> list[RunResult]:
        done, self._futures = wait(self._futures, timeout=0.1, return_when=FIRST_COMPLETED)
        while not self._progress.empty():
            on_progress(*self._progress.get())
        return [future.result() for future in done]

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self._pool.shutdown()
