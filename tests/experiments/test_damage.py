"""Files that rot, disks that fill up, stores from the future, two sweeps at once."""

from __future__ import annotations

import builtins
import errno
import json
import logging
import os
import resource
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import advmdp as am
from advmdp.cli import main
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.interface import CheckpointSchedule
from advmdp.experiments.engines.results import RunStopped
from advmdp.experiments.engines.single_run import play_run
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


def _cut(store: Store, spec, after: int) -> Path:  # type: ignore[no-untyped-def]
    """Play a run until it has written ``after`` checkpoints; its working folder."""
    identity = spec.identity()
    claim = store.lock(identity)
    assert claim is not None
    store.begin(identity, claim)
    looks = iter(range(after))
    with pytest.raises(RunStopped):
        play_run(
            spec,
            store.checkpoints(identity),
            schedule=CheckpointSchedule(seconds=0.0),  # at every look
            should_stop=lambda: next(looks, None) is None,
        )
    claim.release()
    return store.path / "work" / spec.id


def _flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 0x10
    path.write_bytes(data)


def _truncate(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[: size % path.stat().st_size])


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, bytes]:
    store = Store(tmp_path / "whole", create=True)
    play_here(store, [one_run()])
    return curve_bytes(store)


@pytest.mark.parametrize("damage", [_flip, _truncate])
@pytest.mark.parametrize("n_damaged", [1, 2])
@pytest.mark.parametrize("place", [3, 500, 2001])
def test_damaged_checkpoint(tmp_path, whole, caplog, damage, n_damaged, place) -> None:  # type: ignore[no-untyped-def]
    """The older one is used, or the run starts anew; the log says so; the bytes are the same."""
    spec, store = one_run(), Store(tmp_path / "store", create=True)
    folder = _cut(store, spec, after=5)
    files = sorted(folder.glob("checkpoint-*"), key=lambda file: file.stat().st_mtime_ns)
    assert len(files) == 2
    older = store.checkpoints(spec.identity())._read(files[0])
    for file in files[-n_damaged:]:
        damage(file, place)
    with caplog.at_level(logging.INFO, logger="advmdp"):
        kept = store.checkpoints(spec.identity()).newest()
        assert (None if kept is None else kept.episodes) == (
            older.episodes if n_damaged == 1 else None
        )
        assert caplog.text.count("checkpoint skipped") == n_damaged
        play_here(store, [spec])
    assert curve_bytes(store) == whole


def test_checkpoint_of_another_spec_is_passed_over(tmp_path, whole, caplog) -> None:  # type: ignore[no-untyped-def]
    spec, other, store = one_run(), one_run(replicate=1), Store(tmp_path / "store", create=True)
    theirs = _cut(store, other, after=5)
    shutil.copytree(theirs, store.path / "work" / spec.id)
    play_here(store, [spec])
    assert curve_bytes(store) == whole
    assert "belongs to another spec" in caplog.text


@pytest.mark.parametrize("name", ["curves.parquet", "manifest.json"])
@pytest.mark.parametrize("damage", [_flip, _truncate])
def test_damaged_result(tmp_path, whole, caplog, name, damage) -> None:  # type: ignore[no-untyped-def]
    """Noticed by readers and played again by the next sweep; the damaged one is kept aside."""
    specs, store = [one_run(), one_run(replicate=1)], Store(tmp_path / "store", create=True)
    play_here(store, specs)
    damage(store.path / "runs" / specs[0].id / name, 700)
    assert store.curves()["run"].unique().to_list() == [specs[1].id]
    assert "checksum does not match" in caplog.text or "not a manifest" in caplog.text
    summary = play_here(store, specs)
    assert (summary.n_found, summary.n_played) == (1, 1)
    assert curve_bytes(store)[specs[0].id] == whole[specs[0].id]
    assert len(list((store.path / "damaged").iterdir())) == 1
    assert store.curves()["run"].n_unique() == 2


def test_finished_runs_are_never_rewritten(tmp_path: Path) -> None:
    specs, store = runs_of(sweep_text()), Store(tmp_path / "store", create=True)
    play_here(store, specs)
    before = {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in store.path.glob("runs/**/*")}
    summary = play_here(store, specs)
    assert (summary.n_found, summary.n_played) == (len(specs), 0)
    assert before == {
        p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in store.path.glob("runs/**/*")
    }


