"""A sweep that is killed goes on where it was, to the same bytes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.interface import EngineOptions
from advmdp.experiments.engines.local import LocalEngine
from advmdp.experiments.engines.results import RunResult
from advmdp.experiments.runner import run_all
from advmdp.store import Store
from tests.experiments.sweeps import (
    command,
    curve_bytes,
    finished_command,
    one_run,
    play_here,
    runs_of,
    sweep_command,
    sweep_text,
)

KILLS = 5  # benchmarks.soak has a thousand


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """SIGKILL for the sweep alone or for its workers too; whenever a sweep gets through before
    the next kill, its store is compared and a new one begun, until all kills are spent."""
    text = sweep_text(n_episodes=150_000, replicates=2)
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    whole = Store(tmp_path / "whole", create=True)
    play_here(whole, runs_of(text))
    expected = curve_bytes(whole)
    assert len(expected) == 4

    rng = random.Random(0)
    kills, stores, cut_with_progress = 0, 1, 0
    while True:
        path = tmp_path / f"store{stores}"
        if kills == KILLS:
            code, _, errors = finished_command(*sweep_command(file, path))
            assert code == 0, errors
        else:
            process = command(*sweep_command(file, path))
            if kills % 5:  # the others may strike while the processes are still starting
                before = _newest_change(path)
                assert _until(
                    lambda: _newest_change(path) != before or process.poll() is not None,  # noqa: B023
                )
            try:
                _, errors = process.communicate(timeout=rng.uniform(0.0, 1.0))
            except subprocess.TimeoutExpired:
                if kills % 2:
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()  # the workers notice by themselves
                process.communicate()
                kills += 1
                cut_with_progress += any(path.glob("work/*/checkpoint-*"))
                continue
            assert process.returncode == 0, errors
        store = Store(path)
        assert curve_bytes(store) == expected  # nothing lost, doubled or changed
        assert not [p for p in (path / "work").iterdir() if not p.name.startswith(".")]
        assert set(store.runs()["status"]) == {"finished"}
        if kills == KILLS:
            break
        stores += 1
    assert cut_with_progress >= 2, "the kills came too early to test anything"


def test_workers_do_not_outlive_a_killed_sweep(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(sweep_text(n_episodes=50_000_000, replicates=1))
    process = command(*sweep_command(file, tmp_path / "store"))
    assert _until(lambda: len(_group(process.pid)) >= 3)  # the sweep and two workers at least
    process.kill()
    process.communicate()
    assert _until(lambda: not _group(process.pid))


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    file, path = tmp_path / "sweep.toml", tmp_path / "store"
    text = sweep_text(n_episodes=400_000, replicates=1)
    file.write_text(text)
    process = command(*sweep_command(file, path))
    assert _until(lambda: any(path.glob("work/*/checkpoint-*")))
    victims = [pid for pid in _group(process.pid) if "spawn_main" in _command_line(pid)]
    os.kill(victims[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "its process died" in (path / "log.txt").read_text()
    whole = Store(tmp_path / "whole", create=True)
    play_here(whole, runs_of(text))
    assert curve_bytes(Store(path)) == curve_bytes(whole)


def test_a_death_ends_the_whole_pool_and_costs_only_the_runs_under_way(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", create=True)
    specs = [one_run(n_episodes=50_000_000, replicate=i) for i in range(4)]
    claims = [store.lock(spec.identity()) for spec in specs]
    engine = LocalEngine(store.path, EngineOptions(workers=2))
    heard: set[str] = set()
    ends: list[RunResult] = []

    def poll() -> None:
        ends.extend(engine.poll(lambda run, _: heard.add(run)))

    try:
        for spec in specs:
            engine.submit(spec)
        assert _until(lambda: poll() or len(heard) == 2)
        workers = list(engine._pool._processes)
        under_way = set(heard)
        os.kill(workers[0], signal.SIGKILL)
        assert _until(lambda: poll() or ends)
        assert {end.spec.id for end in ends} == under_way
        assert all(end.lost for end in ends)
        for pid in workers:
            assert not Path(f"/proc/{pid}").exists()
        ends.clear()
        assert _until(lambda: poll() or len(heard) == 4)  # the others are played without a word
        engine.stop()
        assert _until(lambda: poll() or len(ends) == 2)
        assert {(end.spec.id, end.lost) for end in ends} == {
            (run, None) for run in heard - under_way
        }
    finally:
        engine.stop()
        engine.close()
        for claim in claims:
            assert claim is not None
            claim.release()


def test_a_pool_that_broke_a_moment_ago_takes_runs(tmp_path: Path) -> None:
    store, spec = Store(tmp_path / "store", create=True), one_run()
    engine = LocalEngine(store.path, EngineOptions(workers=1))
    engine._pool.submit(os.kill, os.getpid(), 0).result()  # the worker has started
    (pid,) = engine._pool._processes
    os.kill(pid, signal.SIGKILL)
    assert _until(lambda: engine._pool._broken)
    summary = run_all([spec], store, engine)
    assert summary.n_played == 1


def test_a_death_after_ctrl_c_ends_the_sweep(tmp_path: Path) -> None:
    class Dying(InlineEngine):
        polls = 0

        def poll(self, on_progress: object) -> list[RunResult]:
            self.polls += 1
            assert self.polls < 5, "the sweep waits for a run that nobody plays"
            if not self._waiting:
                return []
            signal.raise_signal(signal.SIGINT)
            return [RunResult(self._waiting.pop(), lost="its process died")]

    store = Store(tmp_path / "store", create=True)
    assert run_all([one_run()], store, Dying(store.path)).interrupted


def test_interrupted_and_resumed(tmp_path: Path) -> None:
    file, path = tmp_path / "sweep.toml", tmp_path / "store"
    text = sweep_text(n_episodes=400_000, replicates=1)
    file.write_text(text)
    slow = ["sweep", file, "--store", path, "--workers", 2]  # no checkpoint but the last
    process = command(*slow, "--json")
    assert process.stdout is not None
    for line in process.stdout:  # as soon as a run is under way
        event = json.loads(line)
        if event["event"] == "progress" and event["episodes"] > 1:
            break
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes at once
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "to go on: advmdp sweep" in errors
    assert "Traceback" not in errors
    assert set(Store(path).runs()["status"]) <= {"cut", "finished"}
    code, output, errors = finished_command(*slow)
    assert code == 0, errors
    whole = Store(tmp_path / "whole", create=True)
    play_here(whole, runs_of(text))
    assert curve_bytes(Store(path)) == curve_bytes(whole)
    assert "resumed after" in output


def _newest_change(store: Path) -> float:
    """When a checkpoint was last written or a run finished."""
    times = [0]
    for pattern in ("work/*/checkpoint-*", "runs/*"):
        with suppress(FileNotFoundError):  # it was finished while we looked
            times += [path.stat().st_mtime_ns for path in store.glob(pattern)]
    return max(times)


def _until(condition: object, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


def _group(leader: int) -> list[int]:
    """The processes of a group that still run."""
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            members.append(int(folder.name))
    return members


def _command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
