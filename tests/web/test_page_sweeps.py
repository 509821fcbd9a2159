"""Sweeps as the page sees them, from the first run to the last, and stores in disorder."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from advmdp.cli import main
from advmdp.experiments.engines.interface import CheckpointSchedule
from advmdp.experiments.engines.single_run import play_run
from advmdp.store import Store
from advmdp.store.progress import live_store, progress_note
from advmdp.store.progress.announcement import announced, announced_runs
from advmdp.store.progress.live_store import LiveStore
from advmdp.store.progress.progress_note import NoteWriter, read_note
from advmdp.store.run_lock import RunLock, is_locked
from advmdp.web.page.states import State, change_between
from advmdp.web.page.sweep_counts import seconds_left, watched_cells
from advmdp.web.page.sweep_panels import MOST_LEARNERS
from advmdp.web.page.sweep_state import store_state
from tests.experiments.sweeps import one_run, play_here
from tests.web.steps import EPISODES, POINTS, MadeUpSweep, spec

entries = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)
states = st.dictionaries(st.sampled_from(["runs", "cells"]), entries, max_size=2)


@given(states, states)
def test_a_change_makes_the_old_state_the_new_one(old: State, new: State) -> None:
    change = change_between(old, new)
    made = {name: dict(section) for name, section in old.items()}
    for name, section in change.get("set", {}).items():
        made.setdefault(name, {}).update(section)
    for name, keys in change.get("drop", {}).items():
        for key in keys:
            del made[name][key]
    assert {n: s for n, s in made.items() if s} == {n: s for n, s in new.items() if s}
    assert change_between(new, new) == {}


def test_a_sweep_from_start_to_end(tmp_path: Path) -> None:
    one, two, other = spec("uob-reps", 0), spec("uob-reps", 1), spec("exp3-ix")
    sweep = MadeUpSweep(tmp_path / "store", [one, two, other])
    live = LiveStore(sweep.store.path)

    def now() -> State:
        live.refresh()
        return store_state(live, "-")

    assert now()["summary"]["store"]["counts"] == {"waiting": 3}
    assert now()["summary"]["store"]["left"] is None  # nothing tells how long it takes
    sweep.begin(one)
    assert now()["summary"]["store"]["counts"] == {"starting": 1, "waiting": 2}
    sweep.reach(one, 500, 2.0, slope=0.5)
    state = now()
    assert state["runs"][one.id] | {"place": 0} == {
        "place": 0,
        "status": "running",
        "learner": "uob-reps",
        "seed": 0,
        "replicate": 0,
        "share": 0.5,
        "left": 2,
        "regret": 250.0,
        "rate": 250.0,
        "reason": None,
    }
    # 2 seconds for the rest of this run, 4 for each of the others, one at a time.
    assert state["summary"]["store"]["left"] == 10
    (series,) = state["panels"]["regret"]["series"]
    reached = POINTS[POINTS <= 500]
    assert series["x"] == [0, *reached.tolist()]
    assert series["y"] == pytest.approx([0, *(0.5 * reached)])
    assert series["low"] is None  # one run
    assert state["panels"]["regret"]["x_end"] == EPISODES

    sweep.finish(one, slope=0.5)
    sweep.begin(two)
    sweep.reach(two, 100, 1.0, slope=0.3)
    sweep.begin(other)
    sweep.fail(other, "no certified <b>projection</b>")
    state = now()
    assert state["summary"]["store"]["counts"] == {"running": 1, "failed": 1, "finished": 1}
    assert state["runs"][other.id]["reason"] == "no certified <b>projection</b>"
    both, finished, single = state["panels"]["regret"]["series"]
    assert both["label"] == "uob-reps, 2 runs"
    assert both["y"][-1] == pytest.approx(0.4 * both["x"][-1])  # the mean of both slopes
    assert both["low"][-1] < both["y"][-1] < both["high"][-1]
    assert finished["label"] == "uob-reps, 1 of 2 runs"
    assert finished["x"][0] == both["x"][-1]
    assert finished["x"][-1] == EPISODES
    assert finished["y"] == pytest.approx([0.5 * x for x in finished["x"]])
    assert single["key"] == "under way: uob-reps"

    sweep.finish(two, slope=0.3)
    sweep.end()
    state = now()
    assert state["summary"]["store"]["counts"] == {"failed": 1, "finished": 2}
    assert state["summary"]["store"]["left"] is None
    assert state["learners"]["uob-reps"]["regret"][0] == pytest.approx(400.0)
    json.dumps(state, allow_nan=False)


@pytest.mark.parametrize("more", [0, 1])
def test_learners_that_are_not_drawn_are_mentioned(more: int, tmp_path: Path) -> None:
    names = sorted(am.LEARNERS)[: MOST_LEARNERS + more]
    sweep = MadeUpSweep(tmp_path / "store", [spec(name) for name in names])
    for name in names:
        sweep.begin(spec(name))
        sweep.finish(spec(name), 0.1)
    live = LiveStore(sweep.store.path)
    live.refresh()
    panel = store_state(live, "-")["panels"]["regret"]
    assert [one["key"] for one in panel["series"]] == names[:MOST_LEARNERS]
    assert ("Of 25 learners the first 24 are drawn" in panel["note"]) == bool(more)
    sweep.end()


def test_cells_and_the_time_left(tmp_path: Path) -> None:
    short, long = spec("uniform"), spec("uniform", n_episodes=4 * EPISODES)
    sweep = MadeUpSweep(tmp_path / "store", [short, long])
    sweep.begin(short)
    sweep.finish(short, 0.1)  # in two seconds
    live = LiveStore(sweep.store.path)
    live.refresh()
    cells = watched_cells(live)
    assert [cell.n_episodes for cell in cells] == [4 * EPISODES, EPISODES]
    assert seconds_left([run for cell in cells for run in cell.runs]) == pytest.approx(8.0)
    assert store_state(live, cells[1].key)["summary"]["cell"]["n_episodes"] == EPISODES
    sweep.end()


def test_a_real_run_leaves_notes_that_agree_with_its_curve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after it was cut and resumed: the points of the first sitting are in the checkpoint."""
    monkeypatch.setattr(progress_note, "SECONDS", 0.0)
    store, run = Store(tmp_path / "store", create=True), one_run(learner="uob-reps")
    identity = run.identity()
    lock = store.lock(identity)
    assert lock is not None
    stops = iter([False, False, True])
    with pytest.raises(Exception, match="stopped after"):
        play_run(run, store.checkpoints(identity), should_stop=lambda: next(stops))
    cut = read_note(lock.folder, run.hash)
    assert cut is not None
    assert 0 < cut.episodes < run.n_episodes
    schedule = CheckpointSchedule(1000.0)
    done = play_run(run, store.checkpoints(identity), schedule=schedule)
    note = read_note(lock.folder, run.hash)
    assert note is not None
    assert note.episodes == run.n_episodes
    assert note.regret == done.outcome.figures["regret"]
    for name, values in note.curves.items():
        assert np.array_equal(values, done.outcome.curves[name]), name


