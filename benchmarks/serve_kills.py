"""Kill a server again and again while clients play, and account for every episode."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

import advmdp as am

LAYOUT = am.Layout((1, 3, 3, 1), 2)
N_CLIENTS = 4


def feedback(t: int) -> dict[str, Any]:
    """Of the t-th episode: any path, since only what is learnt matters."""
    return {
        "states": [0, t % 3, t // 3 % 3, 0],
        "actions": [t % 2, t // 2 % 2, t // 4 % 2],
        "losses": [(t % 10) / 10, (t % 7) / 7, 0.5],
    }


class Respawned:
    """``benchmarks.respawned``: a server that comes back whenever it is killed."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "benchmarks.respawned", str(folder), str(self.port)]
        self._parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.pid = self._next()

    def _next(self) -> int:
        assert self._parent.stdout is not None
        return int(self._parent.stdout.readline())

    def kill(self) -> None:
        """SIGKILL, and wait until the next one serves."""
        os.kill(self.pid, signal.SIGKILL)
        self.pid = self._next()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: Any) -> None:
        if self._parent.poll() is None:  # something failed before the end
            self.end()

    def end(self) -> int:
        """SIGTERM; the exit code."""
        os.kill(self.pid, signal.SIGTERM)
        code = self._parent.wait(60)
        assert self._parent.stdout is not None
        self._parent.stdout.close()
        return code


@dataclass(frozen=True)
class Account:
    """What the clients were told, and what the folder holds."""

    kills: int
    acknowledged: int
    learnt: int
    still_open: int
    same_visits: bool
    """Whether every pair was visited as often as the acknowledged episodes visit it."""


def _wait_for_more(told: list[list[int]], at_least: int) -> None:
    """So that every server is killed under load, however slow the machine is."""
    wanted = sum(map(len, told)) + at_least
    while sum(map(len, told)) < wanted:
        time.sleep(0.005)


def killed(folder: Path, n_kills: int, every: int = 20, pause: float = 0.2) -> Account:
    """Serve ``folder / "pump"``, which is made here, and kill the server under load."""
    am.Service(am.UOBREPS(LAYOUT, 10**7), folder / "pump", every=every).close()
    told: list[list[int]] = [[] for _ in range(N_CLIENTS)]
    with Respawned(folder) as server:
        enough = threading.Event()

        def client(which: int) -> None:
            service = am.connect(f"http://127.0.0.1:{server.port}/pump")
            t = which
            while not enough.is_set():
                service.finish(service.begin(), feedback(t))
                told[which].append(t)
                t += N_CLIENTS

        threads = [threading.Thread(target=client, args=(which,)) for which in range(N_CLIENTS)]
        for thread in threads:
            thread.start()
        rng = np.random.default_rng(0)
        for _ in range(n_kills):
            _wait_for_more(told, at_least=3)
            time.sleep(pause * float(rng.random()))
            server.kill()
        _wait_for_more(told, at_least=3)
        enough.set()
        for thread in threads:
            thread.join()
        assert server.end() == 0
    service = am.Service.load(folder / "pump")
    acknowledged = [t for each in told for t in each]
    visits = [np.zeros((n, LAYOUT.n_actions)) for n in LAYOUT.layer_sizes[:-1]]
    for t in acknowledged:
        path = feedback(t)
        for k, action in enumerate(path["actions"]):
            visits[k][path["states"][k], action] += 1
    pairs = zip(visits, service.learner.visits, strict=True)
    account = Account(
        n_kills,
        len(acknowledged),
        service.finished,
        service.n_open + service.abandoned,
        all(np.array_equal(mine, own) for mine, own in pairs),
    )
    service.close()
    return account
