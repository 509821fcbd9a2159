"""Servers for tests: one inside this process, and one that can be killed."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

import advmdp as am
from advmdp.web.app import make_app
from advmdp.web.server import bound_socket
from advmdp.web.warming import warm_up

LAYOUT = am.Layout(
    (1, 3, 3, 1),
    2,
    state_names=[["gate"], ["a", "b", "c"], ["d", "e", "f"], ["end"]],
    action_names=["left", "right"],
)


def learner(n_episodes: int = 10**6) -> Any:
    return am.UOBREPS(LAYOUT, n_episodes)


def contents_of(service: am.Service) -> bytes:
    """Everything that a service keeps, as bytes."""
    header, arrays = service._contents()
    parts = [json.dumps(header, sort_keys=True).encode()]
    parts += [name.encode() + array.tobytes() for name, array in sorted(arrays.items())]
    return b"\n".join(parts)


class Asker:
    """One connection, which sends what it is told and shows every answer."""

    def __init__(self, port: int, server: uvicorn.Server) -> None:
        self.port, self.server = port, server
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def __call__(
        self, method: str, path: str, sent: Any = None, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        body = sent if isinstance(sent, bytes | None) else json.dumps(sent).encode()
        kind = {"Content-Type": "application/json"} if sent is not None else {}
        self.connection.request(method, path, body, {**kind, **headers})
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.headers["content-type"] != "application/json":
            return answer.status, {"text": data.decode()}
        return answer.status, json.loads(data)

    def call(self, verb: str, sent: Any, service: str = "pump") -> tuple[int, dict[str, Any]]:
        return self("POST", f"/api/v1/services/{service}/{verb}", sent)


@contextmanager
def serving(services: dict[str, am.Service], **given: Any) -> Iterator[Asker]:
    """A server in a thread of this process, which ends when the block does."""
    for service in services.values():
        warm_up(service)  # so that no client waits for a compiler
    listening = bound_socket("127.0.0.1", 0)
    app = make_app(services, **given)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    asker = Asker(listening.getsockname()[1], server)
    try:
        yield asker
    finally:
        asker.connection.close()
        server.should_exit = True
        thread.join()
        listening.close()


class Process:
    """``advmdp serve`` as a process of its own."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "advmdp", "serve", str(folder), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        assert self.process.stdout is not None
        self.lines = []
        for line in self.process.stdout:
            if line == "ready\n":
                break
            self.lines.append(line.strip())
        address = self.lines[0].split()[0].rpartition("/")[0] if self.lines else ""
        self.address = address

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal; the exit code and what the process said until its end."""
        self.process.send_signal(number)
        said, errors = self.process.communicate(timeout=30)
        return self.process.returncode, said, errors