def test_notes_that_nobody_wrote(tmp_path: Path) -> None:
    writer = NoteWriter(tmp_path, "hash", POINTS)
    writer.add(1, {"expected_loss": 1.0, "realised_loss": 1.0, "best_loss": 0.5})
    writer._due = 0.0
    writer.write(5, 1.0, (5.0, 5.0, 2.5))
    good = json.loads((tmp_path / progress_note.NAME).read_text())
    assert read_note(tmp_path, "hash") is not None
    assert read_note(tmp_path, "another") is None
    curves = good["curves"]
    wrong = [
        {"episodes": 0},
        {"episodes": 1e300},
        {"episodes": True},
        {"seconds": -1.0},
        {"seconds": "1"},
        {"seconds": float("nan")},
        {"now": [1.0, 2.0]},
        {"now": [1.0, 2.0, float("inf")]},
        {"curves": {}},
        {"curves": {**curves, "episodes": [2.0, 1.0]}},
        {"curves": {**curves, "episodes": [9.0]}},  # after the episode that it has reached
        {"curves": {**curves, "best_loss": [1.0, 2.0]}},
        {"curves": {**curves, "best_loss": [None]}},
        {"curves": {**curves, "best_loss": [[1.0]]}},
    ]
    for change in wrong:
        (tmp_path / progress_note.NAME).write_text(json.dumps(good | change))
        assert read_note(tmp_path, "hash") is None, change
    for text in ("", "[]", "null", "[" * 100_000, " " * (progress_note.LARGEST + 1)):
        (tmp_path / progress_note.NAME).write_text(text)
        assert read_note(tmp_path, "hash") is None
    (tmp_path / progress_note.NAME).unlink()
    os.mkfifo(tmp_path / progress_note.NAME)
    assert read_note(tmp_path, "hash") is None


