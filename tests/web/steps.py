"""A store that is written step by step, as a sweep writes it, and a page that is served."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from advmdp.evaluation.run import log_spaced
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from advmdp.store.outcome import Outcome
from advmdp.store.progress.announcement import announced
from advmdp.store.progress.progress_note import NoteWriter
from advmdp.store.run_lock import RunLock
from advmdp.web.page.routes import page_app
from advmdp.web.page.serving import loopback_socket, server_of

EPISODES = 1000
POINTS = log_spaced(EPISODES, 4)


def spec(learner: str, replicate: int = 0, **changes: Any) -> RunSpec:
    """A run that nobody plays."""
    mdp = {"name": "random", "layer_sizes": [1, 3, 3, 1], "n_actions": 2}
    fields: dict[str, Any] = {"learner": learner, "mdp": mdp, "losses": "majority"}
    fields |= {"n_episodes": EPISODES, "replicate": replicate}
    return RunSpec(**(fields | changes))


class MadeUpSweep:
    """What a sweep does to a store, in the order in which the test says it."""

    def __init__(self, path: Path, specs: list[RunSpec]) -> None:
        self.store = Store(path, create=True)
        self._locks: dict[str, RunLock] = {}
        self._announced = announced(path, specs)
        self._announced.__enter__()

    def begin(self, run: RunSpec) -> None:
        """Lock a run, which is then under way."""
        lock = self.store.lock(run.identity())
        assert lock is not None
        self.store.begin(run.identity(), lock)
        self._locks[run.id] = lock

    def reach(self, run: RunSpec, episodes: int, seconds: float, slope: float) -> None:
        """A run under way is so far; its regret is ``slope`` times the episodes."""
        writer = NoteWriter(self._locks[run.id].folder, run.hash, POINTS)
        for point in POINTS[episodes >= POINTS]:
            totals = point * np.array([1.0 + slope, 1.0 + slope, 1.0])
            names = ("expected_loss", "realised_loss", "best_loss")
            writer.add(int(point), dict(zip(names, totals.tolist(), strict=True)))
        writer._due = 0.0
        writer.write(episodes, seconds, (episodes * (1.0 + slope), 0.0, float(episodes)))

    def finish(self, run: RunSpec, slope: float) -> None:
        """A run is at its end."""
        best = POINTS.astype(np.float64)
        figures = {"regret": slope * EPISODES, "expected_loss": (1.0 + slope) * EPISODES}
        figures |= {"realised_loss": figures["expected_loss"], "best_loss": float(EPISODES)}
        curves = {"episodes": POINTS, "regret": slope * best, "best_loss": best}
        curves |= {"expected_loss": (1.0 + slope) * best, "realised_loss": (1.0 + slope) * best}
        lock = self._locks.pop(run.id)
        self.store.finish(run.identity(), lock, Outcome(curves, figures), 2.0)

    def fail(self, run: RunSpec, reason: str) -> None:
        """A run cannot be played."""
        self.store.fail(run.identity(), self._locks.pop(run.id), reason)

    def end(self) -> None:
        """The sweep is over."""
        for lock in self._locks.values():
            lock.release()
        self._announced.__exit__(None, None, None)


class Served:
    """A page that is served by a thread of this process."""

    def __init__(self, port: int, app: Any) -> None:
        self._socket = loopback_socket(port)
        self.port = self._socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/"
        self.app = app
        self._server = server_of(app)
        run = {"target": self._server.run, "kwargs": {"sockets": [self._socket]}}
        self._thread = threading.Thread(**run, daemon=True)  # type: ignore[arg-type]
        self._thread.start()

    def stop(self) -> None:
        """As a signal does it; the thread must come to its end by itself."""
        self._server.should_exit = True
        self._thread.join(20.0)
        assert not self._thread.is_alive()

    def ask(
        self, path: str, data: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.address + path, data, named)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as problem:
            with problem:
                return problem.code, dict(problem.headers), problem.read()

    def post(self, path: str, data: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """As the page itself posts."""
        own = {"Origin": self.address.rstrip("/"), "Content_Type": "application/json"}
        return self.ask(path, data, **(own | headers))

    def lines(self, path: str, wanted: int) -> list[str]:
        """The first lines of a stream."""
        with urllib.request.urlopen(self.address + path, timeout=10) as answer:
            return [answer.readline().decode() for _ in range(wanted)]


@contextmanager
def served(stores: list[Path], port: int = 0, **options: Any) -> Iterator[Served]:
    """A page about these stores."""
    page = Served(port, page_app(stores, **options))
    try:
        yield page
    finally:
        page.stop()
