"""The runs that visitors start: each in a process of its own, few at a time, ended in time."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sys
import time
from contextlib import suppress
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.web.page.playground_request import Request, command, explanation
from advmdp.web.page.states import State
from advmdp.web.page.sweep_state import look_of
from advmdp.web.page.topics import Topic

MOST_AT_ONCE = 2  # processes
MOST_KEPT = 8  # runs whose pictures are kept for those who come back
LONGEST_SECONDS = 180.0  # of a run; a learner that was never played here is compiled first
LONGEST_LINE = 2**20
PUBLISH_SECONDS = 0.1
WORKER = ("-m", "advmdp.web.page.playground_worker")
log = logging.getLogger(__name__)


class TooManyRuns(InvalidInput):
    """The playground is full; nothing was started."""


class Job(Topic):
    """One run, and all who watch it."""

    def __init__(self, visitor: str, request: Request) -> None:
        super().__init__()
        self.visitor = visitor
        self.name = secrets.token_urlsafe(12)
        self.is_over = False
        self._request = request
        self._process: asyncio.subprocess.Process | None = None
        learners = request.learners
        self._now: State = {
            "job": {
                "status": {"status": "starting", "reason": None},
                "request": request.model_dump(),
                "look": look_of(learners),
                "commands": {name: command(request, name) for name in learners},
                "explanations": {name: explanation(name) for name in learners},
            },
            "learners": {name: {"status": "playing"} for name in learners},
            "points": {},
        }

    async def work(self) -> None:
        """Run the process to its end and publish what it says."""
        await self.publish(self._copy())
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                await self._follow()
        except TimeoutError:
            self._status("failed", f"ended after {LONGEST_SECONDS:.0f} seconds; ask for less")
        except Exception:
            log.exception("a run of the playground failed")
            self._status("failed", "the process that played it could not be followed")
        finally:
            self.stop()
            self.is_over = True
            await self.publish(self._copy())

    def stop(self) -> None:
        """End the process; what it has said stays."""
        if not self.is_over:
            self._status_unless_over("stopped", None)
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _follow(self) -> None:
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, *WORKER),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LONGEST_LINE,
        )
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipes")
        process.stdin.write(self._request.model_dump_json().encode() + b"\n")
        process.stdin.close()
        published = 0.0
        async for line in process.stdout:
            self._take(json.loads(line))
            if time.monotonic() - published > PUBLISH_SECONDS:
                published = time.monotonic()
                await self.publish(self._copy())
        await process.wait()
        self._status_unless_over("failed", "the process that played it ended early")

    def _take(self, said: dict[str, Any]) -> None:
        if "world" in said:
            self._now["job"]["world"] = said["world"]
            self._status("playing", None)
        elif "point" in said:
            point = said["point"]
            self._now["points"][f"{point['learner']} {point['episodes']}"] = point
        elif "ended" in said:
            self._now["learners"][said.pop("ended")] = {"status": "ended", **said}
        elif "failed" in said and said["failed"] is not None:
            self._now["learners"][said["failed"]] = {"status": "failed", "reason": said["reason"]}
        elif "failed" in said:
            self._status("failed", said["reason"])
        elif "done" in said:
            self._status_unless_over("done", None)

    def _status(self, status: str, reason: str | None) -> None:
        self._now["job"]["status"] = {"status": status, "reason": reason}

    def _status_unless_over(self, status: str, reason: str | None) -> None:
        if self._now["job"]["status"]["status"] in ("starting", "playing"):
            self._status(status, reason)

    def _copy(self) -> State:
        """Entries are never changed in place, so that a shallow copy is a state of its own."""
        return {name: dict(section) for name, section in self._now.items()}


class Playground:
    """All runs of the page."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, visitor: str, request: Request) -> Job:
        """Start a run; the visitor's last one is ended, others are not."""
        for job in self._jobs.values():
            if job.visitor == visitor:
                job.stop()
        busy = [job for job in self._jobs.values() if not job.is_over and job.visitor != visitor]
        if len(busy) >= MOST_AT_ONCE:
            raise TooManyRuns("others are playing; try again in a moment")
        job = Job(visitor, request)
        self._jobs[job.name] = job
        for old in [name for name, one in self._jobs.items() if one.is_over]:
            if len(self._jobs) > MOST_KEPT:
                del self._jobs[old]
        task = asyncio.create_task(job.work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    @property
    def watchers(self) -> int:
        """Streams that are open."""
        return sum(job.watchers for job in self._jobs.values())

    def find(self, name: str) -> Job | None:
        """The run of that name, if it is kept."""
        return self._jobs.get(name)

    async def close(self) -> None:
        """End all processes and streams."""
        for job in self._jobs.values():
            job.stop()
            await job.close()
