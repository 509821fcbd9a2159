"""Streams of events: one reading of the data for all who watch the same view.

A topic is computed once per tick by one task, in a thread, however many tabs are open, and not at
all while nobody watches.  Events are encoded once.  A watcher who falls behind gets the whole state
instead of the changes it has missed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

from advmdp.web.page.states import State, change_between, event

TICK_SECONDS = 1.0
REST = 1.5  # times the time that a reading took: a slow store is read less often
HEARTBEAT_SECONDS = 15.0
RETRY = b"retry: 1000\n\n"  # milliseconds after which a browser connects again
KEPT = 32  # changes that a slow watcher may be behind
log = logging.getLogger(__name__)


class Topic:
    """The state of one view, and those who watch it."""

    def __init__(self) -> None:
        self.watchers = 0
        self._state: State | None = None
        self._number = 0
        self._whole: bytes | None = None
        self._changes: deque[bytes] = deque(maxlen=KEPT)
        self._news = asyncio.Condition()
        self._closed = False

    async def publish(self, state: State) -> None:
        """Tell everybody what has changed."""
        if self._state is not None:
            change = change_between(self._state, state)
            if not change:
                return
            self._changes.append(event("change", change, self._number + 1))
        async with self._news:
            self._state, self._whole = state, None
            self._number += 1
            self._news.notify_all()

    async def close(self) -> None:
        """End all streams."""
        async with self._news:
            self._closed = True
            self._news.notify_all()

    async def events(self) -> AsyncIterator[bytes]:
        """The stream of one watcher."""
        self.watchers += 1
        try:
            self.begin()
            yield RETRY
            seen = 0
            while not self._closed:
                if seen != self._number:
                    seen, news = self._number, self._since(seen)
                    yield news
                    continue
                try:
                    await asyncio.wait_for(self._wait(seen), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self.watchers -= 1

    def begin(self) -> None:
        """Called when somebody begins to watch."""

    async def _wait(self, seen: int) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self._closed or self._number != seen)

    def _since(self, seen: int) -> bytes:
        """The events after number ``seen``, or the whole state if they are not kept any more."""
        missed = self._number - seen
        if seen and missed <= len(self._changes):
            return b"".join(list(self._changes)[-missed:])
        if self._whole is None:
            self._whole = event("whole", self._state, self._number)
        return self._whole


class PolledTopic(Topic):
    """A topic whose state is computed again and again while somebody watches."""

    def __init__(self, compute: Callable[[], State]) -> None:
        super().__init__()
        self._compute = compute
        self._failed = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start the task, unless it runs."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        while self.watchers and not self._closed:
            begin = time.monotonic()
            try:
                await self.publish(await asyncio.to_thread(self._compute))
                self._failed = False
            except (
                Exception
            ):  # of one reading: the page keeps what it shows, the log says why, once
                if not self._failed:
                    log.exception("a view could not be computed")
                self._failed = True
            rest = max(TICK_SECONDS, REST * (time.monotonic() - begin))
            async with self._news:
                try:
                    await asyncio.wait_for(self._news.wait_for(lambda: self._closed), rest)
                except TimeoutError:
                    continue


class Topics:
    """The topics that somebody has asked for, by name."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._topics: dict[str, Topic] = {}

    def get(self, name: str, make: Callable[[], Topic]) -> Topic:
        """The topic of that name; topics that nobody watches make room for new ones."""
        if name not in self._topics:
            for old in [n for n, topic in self._topics.items() if not topic.watchers]:
                if len(self._topics) < self._most:
                    break
                del self._topics[old]
            self._topics[name] = make()
        return self._topics[name]

    @property
    def watchers(self) -> int:
        """Streams that are open."""
        return sum(topic.watchers for topic in self._topics.values())

    async def close(self) -> None:
        """End all streams, so that a server can stop."""
        for topic in self._topics.values():
            await topic.close()
