"""Manifests with right checksums and wrong contents: one is left out and named, the others stay."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from advmdp.cli import main
from advmdp.errors import DamagedFile
from advmdp.store import Store, manifest
from tests.experiments.sweeps import one_run, play_here

EUR = {"low": -3.0, "high": 5.0, "unit": "EUR"}
SPECS = [one_run(rewards=EUR), one_run(learner="uniform", replicate=1)]
NEEDED_BY_NOBODY = {"spec.checkpoints", "figures.epoch_starts", "versions.python"}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("foreign") / "store", create=True)
    play_here(store, SPECS)
    return store


@pytest.fixture
def store(played: Store, tmp_path: Path) -> Store:
    return Store(shutil.copytree(played.path, tmp_path / "store"))


def _rewrite(store: Store, change: Any) -> None:
    folder = store.path / "runs" / SPECS[0].id
    content = manifest.read(folder)
    change(content)
    manifest.write(folder, content)


def _commands(store: Store, folder: Path) -> Iterator[list[str]]:
    yield ["ls", str(store.path)]
    yield ["ls", str(store.path), "--json"]
    yield ["show", SPECS[1].id, "--store", str(store.path)]
    yield ["export", str(folder / "runs.csv"), "--csv", "--runs", "--store", str(store.path)]
    yield ["export", str(folder / "curves.csv"), "--csv", "--store", str(store.path)]


@pytest.mark.parametrize(
    "key", ["run", "learner", "n_episodes", "spec", "status", "versions", "machine", "files"]
)
def test_a_manifest_without_a_key(key: str, store: Store, tmp_path, capsys, caplog) -> None:  # type: ignore[no-untyped-def]
    _rewrite(store, lambda content: content.pop(key))
    for arguments in _commands(store, tmp_path):
        assert main(arguments) == 0
    assert SPECS[1].id in capsys.readouterr().out
    assert f"{SPECS[0].id}/manifest.json: '{key}' is missing; left out" in caplog.text
    page = tmp_path / "report.html"
    assert main(["report", str(store.path), "--output", str(page)]) == 0
    assert SPECS[1].id in page.read_text()
    assert SPECS[0].id not in page.read_text()
    assert play_here(store, SPECS).n_played == 1  # a sweep replaces it


def _places(content: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in content.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from _places(value, (*path, key))


def test_every_place_of_a_manifest_with_every_kind_of_value(played: Store) -> None:
    """What is accepted can be listed: a wrong manifest is found here, never by the frames."""
    from advmdp.cli.terminal.listing import run_page, runs_lines
    from advmdp.reports.units import Units
    from advmdp.store.frames import curves_frame, runs_frame
    from advmdp.store.run_row import check_manifest

    good = manifest.read(played.path / "runs" / SPECS[0].id)
    values = [None, True, -1, 2**70, 0.5, float("nan"), 1e999, "x", [], {}, {"a": 1}, [[1]]]
    rejected = 0
    for place in [*_places(good), ("figures", "run"), ("spec", "rewards", "more")]:
        for value in values:
            content = copy.deepcopy(good)
            table = content
            for step in place[:-1]:
                table = table[step]
            table[place[-1]] = value
            try:
                check_manifest(content)
            except ValueError:
                rejected += 1
                continue
            frame = runs_frame([content])
            assert frame["run"].to_list() == [content["run"]]
            list(runs_lines(frame))
            list(run_page(content, curves_frame([], frame)))
            json.dumps(frame.row(0))
            str(Units(*frame.select("reward_low", "reward_high", "reward_unit").row(0)).text(1.0))
    assert rejected > 200


@pytest.mark.parametrize("name", ["/dev/zero", "../store.json", "..", "", "a/b"])
def test_files_outside_the_folder_of_a_run(name: str, store: Store) -> None:
    _rewrite(store, lambda content: content["files"].update({name: "0" * 64}))
    with pytest.raises(DamagedFile, match="outside its folder"):
        manifest.read(store.path / "runs" / SPECS[0].id)


def test_a_manifest_of_another_run(store: Store, caplog) -> None:  # type: ignore[no-untyped-def]
    """A run's id is the name of its folder: it cannot lead elsewhere."""
    _rewrite(store, lambda content: content.update(run="../../elsewhere"))
    assert store.runs()["run"].to_list() == [SPECS[1].id]
    assert store.curves()["run"].unique().to_list() == [SPECS[1].id]
    assert "it is that of another run" in caplog.text


def test_deep_documents(store: Store, caplog) -> None:  # type: ignore[no-untyped-def]
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    (store.path / "runs" / SPECS[0].id / "manifest.json").write_text(deep)
    assert store.runs()["run"].to_list() == [SPECS[1].id]
    assert "not a manifest" in caplog.text
    (store.path / "store.json").write_text(deep)
    assert main(["ls", os.fspath(store.path)]) == 2
