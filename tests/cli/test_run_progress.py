"""The progress and the results of single runs on a terminal."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

from advmdp.cli.terminal.run_progress import followed
from advmdp.cli.terminal.run_summary import certificate_table, comparison_table, in_plain_words
from advmdp.cli.terminal.screen import waiting
from advmdp.evaluation.account import EvaluationPoint, Terms
from advmdp.playing.watch import Progress
from tests.reports.runs import learner_and_baseline, made_up_run

LEARNER, BASELINE = learner_and_baseline()


@pytest.fixture(autouse=True)
def _ordinary_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # These make rich treat a pipe as a terminal, or a terminal as something else.
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def shown(*things: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(*things)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def played(console: Console, *, quiet: bool = False) -> str:
    """What following a run of 1000 episodes for 25 reports leaves on the console."""
    with followed(console, 1000, quiet=quiet) as follower:
        report = follower("some learner")
        for episodes in range(40, 1001, 40):
            account = EvaluationPoint(
                episodes * 2.0, 0.0, episodes * 0.5, Terms(0.0, 0.0, 0.0, 0.0)
            )
            if report is not None:
                report(Progress(episodes, 123_456.0, account, epoch=episodes // 100))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_plain_lines_without_a_terminal() -> None:
    text = played(Console(file=io.StringIO()))
    lines = text.splitlines()
    assert len(lines) == 10
    assert lines[0] == (
        "some learner: 120 of 1,000 episodes, 123,456 episodes/s, regret 180, epoch 1, 0 s left"
    )
    assert lines[-1] == (
        "some learner: 1,000 of 1,000 episodes, 123,456 episodes/s, regret 1,500, epoch 10"
    )
    assert "\x1b" not in text
    assert "\r" not in text


def test_live_bar_on_a_terminal() -> None:
    text = played(Console(file=io.StringIO(), force_terminal=True, width=80))
    assert "\x1b" in text
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    last = [line for line in plain.splitlines() if line.strip()][-1]
    for part in ("some learner", "100%", "123,456 ep/s", "regret 1,500", "epoch 10"):
        assert part in last


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    text = played(Console(file=io.StringIO(), force_terminal=True))
    assert len(text.splitlines()) == 10


def test_quiet_shows_nothing() -> None:
    for terminal in (False, True):
        console = Console(file=io.StringIO(), force_terminal=terminal)
        with waiting(console, "one moment", quiet=True):
            pass
        assert played(console, quiet=True) == ""


def test_waiting_says_so() -> None:
    for terminal in (False, True):
        console = Console(file=io.StringIO(), force_terminal=terminal)
        with waiting(console, "one moment", quiet=False):
            pass
        assert "one moment" in console.file.getvalue()  # type: ignore[attr-defined]


def test_comparison_table() -> None:
    text = shown(comparison_table("learner", LEARNER, "uniform policy", BASELINE))
    rows = {line.strip().split("  ")[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["uniform policy"][2:] == ["20,000", "2.000", "5,000", "100.0%", "5,000"]
    assert rows["learner"][1:] != []
    assert rows["best fixed policy"][3:] == ["15,000", "1.500", "0", "0.0%", "-"]
    assert "15,632" in text
    assert "12.6%" in text
    assert max(map(len, text.splitlines())) <= 80


def test_certificates() -> None:
    table = certificate_table(LEARNER)
    text = shown(table)
    for part in ("epochs", "7", "1,234 of 1,234", "2.0e-13", "3.0e-16"):
        assert part in text
    assert certificate_table(BASELINE) is None


def test_words_for_a_curve_that_bends() -> None:
    words = in_plain_words("UOB-REPS", LEARNER, "uniform policy", BASELINE)
    assert "lost 632 more than the best fixed policy, 12.6% of the uniform policy's" in words
    assert "first half of the run added 447 to that, the second 185: the curve bends" in words


def test_words_for_a_curve_that_does_not() -> None:
    words = in_plain_words("UOB-REPS", BASELINE, "uniform policy", BASELINE)
    assert "no bend" in words


def test_words_for_special_cases() -> None:
    episodes = LEARNER.episodes
    winner = made_up_run(-LEARNER.regret, episodes)
    assert "lost 632 less than" in in_plain_words("a", winner, "b", BASELINE)
    nothing = made_up_run(np.full(len(episodes), -1e-13), episodes)
    assert "nothing to learn" in in_plain_words("a", nothing, "b", nothing)
    assert "-0" not in shown(comparison_table("a", nothing, "b", nothing))
    brief = made_up_run(np.ones(1), np.array([1]))
    assert "no trend" in in_plain_words("a", brief, "b", brief)
