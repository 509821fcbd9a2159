"""The registry is the only list of engines: whoever is in it can be named everywhere."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import advmdp as am
from advmdp.cli import app, main
from advmdp.experiments.engines.registry import ENGINES, find_engine, register_engine
from advmdp.store import Store
from tests.engines.thread_engine import ThreadEngine
from tests.experiments.sweeps import curve_bytes, play_here, runs_of, sweep_text

LOCATION = "tests.engines.thread_engine:ThreadEngine"


@pytest.fixture
def _threads() -> Iterator[None]:
    register_engine("threads", LOCATION, "threads of this process")
    yield
    del ENGINES["threads"]


@pytest.mark.usefixtures("_threads")
def test_a_registered_engine_plays_a_sweep(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    """From the command line, without an edit in the package, to the same bytes."""
    file, path = tmp_path / "sweep.toml", tmp_path / "store"
    file.write_text(sweep_text())
    command = ["sweep", str(file), "--store", str(path), "--engine", "threads", "--json"]
    assert main([*command, "--workers", "2"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(event["event"] == "finished" for event in events) == 4
    here = Store(tmp_path / "here", create=True)
    play_here(here, runs_of(sweep_text()))
    assert curve_bytes(Store(path)) == curve_bytes(here)
    assert len(curve_bytes(here)) == 4


@pytest.mark.usefixtures("_threads")
def test_a_registered_engine_can_be_named_everywhere(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert find_engine("threads") is ThreadEngine
    assert main(["verify", "--dry-run", "--engine", "threads", "--claim", "hedge"]) == 0
    capsys.readouterr()
    assert main(["compare", "uniform", "--engine", "thread"]) == 2
    expected = "error: --engine: there is no 'thread'; choose local, ray, cuda or threads\n"
    assert capsys.readouterr().err == expected
    with pytest.raises(am.InvalidInput, match="engine: 'threads' is registered already"):
        register_engine("threads", LOCATION, "elsewhere")


def test_an_engine_that_is_not_available_is_one_line(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["compare", "uniform", "--engine", "ray"]) == 2
    expected = "error: --engine: ray is not installed; install advmdp[ray]\n"
    assert capsys.readouterr().err == expected
    assert list(tmp_path.iterdir()) == []


def test_the_help_lists_the_registry() -> None:
    for command in ("sweep", "compare", "verify"):
        text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        assert "Where runs are played: local, ray or cuda." in text


def test_no_engine_is_named_outside_the_registry() -> None:
    """No branch on a name: a string that is one, anywhere in the rooms that use engines."""
    source = Path(am.__file__).parent
    for room in ("cli", "claims", "experiments", "reports"):
        for file in (source / room).rglob("*.py"):
            if file.parent.name == "engines":
                continue
            strings = {
                node.value
                for node in ast.walk(ast.parse(file.read_text()))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
            assert not strings & set(ENGINES), file
