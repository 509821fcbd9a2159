"""The same specs on Ray, with a worker killed in the middle."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from advmdp.cli import main
from advmdp.errors import InvalidInput, MissingExtra, NoConnection
from advmdp.experiments.engines import ray_cluster
from advmdp.experiments.engines.interface import EngineOptions
from advmdp.store import Store
from tests.experiments.sweeps import (
    command,
    curve_bytes,
    play_here,
    runs_of,
    sweep_command,
    sweep_text,
)


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    file, path = tmp_path / "sweep.toml", tmp_path / "store"
    text = sweep_text(n_episodes=300_000, replicates=1).replace(', "exp3-ix"', "")
    file.write_text(text)
    process = command(*sweep_command(file, path, "--engine", "ray"))
    deadline = time.monotonic() + 120
    victim = None
    while victim is None and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        if any(path.glob("work/*/checkpoint-*")):
            victim = next(iter(_ray_tasks(process.pid)), None)
    assert victim is not None, process.communicate()
    os.kill(victim, signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "resumed after" in (path / "log.txt").read_text()
    whole = Store(tmp_path / "whole", create=True)
    play_here(whole, runs_of(text))
    assert curve_bytes(Store(path)) == curve_bytes(whole)
    assert set(Store(path).runs()["status"]) == {"finished"}


def _ray_tasks(driver: int) -> list[int]:
    """Processes below the driver that are playing a run: Ray names them after the task."""
    parents: dict[int, int] = {}
    playing = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
            if (folder / "cmdline").read_bytes().startswith(b"ray::_task"):
                playing.append(int(folder.name))
        except OSError:
            continue

    def below_driver(pid: int) -> bool:
        while pid in parents and pid != driver:
            pid = parents[pid]
        return pid == driver

    return [pid for pid in playing if below_driver(pid)]


def test_what_is_set_aside_for_a_run() -> None:
    there = {"CPU": 4.0, "memory": 2e9}
    assert ray_cluster._needed(EngineOptions(), there) == {"num_cpus": 1.0}
    asked = EngineOptions(task_cores=2.0, task_memory=10**9)
    assert ray_cluster._needed(asked, there) == {"num_cpus": 2.0, "memory": 10**9}
    for field, options in (
        ("task_cores", EngineOptions(task_cores=8.0)),
        ("task_memory", EngineOptions(task_memory=3 * 10**9)),
    ):
        with pytest.raises(InvalidInput, match=f"{field}: .* for a run, but the cluster has"):
            ray_cluster._needed(options, there)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--task-cores", "2"], "--task-cores: is for engines on a cluster, not for local"),
        (["--engine", "ray", "--task-cores", "0"], "--task-cores: 0.0 is not a positive number"),
        (["--engine", "ray", "--task-memory", "2XB"], "--task-memory: '2XB' is not an amount"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    store = str(tmp_path / "store")
    assert main(["compare", "uniform", "--episodes", "5", "--store", store, *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_remote_address_needs_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "_lacks", lambda module: module == "grpc")
    with pytest.raises(MissingExtra, match=r"address: ray:// needs grpcio; install advmdp\[ray\]"):
        ray_cluster._connect("ray://127.0.0.1:1", None)


def test_a_machine_that_is_too_busy_for_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    def time_out(**_: object) -> None:
        raise Exception("The current node timed out during startup. This could happen because")

    monkeypatch.setattr(ray_cluster._ray(), "init", time_out)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(NoConnection, match=r"did not start .* timed out .* --engine local$"):
        ray_cluster._connect(None, 1)


def test_a_client_that_is_not_let_in_is_told_of_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise ConnectionError("ray client connection timeout")

    monkeypatch.setattr(ray_cluster._ray(), "init", refuse)
    with pytest.raises(InvalidInput, match=r"timeout; .* RAY_AUTH_MODE=token and"):
        ray_cluster._connect("ray://127.0.0.1:1", None)
    with pytest.raises(InvalidInput, match=r"timeout$"):
        ray_cluster._connect("auto", None)
