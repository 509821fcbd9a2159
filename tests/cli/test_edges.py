"""Where the system refuses: one line, no traceback, and an exit code that says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import advmdp as am
from advmdp.cli import main
from advmdp.store import Store
from tests.experiments.sweeps import one_run, play_here

COMMAND = f'"{sys.executable}" -m advmdp'


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Store(tmp_path_factory.mktemp("edges") / "store", create=True)
    play_here(store, [one_run(learner="uniform")])
    return store.path


def shell(script: str, folder: Path) -> tuple[int, str]:
    """Exit code and standard error of a script; ``$advmdp`` is the command."""
    place = str(Path(am.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": place}
    done = subprocess.run(
        ["bash", "-c", script.replace("$advmdp", COMMAND)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stderr


SCRIPTS = {
    "a full device": ("$advmdp ls {store} >/dev/full", 2, "No space left"),
    "a full device, help": ("$advmdp --help >/dev/full", 2, "No space left"),
    "a removed folder": (
        "mkdir gone; cd gone; rmdir ../gone; $advmdp export x.csv --csv --store {store}",
        2,
        "leads nowhere",
    ),
    "a removed folder, workers": (
        "mkdir gone; cd gone; rmdir ../gone; "
        "$advmdp compare uniform --episodes 9 -r 1 --workers 1 --store {folder}/new",
        2,
        "working folder no longer exists",
    ),
    "few descriptors": (
        "ulimit -n 12; $advmdp compare uniform --episodes 9 -r 1 --workers 1 --store new",
        2,
        "Too many open files",
    ),
    "little memory": ("ulimit -v 200000; $advmdp ls {store}", 1, "cannot be loaded"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_one_line(name: str, store: Path, tmp_path: Path) -> None:
    script, code, message = SCRIPTS[name]
    found, errors = shell(script.format(store=store, folder=tmp_path), tmp_path)
    assert (found, errors.count("\n")) == (code, 1), errors
    assert errors.startswith("error: ")
    assert message in errors


def test_nothing_can_be_said(store: Path, tmp_path: Path) -> None:
    """Neither output takes anything: the exit code remains."""
    assert shell(f"$advmdp ls {store} >/dev/full 2>/dev/full", tmp_path) == (2, "")
    assert shell(f"$advmdp ls {store} | true; exit ${{PIPESTATUS[0]}}", tmp_path)[1] == ""


def test_links_in_a_circle(store: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    learner = am.Uniform(am.Layout((1, 2, 1), 2))
    for path in (loop, loop / "file"):
        with pytest.raises(am.StorageFailure):
            learner.save(path)
        with pytest.raises(am.AdvMDPError):
            am.load(path)
    for arguments in (
        ["ls", str(loop)],
        ["run", "--spec", str(loop)],
        ["run", "uniform", "--episodes", "9", "--store", str(loop)],
        ["sweep", str(loop)],
        ["export", str(loop), "--csv", "--store", str(store)],
        ["report", str(store), "-o", str(loop / "page.html")],
        ["figure", "regret", str(loop / "figure.svg"), "--store", str(store)],
    ):
        assert main(arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, '{"a":' * 100_000, "checkpoints = 9223372036854775808"]
)
def test_deep_and_huge_documents(text: str, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    for suffix, command in ((".toml", ["sweep"]), (".toml", ["run", "--spec"]), (".json", ["run"])):
        file = (tmp_path / "spec").with_suffix(suffix)
        file.write_text(text)
        arguments = [*command, "--spec"] if suffix == ".json" else command
        assert main([*arguments, str(file)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "world", ["id=no_such_module:FrozenLake-v1", "id=NoSuchLake-v1", "map_name=nowhere"]
)
def test_unknown_gymnasium_worlds(world: str, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    known = {"id": "FrozenLake-v1", "horizon": "4"} | dict([world.split("=")])
    sets = [part for key, value in known.items() for part in ("--set", f"mdp.{key}={value}")]
    where = ["--store", str(tmp_path / "store")]
    assert main(["run", "uniform", "--mdp", "gymnasium", "--episodes", "9", *sets, *where]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_spec_without_an_end(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    for arguments in (["run", "--spec", "/dev/zero"], ["sweep", "/dev/zero"]):
        assert main([*arguments, "--store", str(tmp_path / "store")]) == 2
        assert "which no spec is" in capsys.readouterr().err


def test_a_wrong_call_names_the_help_of_its_command(capsys) -> None:  # type: ignore[no-untyped-def]
    assert main(["export", "store", "x.csv"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("(x.csv); see 'advmdp export --help'")
    assert main(["comparr"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("?")  # it proposes a command already
