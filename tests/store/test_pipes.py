"""Pipes, devices and odd links in a store: no command waits for them."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from advmdp.cli import main
from advmdp.files.plain import read_plain
from advmdp.store import Store
from advmdp.store.run_lock import RunLock, is_locked
from tests.experiments.sweeps import finished_command, one_run, play_here

SPEC = one_run()
WORLD = ["--layers", "1,3,3,1", "--actions", "2", "--losses", "majority", "--episodes", "300"]


@pytest.fixture(autouse=True)
def _within_seconds() -> object:  # type: ignore[misc]
    """A command that waits is ended with an error, and not by the patience of the reader."""

    def late(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _to_nowhere(path: Path) -> None:
    path.symlink_to(path.parent / "missing" / "file")


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


ODD: list[Callable[[Path], None]] = [os.mkfifo, _to_nowhere, _loop, _device]


@pytest.fixture(params=ODD, ids=["pipe", "to nowhere", "loop", "device"])
def odd(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    make: Callable[[Path], None] = request.param
    return make


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store", create=True)
    play_here(store, [SPEC, one_run(replicate=1)])
    return store


@pytest.mark.parametrize("name", ["manifest.json", "curves.parquet"])
def test_in_a_finished_run(name: str, odd, store: Store, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    """Left out by readers; a sweep plays the run again."""
    file = store.path / "runs" / SPEC.id / name
    file.unlink()
    odd(file)
    assert main(["ls", str(store.path)]) == 0
    assert one_run(replicate=1).id in capsys.readouterr().out
    assert main(["export", str(tmp_path / "c.csv"), "--csv", "--store", str(store.path)]) == 0
    assert SPEC.id not in (tmp_path / "c.csv").read_text()
    assert play_here(store, [SPEC]).n_played == 1


def test_as_the_marker(odd, store: Store, capsys) -> None:  # type: ignore[no-untyped-def]
    (store.path / "store.json").unlink()
    odd(store.path / "store.json")
    assert main(["ls", str(store.path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_as_a_lock(odd, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path / "store", create=True)
    folder = store.path / "work" / SPEC.id
    folder.mkdir()
    odd(folder / "lock")
    assert not is_locked(folder)
    with pytest.raises(OSError, match=r"plain file|symbolic links"):
        RunLock.acquire(folder)
    assert main(["run", *WORLD, "--store", str(store.path)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_as_a_checkpoint(odd, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path / "store", create=True)
    folder = store.path / "work" / SPEC.id
    folder.mkdir()
    odd(folder / "checkpoint-a.bin")
    code = main(["run", *WORLD, "--store", str(store.path)])
    errors = capsys.readouterr().err
    assert (code, errors.count("\n")) in ((0, 0), (2, 1))
    assert "Traceback" not in errors


def test_as_the_log(odd, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path / "store", create=True)
    odd(store.path / "log.txt")
    assert main(["run", *WORLD, "--store", str(store.path)]) == 0
    assert store.runs()["status"].to_list() == ["finished"]


def test_as_a_folder(odd, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    """A run's folder, and that of all runs."""
    store = Store(tmp_path / "store", create=True)
    odd(store.path / "runs" / SPEC.id)
    odd(store.path / "work" / SPEC.id)
    assert main(["ls", str(store.path)]) == 0
    code = main(["run", *WORLD, "--store", str(store.path)])
    errors = capsys.readouterr().err
    assert code in (0, 2)
    assert "Traceback" not in errors
    (store.path / "runs").rename(tmp_path / "aside")
    odd(store.path / "runs")
    assert main(["ls", str(store.path)]) in (0, 2)


def test_plain_files_and_links_to_them_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("file")
    assert read_plain(tmp_path / "link") == b"x" * 100_000
    with pytest.raises(OSError, match="not a plain file"):
        read_plain(tmp_path)


def test_a_sweep_with_pipes_ends(tmp_path: Path) -> None:
    """Workers too: their files are opened in processes that block SIGTERM."""
    store = Store(tmp_path / "store", create=True)
    folder = store.path / "work" / SPEC.id
    folder.mkdir()
    for name in ("checkpoint-a.bin", "checkpoint-b.bin"):
        os.mkfifo(folder / name)
    arguments = ["compare", "uob-reps", *WORLD, "-r", 1, "--workers", 1, "--store", store.path]
    code, _, errors = finished_command(*arguments)
    assert code == 2
    assert "not a plain file" in errors
    shutil.rmtree(folder)
    assert finished_command(*arguments)[0] == 0
