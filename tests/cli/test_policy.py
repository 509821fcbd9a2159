"""``advmdp policy``: of stored runs and of files, as a table, CSV, JSON and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import advmdp as am
from advmdp.cli import main
from advmdp.experiments.build import build
from advmdp.experiments.replaying import learner_of_run
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from advmdp.store.checkpoints import Checkpoints

SPEC = RunSpec(
    learner="uob-reps",
    mdp={"name": "random", "layer_sizes": [1, 3, 3, 1], "n_actions": 2},
    losses="majority",
    n_episodes=300,
)
ARGUMENTS = ["run", "uob-reps", "--layers", "1,3,3,1", "--actions", "2", "--episodes", "300"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    assert main([*ARGUMENTS, "--store", str(path), "--quiet"]) == 0
    return path


def test_the_name_of_a_run_is_whole_above_a_narrow_table(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    there = ["--store", str(tmp_path / "store")]
    assert main(["run", "exp3-ix", *ARGUMENTS[2:], *there, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["policy", "exp3-ix", *there]) == 0
    run = Store(tmp_path / "store").runs()["run"].item()
    assert capsys.readouterr().out.startswith(f"{run} after 300 episodes\n")


def test_a_stored_run_in_every_form(store: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    there = ["--store", str(store)]
    capsys.readouterr()
    assert main(["policy", "uob-reps", *there]) == 0
    text = capsys.readouterr().out
    assert "after 300 episodes" in text
    assert max(map(len, text.splitlines())) <= 80
    for ending in ("csv", "json", "svg"):
        assert main(["policy", "uob-reps", *there, "-o", str(tmp_path / f"p.{ending}")]) == 0
    frame = pl.read_csv(tmp_path / "p.csv", schema_overrides={"state": str, "action": str})
    pairs = json.loads((tmp_path / "p.json").read_text())["pairs"]
    assert_frame_equal(frame, pl.DataFrame(pairs))
    # The same learner, played here.
    made = build(SPEC)
    run = am.play(made.mdp, made.losses, made.learner, 300, made.seed)
    expected = made.learner.to_frame(run=run)
    assert frame.columns == expected.columns
    assert_frame_equal(frame, expected)
    picture = ElementTree.fromstring((tmp_path / "p.svg").read_text("utf-8"))
    bars = [one for one in picture.iter() if "bar" in one.get("class", "").split()]
    assert len(bars) == made.mdp.layout.n_rows


def test_a_cut_run_is_shown_at_its_checkpoint(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", create=True)
    folder = store.path / "work" / SPEC.id
    folder.mkdir(parents=True)
    made = build(SPEC)
    taken = {}
    am.play(
        *(made.mdp, made.losses, made.learner, 300, made.seed),
        checkpoints=[100, 300],
        keep=lambda episodes, snapshot: taken.setdefault(episodes, snapshot()),
    )
    first = min(taken)
    Checkpoints(folder, SPEC.hash).write(first, 1.0, taken[first])
    shown = learner_of_run(SPEC, store, "cut")
    assert shown.episodes == first < 300
    assert shown.learner.episodes == first
    np.testing.assert_array_equal(shown.estimated_losses, taken[first]["ledger.estimated"])


def test_a_file(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    learner = am.UOBREPS(am.Layout(layer_sizes=(1, 3, 3, 1), n_actions=2), n_episodes=10)
    learner.save(tmp_path / "learner.am")
    assert main(["policy", str(tmp_path / "learner.am"), "-o", str(tmp_path / "p.svg")]) == 0
    assert "own measure" in (tmp_path / "p.svg").read_text("utf-8")
    am.Uniform(learner.layout).save(tmp_path / "uniform.am")
    assert main(["policy", str(tmp_path / "uniform.am"), "-o", str(tmp_path / "u.svg")]) == 2
    assert "--output: this learner has no measure to draw" in capsys.readouterr().err
    assert main(["policy", str(tmp_path / "uniform.am"), "-o", str(tmp_path / "u.txt")]) == 2
    assert "should end in .csv, .json, .svg" in capsys.readouterr().err
