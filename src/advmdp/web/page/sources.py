"""What the page shows: stores on disk and services of this process, each read by one at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from advmdp.plain_text import plain_lines
from advmdp.service import Service
from advmdp.store.progress.live_store import LiveStore
from advmdp.web.page.service_state import RECORD_SECONDS, ServiceWatch
from advmdp.web.page.states import State
from advmdp.web.page.sweep_counts import watched_cells
from advmdp.web.page.sweep_panels import SeriesCache
from advmdp.web.page.sweep_state import store_state, store_summary

FRESH_SECONDS = 0.8  # for which a reading of a store serves all views of it


class StoreWatch:
    """A store, read at most once a moment whoever asks."""

    def __init__(self, path: Path) -> None:
        self._live = LiveStore(path)
        self._cache = SeriesCache()
        self._lock = threading.Lock()
        self._read_at = -FRESH_SECONDS

    def state(self, cell: str) -> State:
        """The state of its view."""
        with self._lock:
            self._refresh()
            return store_state(self._live, cell, self._cache)

    def summary(self) -> dict[str, object]:
        """Its line in the overview."""
        with self._lock:
            self._refresh()
            return store_summary(self._live, watched_cells(self._live))

    def _refresh(self) -> None:
        if time.monotonic() - self._read_at >= FRESH_SECONDS:
            self._live.refresh()
            self._read_at = time.monotonic()


class Sources:
    """All stores by number, and all services by name."""

    def __init__(self, stores: Sequence[str | Path], services: Mapping[str, Service]) -> None:
        self._stores = [StoreWatch(Path(path)) for path in stores]
        # Under the names that the page shows, and asks for again.
        self._services = {plain_lines(name): ServiceWatch(one) for name, one in services.items()}
        self._ends = threading.Event()
        if self._services:
            threading.Thread(target=self._remember, daemon=True).start()

    def close(self) -> None:
        """Remember nothing any more."""
        self._ends.set()

    def _remember(self) -> None:
        """Keep policies to compare with, also while nobody looks."""
        while not self._ends.wait(RECORD_SECONDS):
            for watch in self._services.values():
                watch.note()

    @property
    def n_stores(self) -> int:
        """How many stores there are."""
        return len(self._stores)

    def has_service(self, name: str) -> bool:
        """Whether there is a service of that name."""
        return name in self._services

    def overview(self, has_playground: bool) -> State:
        """Everything at a glance."""
        return {
            "page": {"playground": has_playground},
            "stores": {str(i): store.summary() for i, store in enumerate(self._stores)},
            "services": {name: watch.summary() for name, watch in self._services.items()},
        }

    def store(self, number: int, cell: str) -> State:
        """The view of a store."""
        return self._stores[number].state(cell)

    def service(self, name: str) -> State:
        """The view of a service."""
        return self._services[name].state()
