"""A sweep on a Ray cluster that this machine is no part of, through its client server."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from advmdp.errors import InvalidInput
from advmdp.experiments.engines import ray_cluster
from advmdp.store import Store
from tests.experiments.sweeps import curve_bytes, finished_command, play_here, runs_of, sweep_text

HOST = "127.0.0.1"


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind((HOST, 0))
        return int(trial.getsockname()[1])


def _accepts(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex((HOST, port)) == 0


@contextmanager
def head_with_client_server(environment: dict[str, str]) -> Iterator[str]:
    """The address of a cluster of one core, which listens on the loopback interface only."""
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:  # paths of sockets must be short
        head = subprocess.Popen(
            [
                *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
                *("--num-cpus=1", "--include-dashboard=false", "--disable-usage-stats"),
                *(f"--node-ip-address={HOST}", f"--port={_free_port()}"),
                *(f"--ray-client-server-port={port}", f"--temp-dir={folder}"),
            ],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + 120
            while not _accepts(port):
                assert head.poll() is None, "the head of the cluster ended"
                assert time.monotonic() < deadline, "the client server does not answer"
                time.sleep(0.2)
            yield f"ray://{HOST}:{port}"
        finally:
            head.terminate()  # it ends the processes of its cluster, and no others
            head.wait(timeout=60)


def test_a_sweep_through_the_client_equals_one_played_here(tmp_path: Path) -> None:
    text = sweep_text(n_episodes=300, replicates=1)
    (tmp_path / "sweep.toml").write_text(text)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment = os.environ | token | {ray_cluster.CLUSTER_VARIABLE: "0"}
    with head_with_client_server(environment) as address:
        code, _, errors = finished_command(
            *("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "there"),
            *("--engine", "ray", "--address", address),
            env=environment,
        )
    assert code == 0, errors
    here = Store(tmp_path / "here", create=True)
    play_here(here, runs_of(text))
    assert curve_bytes(Store(tmp_path / "there")) == curve_bytes(here) != {}


def test_a_client_that_is_not_let_in_is_told_of_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise ConnectionError("ray client connection timeout")

    monkeypatch.setattr(ray_cluster._ray(), "init", refuse)
    with pytest.raises(InvalidInput, match=r"timeout; .* RAY_AUTH_MODE=token and"):
        ray_cluster._connect("ray://127.0.0.1:1", None)
    with pytest.raises(InvalidInput, match=r"timeout$"):
        ray_cluster._connect("auto", None)