def test_full_disk(tmp_path: Path) -> None:
    """No room for a checkpoint: one line, exit 2; what is finished stays; later it goes on."""
    file, path = tmp_path / "sweep.toml", tmp_path / "store"
    file.write_text(sweep_text(n_episodes=400, replicates=1))
    assert finished_command(*sweep_command(file, path))[0] == 0
    finished = curve_bytes(Store(path))
    text = sweep_text(n_episodes=20_000, replicates=1).replace("[1, 3, 3, 1]", "[1, 9, 9, 1]")
    file.write_text(text)
    code, _, errors = finished_command(
        *sweep_command(file, path),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)),
    )
    assert code == 2
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert "cannot be written (File too large)" in errors
    assert "to go on: advmdp sweep" in errors
    store = Store(path)
    after = curve_bytes(store)  # a run small enough may have got through
    assert finished.items() <= after.items()
    assert store.curves()["run"].n_unique() == len(after) < 4
    assert not list(path.glob("runs/.*"))
    assert not list(path.glob("work/*/.*partial"))
    assert not list(path.glob("work/.*removed"))
    code, _, errors = finished_command(*sweep_command(file, path))
    assert code == 0, errors
    whole = Store(tmp_path / "whole", create=True)
    play_here(whole, runs_of(text))
    assert curve_bytes(store) == finished | curve_bytes(whole)


