"""Text from data is neither markup nor a command for the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from advmdp.cli import main
from advmdp.plain_text import plain_text
from advmdp.store import Store
from tests.experiments.sweeps import one_run, play_here

WORLD = ["--layers", "1,3,3,1", "--actions", "2", "--losses", "majority", "--episodes", "300"]
UNITS = ["\x1b[31mEUR", "\u202eRUE", "[/]", "[bold]x[/bold]", "\x9b2J", "a\u200bb"]


@pytest.mark.parametrize("unit", UNITS)
def test_units(unit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store"
    arguments = [*WORLD, "--rewards", f"0,1,{unit}", "--store", str(path)]
    assert main(["run", "uob-reps", *arguments]) == 0
    assert main(["compare", "uob-reps", "uniform", *arguments, "-r", "1", "--workers", "1"]) == 0
    assert main(["ls", str(path)]) == 0
    spec = one_run(rewards={"low": 0.0, "high": 1.0, "unit": unit})
    assert main(["show", spec.id, "--store", str(path)]) == 0
    shown = "".join(capsys.readouterr().out.split("\n"))
    assert all(sign.isprintable() for sign in shown)
    assert plain_text(unit) in shown


def test_a_reason_and_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path / "store", create=True)
    spec = one_run()
    play_here(store, [one_run(replicate=1)])
    lock = store.lock(spec.identity())
    assert lock is not None
    store.begin(spec.identity(), lock)
    store.fail(spec.identity(), lock, "\x1b[2J[/] because")
    assert main(["show", spec.id, "--store", str(store.path)]) == 0
    assert "\\x1b[2J[/] because" in capsys.readouterr().out
    assert main(["show", "\x1b]0;title\x07", "--store", str(store.path)]) == 2
    assert main(["ls", str(tmp_path / "\x1b[31m")]) == 2
    assert "\x1b" not in capsys.readouterr().err
