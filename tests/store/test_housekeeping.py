"""``ls`` with filters and totals, ``rm``, ``merge``, ``gc``, and plans that write nothing."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import advmdp as am
from advmdp.cli import main
from advmdp.cli.terminal.listing import plan_lines, totals_lines
from advmdp.experiments.planning import ELSEWHERE, HERE, MEASURED, plan_runs
from advmdp.store import Store
from advmdp.store.housekeeping import collect_garbage, merge_stores, remove_runs
from advmdp.store.progress.under_way import position
from tests.experiments.sweeps import one_run, play_here, runs_of, sweep_text

TEXT = sweep_text(n_episodes=60, replicates=2)  # two learners
RUNS = runs_of(TEXT)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "store", create=True)
    assert play_here(made, RUNS).complete
    return made


def files_of(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_ls_filters_and_adds_up(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*filters: str) -> list[str]:
        assert main(["ls", str(store.path), "--json", *filters]) == 0
        return [json.loads(line)["run"] for line in capsys.readouterr().out.splitlines()]

    assert set(listed()) == {run.id for run in RUNS}
    exp3 = {run.id for run in RUNS if run.learner.name == "exp3-ix"}
    assert set(listed("--learner", "exp3")) == exp3
    for nothing in (("--status", "failed"), ("--episodes", "61"), ("--mdp", "grid")):
        assert listed(*nothing) == []
    assert main(["ls", str(store.path), "--totals"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" in ")[0] for line in lines] == [
        "exp3-ix: 2 finished; 120 episodes",
        "uob-reps: 2 finished; 120 episodes",
        "all: 4 finished; 240 episodes",
    ]
    assert main(["ls", str(store.path), "--status", "done"]) == 2
    assert "--status: 'done' is none of finished, running" in capsys.readouterr().err


def test_totals_count_what_unfinished_runs_have_played() -> None:
    runs = pl.DataFrame(
        {
            "run": ["whole", "cut", "waits"],
            "learner": ["uniform", "uniform", "exp3-ix"],
            "status": ["finished", "cut", "running"],
            "episodes": [100, None, None],
            "seconds": [2.0, None, None],
            "n_episodes": [100, 400, 500],
        }
    )
    assert list(totals_lines(runs, {"cut": position(100, 5.0, 400)})) == [
        "exp3-ix: 1 running; 0 of 500 episodes (0%) in 0 s",
        "uniform: 1 cut, 1 finished; 200 of 500 episodes (40%) in 7 s",
        "all: 1 cut, 1 finished, 1 running; 200 of 1,000 episodes (20%) in 7 s",
    ]


def test_rm_lists_first_and_removes_with_a_word(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--store", str(store.path)]
    assert main(["rm", "--learner", "exp3-ix", *place]) == 0
    assert "2 runs would be removed; to remove them, add --yes" in capsys.readouterr().out
    assert store.runs().height == 4
    assert main(["rm", "--learner", "exp3-ix", "--yes", *place]) == 0
    assert set(store.runs()["learner"]) == {"uob-reps"}
    capsys.readouterr()
    assert main(["rm", RUNS[0].id, "--yes", *place]) == 0
    assert capsys.readouterr().out == "1 run removed\n"
    assert store.runs().height == 1
    assert main(["rm", *place]) == 2
    assert "name runs, or choose them" in capsys.readouterr().err
    assert not list((store.path / "work").iterdir())
    assert play_here(store, RUNS).n_played == 3  # what was removed is played again


def test_a_run_under_way_is_not_removed(store: Store) -> None:
    spec = one_run(seed=9)
    lock = store.lock(spec.identity())
    assert lock is not None
    store.begin(spec.identity(), lock)
    with pytest.raises(am.InvalidInput, match="is being played"):
        remove_runs(store, [spec.id])
    lock.release()
    assert remove_runs(store, [spec.id]) == 1  # cut: its checkpoints go too
    for name in ("../store", ".hidden", "a/b"):
        with pytest.raises(am.InvalidInput, match="not the id of a run"):
            remove_runs(store, [name])


def test_merge_copies_what_is_finished_and_whole(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other", create=True)
    more = [RUNS[0], *(one_run(seed=seed) for seed in (1, 2))]
    assert play_here(other, more).complete
    cut = one_run(seed=3)
    lock = other.lock(cut.identity())
    assert lock is not None
    other.begin(cut.identity(), lock)
    lock.release()
    damaged = other.path / "runs" / more[2].id / "curves.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    before = files_of(other.path)
    assert merge_stores(store, other) == (1, 1, 2)
    assert merge_stores(store, other) == (0, 2, 2)
    assert files_of(other.path) == before
    assert files_of(store.path / "runs" / more[1].id) == files_of(other.path / "runs" / more[1].id)
    assert set(store.runs()["run"]) == {run.id for run in [*RUNS, more[1]]}
    with pytest.raises(am.InvalidInput, match="the store itself"):
        merge_stores(store, Store(store.path))


def test_the_command_merges_several(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "all"
    assert main(["merge", str(store.path), str(tmp_path / "nowhere"), "--store", str(target)]) == 2
    assert not target.exists()
    assert main(["merge", str(store.path), "--store", str(target)]) == 0
    assert files_of(target / "runs") == files_of(store.path / "runs")


def test_gc_keeps_every_run(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    whole = files_of(store.path / "runs")
    aside = store.path / "damaged" / "old"
    aside.mkdir(parents=True)
    (aside / "curves.parquet").write_bytes(b"x" * 1000)
    left = store.path / "work" / RUNS[0].id  # its process was killed before it removed it
    left.mkdir()
    (left / "checkpoint-a.bin").write_bytes(b"y" * 500)
    draft, fresh = (store.path / "work" / f".{name}.partial" for name in ("old", "new"))
    for path in (draft, fresh):
        path.write_bytes(b"z" * 10)
    os.utime(draft, (time.time() - 1e6,) * 2)
    cut = store.path / "work" / "unfinished"
    cut.mkdir()
    (cut / "checkpoint-a.bin").write_bytes(b"keep")
    assert collect_garbage(store) == 1510
    assert files_of(store.path / "runs") == whole
    assert not aside.exists()
    assert not left.exists()
    assert fresh.exists()
    assert (cut / "checkpoint-a.bin").exists()
    assert main(["gc", str(store.path)]) == 0
    assert capsys.readouterr().out == "0 bytes freed\n"


def test_a_plan_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(TEXT)
    assert main(["sweep", "sweep.toml", "--dry-run", "--store", "new"]) == 0
    said = capsys.readouterr().out
    assert "4 of 4 runs to play, 240 episodes" in said
    assert "about" not in said  # no run tells how long it takes
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.toml"]
    Path("sweep.toml").write_text(TEXT.replace("n_actions = 2", "n_actions = 0"))
    assert main(["sweep", "sweep.toml", "--dry-run", "--store", "new"]) == 2
    assert "sweep.toml: mdp.n_actions: 0" in capsys.readouterr().err


def test_a_plan_knows_what_is_done_and_how_long_the_rest_takes(store: Store) -> None:
    longer = runs_of(TEXT.replace("[60]", "[120]"))
    groups = plan_runs([*RUNS, *longer, one_run(n_episodes=7)], store)
    assert [(g.n_episodes, g.runs, g.left) for g in groups] == [
        (60, 2, 0),
        (60, 2, 0),
        (120, 2, 2),
        (120, 2, 2),
        (7, 1, 1),
    ]
    sums = (pl.col(name).sum() for name in ("seconds", "n_episodes"))
    took = store.runs().group_by("learner").agg(*sums)
    rate = {learner: seconds / episodes for learner, seconds, episodes in took.iter_rows()}
    for group in groups:
        assert group.seconds is not None
        assert group.seconds == pytest.approx(rate[group.learner] * group.n_episodes * group.left)
        assert group.basis == HERE
    unknown = plan_runs([one_run(learner="uniform")], store)
    assert (unknown[0].seconds, unknown[0].basis) == (None, None)


def test_what_an_estimate_is_based_on(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new = one_run(learner="uniform")
    kinds = [runs_of(TEXT.replace("[60]", "[99]"))[0], new]
    before = files_of(store.path)
    groups = plan_runs(kinds, store, measure=True)
    assert [group.basis for group in groups] == [HERE, MEASURED]
    assert all(group.seconds is not None and group.seconds > 0.0 for group in groups)
    monkeypatch.setattr("platform.node", lambda: "another machine")
    assert [group.basis for group in plan_runs(kinds, store)] == [ELSEWHERE, None]
    assert files_of(store.path) == before
    lines = list(plan_lines(plan_runs(kinds, store), 1))
    assert lines[-2].endswith("by other machines' runs")
    assert lines[-1].startswith("1 run without an estimate; --measure")


def test_ls_tells_how_far_unfinished_runs_are(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """40 of 160 episodes in 3 seconds: 9 seconds are left at that rate."""
    spec = one_run(n_episodes=160, seed=5)
    lock = store.lock(spec.identity())
    assert lock is not None
    store.begin(spec.identity(), lock)
    store.checkpoints(spec.identity()).write(40, 3.0, {"x": np.zeros(1)})

    def line() -> str:
        assert main(["ls", str(store.path), "--episodes", "160"]) == 0
        return capsys.readouterr().out.splitlines()[1]

    assert "  running at 25%, 9 s left  " in line()
    lock.release()
    assert "  cut at 25%  " in line()
