"""What a sweep says while it runs."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from advmdp.evaluation.account import Checkpoint
from advmdp.experiments.rewards_part import RewardsPart
from advmdp.play import Progress
from advmdp.reports import sweep_progress
from advmdp.reports.sweep_progress import following

SPECS = [SimpleNamespace(id=f"run-{i}", n_episodes=1000) for i in range(3)]
ENDED = SimpleNamespace(
    played=SimpleNamespace(
        seconds=2.0, resumed_at=400, outcome=SimpleNamespace(figures={"regret": 12.0})
    )
)


def _tell(watcher, rewards: RewardsPart | None = None) -> None:  # type: ignore[no-untyped-def]
    """Everything that can happen in a sweep."""
    for spec in SPECS:
        spec.rewards = rewards
    watcher.begin(SPECS, 1)
    for spec in SPECS[1:]:
        watcher.started(spec)
    account = Checkpoint(50.0, 51.0, 40.0, (0.0, 0.0, 0.0, 0.0))
    watcher.progress("run-1", Progress(500, 250.0, account, 7))
    watcher.finished(SPECS[1], ENDED)
    watcher.failed(SPECS[2], "no memory")
    watcher.elsewhere(1)
    watcher.elsewhere(1)
    watcher.stopping()


def _output(
    monkeypatch: pytest.MonkeyPatch,
    *,
    terminal: bool,
    rewards: RewardsPart | None = None,
    **options: bool,
) -> str:
    stream = io.StringIO()
    monkeypatch.setattr(
        sweep_progress,
        "Console",
        lambda **given: Console(file=stream, force_terminal=terminal, width=120, highlight=False),
    )
    with following(**{"quiet": False, "as_json": False, **options}) as watcher:
        _tell(watcher, rewards)
    return stream.getvalue()


def test_lines_where_nothing_can_be_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_progress, "HEARTBEAT_SECONDS", 0.0)
    lines = _output(monkeypatch, terminal=False).splitlines()
    assert lines == [
        "1 of 3 runs are in the store already",
        "run-1: 250 episodes/s, regret 10, epoch 7",
        lines[2],
        "[3/3] run-2: failed: no memory",
        "waiting for 1 runs that another sweep plays",
        "stopping: the runs under way write their checkpoints",
    ]
    assert lines[2].startswith("[2/3] run-1: regret 12, 300 episodes/s, resumed after 400, ")
    assert lines[2].endswith(" left")


def test_lines_in_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_progress, "HEARTBEAT_SECONDS", 0.0)
    rewards = RewardsPart(low=-0.5, high=2.0, unit="EUR")
    lines = _output(monkeypatch, terminal=False, rewards=rewards).splitlines()
    assert lines[1] == "run-1: 250 episodes/s, regret 25 EUR, epoch 7"
    assert lines[2].startswith("[2/3] run-1: regret 30 EUR, 300 episodes/s, ")


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    output = _output(monkeypatch, terminal=True)
    assert "all runs" in output
    assert "3/3" in output
    assert "run-2: failed: no memory" in output


def test_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _output(monkeypatch, terminal=False, quiet=True) == ""
