"""Paths of stores are paths, whatever characters they contain."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from advmdp.cli import main
from advmdp.store import Store
from tests.experiments.sweeps import one_run, play_here


@pytest.mark.parametrize(
    ("name", "sibling"),
    [("q[1]", "q1"), ("q[1]", None), ("s*", "sX"), ("s?", "sY"), ("a{b,c}", "ab"), ("**", None)],
)
def test_names_that_look_like_patterns(name: str, sibling: str | None, tmp_path: Path) -> None:
    """Neither nothing nor the rows of a sibling whose name the pattern would match."""
    store, spec = Store(tmp_path / name, create=True), one_run(checkpoints=[100, 300])
    play_here(store, [spec])
    if sibling is not None:
        shutil.copytree(store.path, tmp_path / sibling)
        file = tmp_path / sibling / "runs" / spec.id / "curves.parquet"
        pl.read_parquet(file).with_columns(episodes=pl.lit(7)).write_parquet(file)
    assert store.curves()["episodes"].to_list() == [100, 300]
    output = tmp_path / "curves.parquet"
    assert main(["export", str(output), "--parquet", "--store", str(store.path)]) == 0
    exported = pl.read_parquet(output)
    assert exported.select("run", "episodes").rows() == [(spec.id, 100), (spec.id, 300)]


def test_a_name_that_looks_like_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store, spec = Store("~", create=True), one_run(checkpoints=[100, 300])
    play_here(store, [spec])
    assert store.curves()["episodes"].to_list() == [100, 300]