def test_no_room_for_a_result(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """The disk fills up in the very last step: the run is not half there."""
    spec, store = one_run(), Store(tmp_path / "store", create=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
        with pytest.raises(am.errors.StorageFailure, match="nothing finished is lost"):
            run_all([spec], store, InlineEngine(store.path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((store.path / "runs").iterdir()) == []
    assert play_here(store, [spec]).complete


def test_two_sweeps_share_a_store(tmp_path: Path) -> None:
    file, path = tmp_path / "sweep.toml", tmp_path / "store"
    text = sweep_text(n_episodes=60_000, replicates=4)
    file.write_text(text)
    Store(path, create=True)
    both = [command(*sweep_command(file, path, "--json")) for _ in range(2)]
    played: list[str] = []
    for process in both:
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        events = [json.loads(line) for line in output.splitlines()]
        played += [event["run"] for event in events if event["event"] == "finished"]
    assert sorted(played) == sorted(spec.id for spec in runs_of(text))  # each by one of them
    whole = Store(tmp_path / "whole", create=True)
    play_here(whole, runs_of(text))
    assert curve_bytes(Store(path)) == curve_bytes(whole)


def test_store_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "store", create=True)
    (tmp_path / "store" / "store.json").write_text('{"schema": 2}')
    with pytest.raises(am.InvalidInput, match="schema 2, this advmdp reads up to 1; use a newer"):
        Store(tmp_path / "store")
    code, _, errors = finished_command("run", "--episodes", 10, "--store", tmp_path / "store")
    assert code == 2
    assert errors.startswith("error: --store: ")


def test_folders_that_are_no_store(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(am.InvalidInput, match="is not a store"):
        Store(tmp_path / "other")
    with pytest.raises(am.InvalidInput, match="exists and is not a store"):
        Store(tmp_path / "other", create=True)
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["file"]
    (tmp_path / "other" / "store.json").write_text("{")
    with pytest.raises(am.errors.DamagedFile, match="is damaged"):
        Store(tmp_path / "other")


@pytest.mark.parametrize("text", ["null", "[1]", '{"schema": "x"}', '{"schema": 0}', None])
def test_markers_of_no_sense(text: str | None, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    marker = tmp_path / "store" / "store.json"
    marker.parent.mkdir()
    if text is None:
        marker.mkdir()
    else:
        marker.write_text(text)
    for arguments in (["ls", str(marker.parent)], ["run", "--store", str(marker.parent)]):
        assert main(arguments) == 2
        errors = capsys.readouterr().err
        assert errors.startswith(f"error: --store: {marker} is damaged; if the runs beside it are")
        assert errors.count("\n") == 1


def test_files_where_folders_should_be(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "file"
    file.touch()
    for arguments in (["ls", str(file)], ["verify", "--dry-run", "--store", str(file)]):
        assert main(arguments) == 2
        assert f"error: --store: {file} is not a store; give the folder of" in _one_line(capsys)
    for part in ("runs", "work"):
        path = tmp_path / f"no-{part}" / part
        Store(path.parent, create=True)
        path.rmdir()
        path.touch()
        for arguments in (["ls", str(path.parent)], ["run", "--store", str(path.parent)]):
            assert main(arguments) == 2
            assert _one_line(capsys) == f"error: --store: {path} is not a folder; move it away\n"


def _one_line(capsys) -> str:  # type: ignore[no-untyped-def]
    errors = str(capsys.readouterr().err)
    assert errors.count("\n") == 1
    return errors


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes ``tmp_path`` refuse as a read-only file system does; root may write anywhere else."""

    def refuse(original: Any, writes: Callable[..., bool] = lambda *_, **__: True) -> Any:
        def guarded(path: Any, *rest: Any, **named: Any) -> Any:
            if not isinstance(path, int) and Path(path).is_relative_to(tmp_path):
                if original is os.mkdir and os.path.exists(path):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                if writes(*rest, **named):
                    raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return original(path, *rest, **named)

        return guarded

    def begin() -> None:
        for name in ("mkdir", "rename", "replace", "unlink"):
            monkeypatch.setattr(os, name, refuse(getattr(os, name)))
        monkeypatch.setattr(os, "open", refuse(os.open, lambda flags, *_, **__: flags & 3 > 0))
        opens = refuse(open, lambda mode="r", *_, **__: bool(set(mode) & set("wax+")))
        monkeypatch.setattr(builtins, "open", opens)

    return begin


def test_a_store_that_cannot_be_written(tmp_path: Path, capsys, read_only) -> None:  # type: ignore[no-untyped-def]
    """One line, unless all that is asked for is there."""
    store = Store(tmp_path / "store", create=True)
    play_here(store, [one_run()])
    world = ["--layers", "1,3,3,1", "--actions", "2", "--losses", "majority", "--episodes", "300"]
    run = ["run", "uob-reps", *world, "--store"]
    compare = ["compare", "uob-reps", *world, "--workers", "1", "--store"]
    verify = ["verify", "--claim", "regret-over-episodes", "--workers", "1", "--store"]
    page = tmp_path / "verify.html"
    page.touch()
    read_only()
    assert main([*run, str(store.path)]) == 0
    assert "1 of 1 runs are in the store already" in capsys.readouterr().out
    for arguments in (
        [*run, str(store.path), "--seed", "1"],
        [*compare, str(store.path), "-r", "2"],
        [*verify, str(store.path), "-o", str(page), "--quiet"],
        [*run, str(tmp_path / "new")],
    ):
        assert main(arguments) == 2
        errors = _one_line(capsys)
        assert errors.startswith(f"error: --store: {tmp_path}")
        assert "cannot be written (Read-only file system); give a writable store" in errors


@pytest.mark.parametrize("step", ["lock", "begin"])
def test_a_run_that_cannot_begin_lets_the_others_write_checkpoints(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = one_run(), one_run(replicate=1)
    store = Store(tmp_path / "store", create=True)
    engine = InlineEngine(store.path)
    engine.capacity = 2
    original = getattr(Store, step)

    def refused(self: Store, identity: Any, *rest: Any) -> Any:
        if identity.run == second.id:
            raise am.errors.StorageFailure("no room")
        return original(self, identity, *rest)

    with monkeypatch.context() as full:
        full.setattr(Store, step, refused)
        with pytest.raises(am.errors.StorageFailure, match="no room"):
            run_all([first, second], store, engine)
    assert store.checkpoints(first.identity()).newest() is not None
    assert play_here(store, [first, second]).n_played == 2  # nothing is claimed any more


def test_a_damaged_run_that_cannot_be_moved(tmp_path: Path, read_only) -> None:  # type: ignore[no-untyped-def]
    store, spec = Store(tmp_path / "store", create=True), one_run()
    play_here(store, [spec])
    _flip(store.path / "runs" / spec.id / "curves.parquet", 700)
    (store.path / "damaged").mkdir()
    read_only()
    with pytest.raises(am.errors.StorageFailure, match=r"damaged/.* cannot be written \(Read-only"):
        store.is_finished(spec.identity())


@pytest.mark.parametrize("left", [[], [".store.json.0123456789abcdef.partial"]])
def test_a_store_whose_creation_was_killed_is_created(left: list[str], tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    for name in left:
        (tmp_path / "store" / name).touch()
    assert play_here(Store(tmp_path / "store", create=True), [one_run()]).complete


def test_a_store_without_its_folders_is_read_and_mended(tmp_path: Path) -> None:
    """Killed after the marker was written and before the folders were."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "store.json").write_text('{"schema": 1}')
    assert Store(tmp_path / "store").runs().height == 0
    assert play_here(Store(tmp_path / "store", create=True), [one_run()]).complete


def test_a_late_writer_does_not_keep_a_finished_run_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker may outlive its killed sweep by a moment, and write while the folder is removed."""
    store = Store(tmp_path / "store", create=True)
    claim = store.lock(runs_of(sweep_text(n_episodes=100, replicates=1))[0].identity())
    assert claim is not None
    remove = os.rmdir

    def interrupted(*arguments: Any, **options: Any) -> None:
        with suppress(FileNotFoundError):
            (claim.folder / "checkpoint-a.bin").write_bytes(b"late")
        remove(*arguments, **options)

    monkeypatch.setattr(os, "rmdir", interrupted)
    store.drop(claim)
    assert not claim.folder.exists()


def test_a_finished_run_whose_working_folder_was_left_behind_is_listed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the two: the next sweep finds it finished, and clears the folder."""
    store, spec = Store(tmp_path / "store", create=True), one_run()
    with monkeypatch.context() as killed:
        killed.setattr(Store, "drop", lambda *_: None)
        play_here(store, [spec])
    assert (store.path / "work" / spec.id).exists()
    assert [m["status"] for m in store.manifests()] == ["finished"]
    assert store.manifest(spec.id)["run"] == spec.id
    assert play_here(store, [spec]).n_found == 1


def test_a_damaged_run_that_is_played_again_is_listed_at_work(tmp_path: Path) -> None:
    store, spec = Store(tmp_path / "store", create=True), one_run()
    play_here(store, [spec])
    _truncate(store.path / "runs" / spec.id / "manifest.json", 50)
    _cut(store, spec, after=2)
    assert [m["status"] for m in store.manifests()] == ["cut"]


def test_what_a_killed_process_was_removing_is_removed(tmp_path: Path) -> None:
    """Killed between putting a working folder aside and removing it, or while it wrote a result."""
    store, spec = Store(tmp_path / "store", create=True), one_run()
    folder = _cut(store, spec, after=2)
    shutil.copytree(folder, store.path / "work" / f".{spec.id}.01234567.removed")
    (folder / ".01234567.partial").mkdir()
    (folder / ".01234567.partial" / "curves.parquet").write_bytes(b"half")
    assert play_here(Store(store.path, create=True), [spec]).n_played == 1
    assert [entry.name for entry in (store.path / "work").iterdir()] == []


def test_the_work_of_a_stored_run_is_removed_by_a_sweep_with_nothing_to_play(
    tmp_path: Path,
) -> None:
    """Killed between storing a result and putting the working folder aside."""
    store, spec = Store(tmp_path / "store", create=True), one_run()
    folder = _cut(store, spec, after=2)
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    play_here(store, [spec])
    shutil.copytree(kept, folder)
    summary = play_here(store, [spec])
    assert (summary.n_found, summary.n_played) == (1, 0)
    assert [entry.name for entry in (store.path / "work").iterdir()] == []


def test_beginning_a_run_does_not_look_at_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch begins ten thousand: each may look into its own folder only."""
    store, spec = Store(tmp_path / "store", create=True), one_run()
    looked: list[str] = []
    see = os.scandir

    def seen(path: Any = ".") -> Any:
        looked.append(os.fspath(path))
        return see(path)

    claim = store.lock(spec.identity())
    assert claim is not None
    monkeypatch.setattr(os, "scandir", seen)
    store.begin(spec.identity(), claim)
    claim.release()
    assert all(spec.id in path for path in looked)
    assert looked
