"""Play a list of runs: skip finished runs, resume interrupted ones, never play one twice."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from advmdp.errors import StorageFailure
from advmdp.experiments.engines.interface import Engine
from advmdp.experiments.engines.results import CompletedRun, RunProgress, RunResult
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from advmdp.store.progress.announcement import announced
from advmdp.store.run_lock import RunLock

ATTEMPTS = 3  # at a run whose worker is lost
GRACE_SECONDS = 60.0  # for checkpoints after an interrupt; a slow step is not cut short sooner
ELSEWHERE_SECONDS = 0.5  # between looks at runs that another sweep plays
log = logging.getLogger(__name__)


class Watcher:
    """Is told what happens in a sweep; the methods do nothing unless overridden."""

    def begin(self, specs: Sequence[RunSpec], unfinished: Sequence[RunSpec]) -> None:
        """A list of runs begins; the store holds all but the unfinished ones."""

    def started(self, spec: RunSpec) -> None:
        """A run was submitted to the engine."""

    def progress(self, run: str, progress: RunProgress) -> None:
        """A run has advanced."""

    def finished(self, spec: RunSpec, completed: CompletedRun) -> None:
        """A run is in the store."""

    def found(self, spec: RunSpec) -> None:
        """Another sweep has finished a run of this list."""

    def failed(self, spec: RunSpec, reason: str) -> None:
        """A run could not be played."""

    def lost(self, spec: RunSpec) -> None:
        """The worker of a run was lost; the run goes back to the queue."""

    def elsewhere(self, n_runs: int) -> None:
        """All remaining runs are being played by another sweep."""

    def stopping(self) -> None:
        """An interrupt was received; the runs under way write their checkpoints."""


@dataclass
class Summary:
    """How a list of runs ended."""

    n_runs: int
    n_found: int = 0
    """Finished before, or by another sweep meanwhile."""
    n_played: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """From the id of a run to the reason."""
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether every run is in the store."""
        return self.n_found + self.n_played == self.n_runs


def run_all(
    specs: Sequence[RunSpec], store: Store, engine: Engine, watcher: Watcher | None = None
) -> Summary:
    """Play all runs that the store lacks, and close the engine.

    The first Ctrl-C (or SIGTERM) stops the runs under way, with checkpoints.  When the disk refuses
    a file, ``StorageFailure`` is raised after the other runs have stopped.
    """
    return _Runner(list(specs), store, engine, watcher or Watcher()).run()