def test_a_reader_does_not_keep_a_sweep_from_its_run(tmp_path: Path) -> None:
    """A shared lock, as a reader holds it for a moment, is waited for, not taken for a player."""
    import fcntl
    import threading

    folder = tmp_path / "run"
    first = RunLock.acquire(folder)
    assert first is not None
    assert RunLock.acquire(folder) is None
    first.release()
    reader = os.open(folder / "lock", os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_SH)
    threading.Timer(0.05, os.close, (reader,)).start()
    second = RunLock.acquire(folder)
    assert second is not None
    assert is_locked(folder)
    second.release()


def test_only_living_sweeps_are_announced(tmp_path: Path) -> None:
    store, runs = Store(tmp_path / "store", create=True), [spec("uniform", r) for r in range(3)]
    left_behind = store.path / "work" / ".sweep-0123456789abcdef.json"
    left_behind.write_text(json.dumps({"runs": [["a", "b", "c", "d", 1, 0, 0]]}))
    assert announced_runs(store.path) == []
    with announced(store.path, runs):
        assert [run.run for run in announced_runs(store.path)] == [run.id for run in runs]
        assert not left_behind.exists()
        (held,) = store.path.glob("work/.sweep-*")
        held.write_text('{"runs": [["a"], 7, ["a", "b", "c", "d", 1, 0, 0]]}')
        assert [run.run for run in announced_runs(store.path)] == ["a"]
        held.write_text('{"runs":')
        assert announced_runs(store.path) == []
    assert not list(store.path.glob("work/.sweep-*"))


def test_stores_that_are_not_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store", create=True)
    runs = [one_run(learner="uniform", replicate=r) for r in range(4)]
    play_here(store, runs)
    folders = [store.path / "runs" / run.id for run in runs]
    (folders[0] / "curves.parquet").write_bytes(b"not a curve")
    (folders[1] / "manifest.json").write_text("{}")
    (folders[2] / "manifest.json").unlink()
    os.mkfifo(folders[2] / "manifest.json")
    (store.path / "runs" / "stray file").write_text("x")
    live = LiveStore(store.path)
    monkeypatch.setattr(live_store, "READING_SECONDS", -1.0)  # one run at a time
    readings = 0
    live.refresh()
    while live.unread:
        readings += 1
        live.refresh()
    assert readings >= 3
    state = store_state(live, "-")
    assert list(state["runs"]) == [runs[3].id]
    assert state["summary"]["store"]["n_damaged"] >= 3
    assert store.curves()["regret"].to_list()[: len(POINTS)]
    curve = next(live.runs).curves
    assert curve is not None
    assert np.array_equal(curve["expected_loss"], store.curves()["expected_loss"].to_numpy())
    assert runs[1].id in live.damaged
    folders[1].rename(tmp_path / "aside")
    play_here(store, runs[1:2])  # again
    monkeypatch.undo()
    for _ in range(2):
        live.refresh()
    assert runs[1].id not in live.damaged
    assert {run.manifest["run"] for run in live.runs} == {runs[1].id, runs[3].id}
    (store.path / "store.json").write_text('{"schema": 99}')
    live.refresh()
    assert "newer advmdp" in (live.problem or "")
    (store.path / "store.json").write_text('{"schema": 1}')
    live.refresh()
    assert live.problem is None


def test_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = spec("uob-reps"), spec("uniform")
    sweep = MadeUpSweep(tmp_path / "store", [one, two])
    sweep.begin(one)
    sweep.reach(one, 250, 1.0, 0.5)
    assert main(["watch", str(tmp_path / "store"), "--terminal"]) == 0
    shown = capsys.readouterr().out
    assert "12% of all episodes, 1 running, 1 waiting, about 7 s left" in shown
    wanted = r"running at 25%, 3 s left +125 +250"  # regret, and episodes a second
    assert re.search(wanted, shown)
    assert main(["ls", str(tmp_path / "store")]) == 0
    assert re.search(wanted, capsys.readouterr().out)
    sweep.end()
    assert main(["watch", str(tmp_path / "nowhere")]) == 2
    assert "is not a store" in capsys.readouterr().err
