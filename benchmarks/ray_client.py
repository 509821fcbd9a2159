"""``python -m benchmarks.ray_client``: a sweep through the client server of a Ray cluster.

Starts a head on the loopback interface, plays a sweep at its ``ray://`` address and the same one in
this process, and compares the files of the curves byte by byte.  No test: now and then the head
does not start the server of a client in time on a loaded machine.
"""

from __future__ import annotations

import os
import random
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.experiments.sweeps import curve_bytes, finished_command, play_here, runs_of, sweep_text

from advmdp.experiments.engines import ray_cluster
from advmdp.store import Store

HOST, STARTED = "127.0.0.1", "Ray runtime started"


PORTS = range(24_000, 32_000)
"""Neither systems nor Ray hand these out by themselves: a free one stays free until it is used."""


def _free_port() -> int:
    while True:
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as trial:
            if trial.connect_ex((HOST, port)) != 0:
                return port


def _accepts(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex((HOST, port)) == 0


def _text(file: IO[str]) -> str:
    """What was written so far, read from aside: the writer shares the place in the file."""
    return Path(f"/proc/self/fd/{file.fileno()}").read_text()


@contextmanager
def head_with_client_server(environment: dict[str, str]) -> Iterator[str]:
    """The address of a cluster of one core, which listens on the loopback interface only."""
    port = _free_port()
    with (
        tempfile.TemporaryDirectory(prefix="ray-") as folder,  # paths of sockets must be short
        tempfile.TemporaryFile("w+") as told,
    ):
        head = subprocess.Popen(
            [
                *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
                *("--num-cpus=1", "--include-dashboard=false", "--disable-usage-stats"),
                *(f"--node-ip-address={HOST}", f"--port={_free_port()}"),
                *(f"--ray-client-server-port={port}", f"--temp-dir={folder}"),
            ],
            env=environment,
            stdout=told,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + 120
            while not (_accepts(port) and STARTED in _text(told)):
                assert head.poll() is None, _text(told)
                assert time.monotonic() < deadline, _text(told)
                time.sleep(0.2)
            yield f"ray://{HOST}:{port}"
        finally:
            head.terminate()  # it ends the processes of its cluster, and no others
            head.wait(timeout=60)


def main() -> None:
    """Play both, and compare."""
    text = sweep_text(n_episodes=300, replicates=1)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment = os.environ | token | {ray_cluster.CLUSTER_VARIABLE: "0"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.toml").write_text(text)
        with head_with_client_server(environment) as address:
            code, _, errors = finished_command(
                *("sweep", folder / "sweep.toml", "--store", folder / "there"),
                *("--engine", "ray", "--address", address),
                env=environment,
            )
        if code:
            sys.exit(errors)
        here = Store(folder / "here", create=True)
        play_here(here, runs_of(text))
        there = curve_bytes(Store(folder / "there"))
        equal = there == curve_bytes(here) != {}
        print(f"{address}: {len(there)} runs, equal to those played here: {equal}")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
