"""Names and paths from data in every output: signs, never commands, markup or formulas."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import advmdp as am
from advmdp.cli import main
from advmdp.experiments.build import build
from advmdp.plain_text import plain_text
from advmdp.reports.figures.regret_plot import plot_regret
from advmdp.store import Store, manifest
from advmdp.store.log import attach_log, detach_log
from tests.experiments.sweeps import one_run, play_here

NASTY = "\x1b[31m[/]\u202e$\\frac$\x9b2J\u2028<b>\n"
HIDDEN = "\x1b\u202e\x9b\u2028\x07"
EUR = {"low": 0.0, "high": 1.0, "unit": NASTY[:17]}
SPECS = [
    one_run(learner=name, replicate=r, rewards=EUR)
    for name in ("uniform", "exp3-ix")
    for r in range(2)
]


def is_plain(text: str) -> bool:
    return not any(sign in text for sign in HIDDEN)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store whose manifests have right checksums and hostile labels."""
    store = Store(tmp_path_factory.mktemp("nasty") / "store", create=True)
    play_here(store, SPECS)
    for spec in SPECS:
        folder = store.path / "runs" / spec.id
        content = manifest.read(folder)
        for name in ("learner", "mdp", "losses"):
            content[name] += NASTY
        content["machine"]["host"] += NASTY
        content["versions"]["advmdp"] += NASTY
        manifest.write(folder, content)
    return store


@pytest.mark.parametrize("arguments", [["ls"], ["show", SPECS[0].id, "--store"]])
def test_on_the_terminal(arguments: list[str], played: Store, capsys) -> None:  # type: ignore[no-untyped-def]
    assert main([*arguments, str(played.path)]) == 0
    shown = capsys.readouterr()
    assert is_plain(shown.out + shown.err)
    assert "[/]" in shown.out


def test_a_range_of_rewards_without_figures(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    """The spec of a manifest says more than its curves hold."""
    store, spec = Store(tmp_path / "store", create=True), one_run(learner="uniform")
    play_here(store, [spec])
    content = manifest.read(store.path / "runs" / spec.id)
    content["spec"]["rewards"] = {"low": 0.0, "high": 1.0, "unit": "EUR"}
    manifest.write(store.path / "runs" / spec.id, content)
    assert main(["show", spec.id, "--store", str(store.path)]) == 0
    assert "episodes" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["regret", "rate", "realised"])
def test_in_figures(kind: str, played: Store, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    output = tmp_path / "figure.svg"
    assert main(["figure", kind, str(output), "--store", str(played.path)]) == 0
    assert is_plain(output.read_text())
    assert is_plain(capsys.readouterr().out)


def test_in_a_report(played: Store, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(played.path), "-o", str(page), "--title", NASTY]) == 0
    text = page.read_text()
    assert is_plain(text)
    assert "\\\\u202e" in text  # written as an escape, not left out
    assert "<b>" not in text.partition("<script")[2]


def test_titles_and_notes_of_a_plot(tmp_path: Path) -> None:
    parts = build(one_run(learner="uniform"))
    run = am.play(parts.mdp, parts.losses, parts.learner, 300, parts.seed)
    output = tmp_path / "plot.svg"
    plot_regret({NASTY: run}, output, title=NASTY, note=NASTY)
    assert is_plain(output.read_text())


def test_in_the_log(tmp_path: Path) -> None:
    """One event is one line, whatever its text."""
    handler = attach_log(tmp_path)
    try:
        logging.getLogger("advmdp.tests").warning("a name: %s", NASTY)
        try:
            raise ValueError(NASTY)
        except ValueError:
            logging.getLogger("advmdp.tests").exception("a defect")
    finally:
        detach_log(handler)
    text = (tmp_path / "log.txt").read_text()
    assert is_plain(text)
    assert "\\x1b[31m[/]" in text
    assert text.splitlines()[0].endswith(plain_text(NASTY))


def test_warnings_about_a_store(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    """The name of a folder in somebody else's store."""
    from tests.experiments.sweeps import finished_command

    store = Store(tmp_path / "store", create=True)
    (store.path / "runs" / "\x1b[31m\u202enew\nline").mkdir()
    code, output, errors = finished_command("ls", store.path)
    assert code == 0
    assert errors.count("\n") == 1
    assert "left out" in errors
    assert is_plain(output + errors)


def test_paths_that_look_like_markup(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "[" / "]$\\frac$\x1b[31m"
    folder.mkdir(parents=True)
    output = folder / "demo.png"
    arguments = ["--episodes", "50", "--layers", "1,2,1", "--output", str(output), "--quiet"]
    assert main(["demo", *arguments]) == 0
    shown = capsys.readouterr().out
    assert output.exists()
    assert is_plain(shown)
    assert plain_text(str(output)) in "".join(shown.split("\n"))
