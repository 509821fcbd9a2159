"""Group commit: feedback that comes while the disk is busy is written with one wait for all.

The learner is asked on the event loop itself as long as it is quick, because handing an episode of
30 microseconds to a thread costs more than the episode; a learner that takes its time is asked in a
thread, so that the server answers meanwhile.  The wait for the disk is always in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from advmdp.errors import StorageFailure
from advmdp.service import Closing, Service

LOG = logging.getLogger("advmdp.web")
QUICK = 0.02  # seconds that a call may hold the event loop, as far as one can tell before
MEMORY = 0.05  # weight of the latest group in the average time of an episode
Answer = TypeVar("Answer")
Told = Callable[[int, float], None]


class Groups:
    """One service: its calls, and the feedback that waits for the disk."""

    def __init__(self, service: Service, told: Told = lambda size, seconds: None) -> None:
        self.service = service
        self._told = told
        self._waiting: list[tuple[Sequence[Any], asyncio.Future[list[Closing]]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._learner, self._disk = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._seconds = 0.0  # that the learner takes for an episode
        self._in_thread = 0  # calls that a thread has, and with them the service

    async def ask(self, call: Callable[..., Answer], *given: Any, weight: int = 1) -> Answer:
        """A call of the service; ``weight`` is the number of episodes that it is about."""
        if self._in_thread == 0 and self._seconds * weight < QUICK:
            return call(*given)
        self._in_thread += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._learner, call, *given)
        finally:
            self._in_thread -= 1

    async def finish(self, closings: Sequence[Any]) -> list[Closing]:
        """The answers, when they are on the disk; see ``Service.finish_many``."""
        answers = asyncio.get_running_loop().create_future()
        self._waiting.append((closings, answers))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        found: list[Closing] = await answers
        return found

    async def _write(self) -> None:
        try:
            await self._write_groups()
        finally:
            self._writer = None

    async def _write_groups(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            closings = [closing for part, _ in group for closing in part]
            try:
                answers = await self._written(closings)
            except BaseException as problem:  # every caller is told, and may ask again
                for _, future in group:
                    if not future.done():
                        future.set_exception(problem)
                if not isinstance(problem, Exception):
                    raise
                continue
            start = 0
            for part, future in group:
                if not future.done():  # its client may have left
                    future.set_result(answers[start : start + len(part)])
                start += len(part)

    async def _written(self, closings: list[Any]) -> list[Closing]:
        begin = time.perf_counter()
        answers, wait = await self.ask(self._learnt, closings, weight=len(closings))
        await asyncio.get_running_loop().run_in_executor(self._disk, wait)
        self._told(len(closings), time.perf_counter() - begin)
        return answers

    def _learnt(self, closings: list[Any]) -> tuple[list[Closing], Callable[[], None]]:
        begin = time.thread_time()  # not how long it waited for a processor
        answers = self.service.finish_unwritten(closings)
        took = min(1.0, (time.thread_time() - begin) / len(closings))
        self._seconds += MEMORY * (took - self._seconds)
        return answers

    async def close(self) -> None:
        """Write what waits, take a snapshot, and let the folder go."""
        while self._writer is not None:
            await asyncio.wait([self._writer])
        self._learner.shutdown()
        self._disk.shutdown()
        try:
            if self.service.path is not None:
                self.service.save()
        except StorageFailure as problem:  # the journal has what was acknowledged
            LOG.warning("no snapshot at the end: %s", problem)
        finally:
            self.service.close()
