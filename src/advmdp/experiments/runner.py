"""Work through a list of runs: skip what is finished, resume what was cut, never play one twice."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from advmdp.errors import StorageFailure
from advmdp.experiments.engines import Ended, Engine
from advmdp.experiments.spec import RunSpec
from advmdp.play import Progress
from advmdp.store import Store
from advmdp.store.run_lock import RunLock

ATTEMPTS = 3  # at a run whose process dies
ELSEWHERE_SECONDS = 0.5  # between looks at runs that another sweep plays
log = logging.getLogger(__name__)


class Watcher:
    """Hears what happens; every method may be left out."""

    def begin(self, specs: Sequence[RunSpec], n_finished: int) -> None:
        """``n_finished`` of these runs are in the store already."""

    def started(self, spec: RunSpec) -> None:
        """A run was handed to the engine."""

    def progress(self, run: str, progress: Progress) -> None:
        """A run goes on."""

    def finished(self, spec: RunSpec, ended: Ended) -> None:
        """A run is in the store."""

    def failed(self, spec: RunSpec, reason: str) -> None:
        """A run could not be played."""

    def elsewhere(self, n_runs: int) -> None:
        """All that is left is being played by another sweep."""

    def stopping(self) -> None:
        """Asked to stop; the runs under way write their checkpoints."""


@dataclass
class Summary:
    """What became of a list of runs."""

    n_runs: int
    n_found: int = 0
    """Finished before, or by another sweep meanwhile."""
    n_played: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether every run is in the store."""
        return self.n_found + self.n_played == self.n_runs


def run_all(
    specs: Sequence[RunSpec], store: Store, engine: Engine, watcher: Watcher | None = None
) -> Summary:
    """Play all runs that the store does not have; Ctrl-C (or SIGTERM) stops with checkpoints.

    ``StorageFailure`` is raised when the disk refuses, after the other runs have stopped.
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
        self._storage: StorageFailure | None = None
        self._stopping = False

    def run(self) -> Summary:
        missing = [s for s in self._specs if not self._store.is_finished(s.identity())]
        self._summary.n_found = len(self._specs) - len(missing)
        self._queue.extend(missing)
        self._watcher.begin(self._specs, self._summary.n_found)
        log.info("%d runs, %d of them to play", len(self._specs), len(missing))
        with _signals_call(self._stop):
            try:
                while self._queue or self._claims or self._elsewhere:
                    self._feed()
                    for ended in self._engine.poll(self._watcher.progress):
                        self._settle(ended)
                    if not self._queue and not self._claims:
                        self._look_again()
            finally:
                self._engine.close()
                for claim in self._claims.values():
                    claim.release()
        if self._storage is not None:
            raise self._storage
        return self._summary

    def _feed(self) -> None:
        while self._queue and len(self._claims) < self._engine.capacity and not self._stopping:
            spec = self._queue.popleft()
            identity = spec.identity()
            try:
                claim = self._begun(spec)
            except StorageFailure as problem:
                self._give_up(problem)
                return
            if claim is not None:
                self._claims[spec] = claim
                self._attempts[spec] += 1
                self._engine.submit(spec)
                self._watcher.started(spec)
            elif self._store.is_finished(identity):
                self._summary.n_found += 1
            else:
                self._elsewhere.append(spec)

    def _begun(self, spec: RunSpec) -> RunLock | None:
        """The right to play a run that the store knows to be under way."""
        identity = spec.identity()
        claim = self._store.lock(identity)
        if claim is not None:
            try:
                self._store.begin(identity, claim)
            except StorageFailure:
                claim.release()
                raise
        return claim

    def _settle(self, ended: Ended) -> None:
        spec, identity = ended.spec, ended.spec.identity()
        claim = self._claims.pop(spec)
        if ended.played is not None:
            try:
                self._store.finish(identity, claim, ended.played.outcome, ended.played.seconds)
            except StorageFailure as problem:
                claim.release()
                self._give_up(problem)
                return
            self._summary.n_played += 1
            self._watcher.finished(spec, ended)
            return
        if ended.storage is not None:
            self._give_up(ended.storage)
        reason = ended.reason
        if ended.lost:
            log.warning("%s: its process died, attempt %d", spec.id, self._attempts[spec])
            if self._attempts[spec] >= ATTEMPTS:
                reason = f"its process died {ATTEMPTS} times; is there enough memory?"
            elif not self._stopping:  # otherwise the next sweep tries it again
                self._queue.appendleft(spec)
        if reason is None:
            claim.release()
        else:
            log.error("%s: %s", spec.id, reason)
            self._store.fail(identity, claim, reason)
            self._summary.failures[spec.id] = reason
            self._watcher.failed(spec, reason)

    def _give_up(self, problem: StorageFailure) -> None:
        log.error("%s", problem)
        self._storage = self._storage or problem
        self._halt()

    def _stop(self) -> None:
        self._summary.interrupted = True
        self._watcher.stopping()
        self._halt()

    def _halt(self) -> None:
        self._stopping = True
        self._engine.stop()
        self._queue.clear()
        self._elsewhere.clear()

    def _look_again(self) -> None:
        """Runs that another sweep had: finished by now, or given up by it."""
        if self._elsewhere and not self._stopping:
            self._watcher.elsewhere(len(self._elsewhere))
            time.sleep(ELSEWHERE_SECONDS)
            self._queue.extend(self._elsewhere)
            self._elsewhere.clear()


@contextmanager
def _signals_call(stop: Any) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) calls ``stop``; a second one interrupts as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, frame: Any) -> None:
        for each, handler in before.items():
            signal.signal(each, handler)
        stop()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