class _Runner:
    def __init__(
        self, specs: list[RunSpec], store: Store, engine: Engine, watcher: Watcher
    ) -> None:
        self._store, self._engine, self._watcher = store, engine, watcher
        self._summary = Summary(len(specs))
        self._specs = specs
        self._queue: deque[RunSpec] = deque()
        self._claims: dict[RunSpec, RunLock] = {}
        self._elsewhere: list[RunSpec] = []
        self._attempts: Counter[RunSpec] = Counter()
        self._storage_failure: StorageFailure | None = None
        self._stopping = False

    def run(self) -> Summary:
        unfinished = [s for s in self._specs if not self._is_stored(s)]
        self._summary.n_found = len(self._specs) - len(unfinished)
        self._queue.extend(unfinished)
        self._watcher.begin(self._specs, unfinished)
        log.info("%d runs, %d of them to play", len(self._specs), len(unfinished))
        with announced(self._store.path, unfinished), _signals_call(self._interrupt):
            try:
                while self._claims or (self._remaining() and not self._stopping):
                    self._submit()
                    for result in self._engine.poll(self._watcher.progress):
                        self._settle(result)
                    if not self._queue and not self._claims:
                        self._requeue_elsewhere()
            finally:
                self._engine.close()
                for claim in self._claims.values():
                    claim.release()
        if self._storage_failure is not None:
            raise self._storage_failure
        return self._summary

    def _is_stored(self, spec: RunSpec) -> bool:
        if not self._store.is_finished(spec.identity()):
            return False
        self._store.remove_left_work(spec.identity())
        return True

    def _remaining(self) -> bool:
        return bool(self._queue or self._elsewhere)

    def _submit(self) -> None:
        """Fill the engine from the queue."""
        while self._queue and len(self._claims) < self._engine.capacity and not self._stopping:
            spec = self._queue.popleft()
            try:
                claim = self._lock(spec)
            except StorageFailure as problem:
                self._give_up(problem)
                return
            if claim is not None:
                self._claims[spec] = claim
                self._attempts[spec] += 1
                self._engine.submit(spec)
                self._watcher.started(spec)
            elif self._store.is_finished(spec.identity()):
                self._summary.n_found += 1
                self._watcher.found(spec)
            else:
                self._elsewhere.append(spec)

    def _lock(self, spec: RunSpec) -> RunLock | None:
        """The right to play a run, which the store then lists as under way."""
        identity = spec.identity()
        claim = self._store.lock(identity)
        if claim is not None:
            try:
                self._store.begin(identity, claim)
            except StorageFailure:
                claim.release()
                raise
        return claim

    def _settle(self, result: RunResult) -> None:
        """Store the result of a run, or note why there is none, and release the run."""
        spec = result.spec
        claim = self._claims.pop(spec)
        failure = self._failure_of(result)
        try:
            if result.completed is not None:
                completed = result.completed
                self._store.finish(spec.identity(), claim, completed.outcome, completed.seconds)
            elif failure is not None:
                self._store.fail(spec.identity(), claim, failure)
            else:
                claim.release()
        except StorageFailure as problem:
            claim.release()
            self._give_up(problem)
            return
        if result.completed is not None:
            self._summary.n_played += 1
            self._watcher.finished(spec, result.completed)
        elif failure is not None:
            log.error("%s: %s", spec.id, failure)
            self._summary.failures[spec.id] = failure
            self._watcher.failed(spec, failure)
        elif result.storage_failure is not None:
            self._give_up(result.storage_failure)
        elif result.lost is not None:
            self._watcher.lost(spec)
            self._queue.appendleft(spec)

    def _failure_of(self, result: RunResult) -> str | None:
        """Why a run cannot be played; a lost worker is a reason after several attempts only."""
        if result.lost is None:
            return result.failure
        attempt = self._attempts[result.spec]
        log.warning("%s: %s, attempt %d", result.spec.id, result.lost, attempt)
        if attempt < ATTEMPTS:
            return None
        return f"{result.lost} {ATTEMPTS} times; is there enough memory?"

    def _give_up(self, problem: StorageFailure) -> None:
        log.error("%s", problem)
        self._storage_failure = self._storage_failure or problem
        self._halt()

    def _interrupt(self) -> None:
        self._summary.interrupted = True
        self._watcher.stopping()
        self._halt()

    def _halt(self) -> None:
        self._stopping = True
        self._engine.stop()

    def _requeue_elsewhere(self) -> None:
        """Look again at the runs of other sweeps: by now they are finished or abandoned."""
        if self._elsewhere and not self._stopping:
            self._watcher.elsewhere(len(self._elsewhere))
            time.sleep(ELSEWHERE_SECONDS)
            self._queue.extend(self._elsewhere)
            self._elsewhere.clear()


@contextmanager
def _signals_call(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) calls ``stop``; a second one interrupts as usual.

    If the block is still running a while after the first, this process sends itself the second: a
    run may be waiting for something that never comes, and its last checkpoint is on disk.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    last_resort = threading.Timer(GRACE_SECONDS, os.kill, (os.getpid(), signal.SIGTERM))
    last_resort.daemon = True

    def handle(number: int, frame: Any) -> None:
        for each, handler in before.items():
            signal.signal(each, handler)
        last_resort.start()
        stop()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        last_resort.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
