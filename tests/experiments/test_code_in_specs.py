"""A spec from a file imports nobody's code, unless the user says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import advmdp as am
from advmdp.cli import app
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec

SPEC = """
learner = "uniform"
losses = "majority"
n_episodes = 10
mdp = {name = "gymnasium", id = "evil_environments:FrozenLake-v1", horizon = 3}
"""


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that leaves a mark when it is imported; returns the place of the mark."""
    mark = tmp_path / "imported"
    code = f"open({str(mark)!r}, 'w').close()\n"
    (tmp_path / "evil_environments.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "evil_environments", raising=False)
    return mark


def test_a_file_does_not_import_modules(evil: Path, tmp_path: Path) -> None:
    listed = SPEC.replace('"evil_environments:FrozenLake-v1"', '["A-v1", "evil_environments:B-v1"]')
    for read, text in (
        (RunSpec.from_toml, SPEC),
        (SweepSpec.from_toml, SPEC),
        (SweepSpec.from_toml, listed),
    ):
        with pytest.raises(am.InvalidInput, match="--allow-code"):
            read(text)
    (tmp_path / "spec.toml").write_text(SPEC)
    for command in (["run", "--spec"], ["sweep"]):
        arguments = [*command, str(tmp_path / "spec.toml"), "--store", str(tmp_path / "store")]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code != 0
        assert "--allow-code" in result.output + str(result.exception)
    assert not evil.exists()
    assert not (tmp_path / "store").exists()


def test_the_user_may_allow_it(evil: Path, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    arguments = ["run", "--spec", str(tmp_path / "spec.toml"), "--allow-code", "--quiet"]
    result = CliRunner().invoke(app, [*arguments, "--store", str(tmp_path / "store")])
    assert result.exit_code == 0, result.output
    assert evil.exists()


def test_other_ids_need_no_word() -> None:
    text = SPEC.replace("evil_environments:", "")
    assert RunSpec.from_json(RunSpec.from_toml(text).to_json()).mdp.name == "gymnasium"
