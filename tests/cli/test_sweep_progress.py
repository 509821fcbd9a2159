"""The progress of a sweep: bars, lines, JSON, and the counts behind them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from advmdp.cli.terminal import sweep_progress, sweep_watchers
from advmdp.cli.terminal.sweep_progress import following
from advmdp.cli.terminal.sweep_tally import SweepTally
from advmdp.cli.terminal.sweep_watchers import BarWatcher
from advmdp.experiments.engines.results import CompletedRun, RunProgress
from advmdp.store.outcome import Outcome
from tests.experiments.sweeps import one_run

IN_EUR = {"low": -0.5, "high": 2.0, "unit": "EUR"}
# 600 episodes in the last 1.5 of 2 seconds: 400 a second, and not the 300 of all sittings.
RESUMED = CompletedRun(Outcome({}, {"regret": 12.0}), 2.0, resumed_at=400, resumed_seconds=0.5)


def runs(n: int, **changes: Any) -> list[Any]:
    return [one_run(n_episodes=1000, replicate=i, **changes) for i in range(n)]


def tell(watcher: Any, **changes: Any) -> list[str]:
    """Everything that can happen in a sweep; the ids of its runs."""
    specs = runs(3, **changes)
    watcher.begin(specs, specs[1:])
    for spec in specs[1:]:
        watcher.started(spec)
    watcher.progress(specs[1].id, RunProgress(500, 250.0, 10.0, 7, resumed_at=400))
    watcher.lost(specs[1])
    watcher.started(specs[1])
    watcher.progress(specs[1].id, RunProgress(500, 250.0, 10.0, 7, resumed_at=400))
    watcher.finished(specs[1], RESUMED)
    watcher.failed(specs[2], "no memory")
    watcher.elsewhere(1)
    watcher.elsewhere(1)
    watcher.stopping()
    return [spec.id for spec in specs]


def shown(
    monkeypatch: pytest.MonkeyPatch,
    *,
    terminal: bool,
    quiet: bool = False,
    tell: Callable[..., Any] = tell,
    **changes: Any,
) -> tuple[str, Any]:
    """The output of a sweep, and what ``tell`` returned."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=120, highlight=False)
    monkeypatch.setattr(sweep_progress, "Console", lambda **given: console)
    with following(quiet=quiet, as_json=False) as watcher:
        told = tell(watcher, **changes)
    return stream.getvalue(), told


def test_lines_where_nothing_can_be_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_watchers, "HEARTBEAT_SECONDS", 0.0)
    output, (_, second, third) = shown(monkeypatch, terminal=False)
    lines = output.splitlines()
    assert lines == [
        "1 of 3 runs are in the store already",
        f"{second}: 250 episodes/s, regret 10, epoch 7",
        f"{second}: 250 episodes/s, regret 10, epoch 7",
        lines[3],
        f"[3/3] {third}: failed: no memory",
        "waiting for 1 runs that another sweep plays",
        "stopping: the runs under way write their checkpoints",
    ]
    assert lines[3].startswith(f"[2/3] {second}: regret 12, 400 episodes/s, resumed after 400, ")
    assert lines[3].endswith(" left")


def test_lines_in_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_watchers, "HEARTBEAT_SECONDS", 0.0)
    output, (_, second, _) = shown(monkeypatch, terminal=False, rewards=IN_EUR)
    lines = output.splitlines()
    assert lines[1] == f"{second}: 250 episodes/s, regret 25 EUR, epoch 7"
    assert lines[3].startswith(f"[2/3] {second}: regret 30 EUR, 400 episodes/s, ")


def test_a_batch_of_thousands_is_a_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch has no regret while it is played, and more runs than a screen has lines."""
    monkeypatch.setattr(sweep_watchers, "HEARTBEAT_SECONDS", 1e9)
    specs = runs(100)

    def batch(watcher: Any) -> None:
        watcher.begin(specs, specs)
        for spec in specs[:-1]:
            watcher.progress(spec.id, RunProgress(10, 5.0))
        monkeypatch.setattr(sweep_watchers, "HEARTBEAT_SECONDS", 0.0)
        watcher.progress(specs[-1].id, RunProgress(10, 5.0))

    lines = shown(monkeypatch, terminal=False, tell=batch)[0].splitlines()
    assert lines[0] == f"{specs[0].id}: 5 episodes/s"
    assert len(lines) == sweep_watchers.MOST_SHOWN + 1
    assert lines[-1].startswith("80 more runs under way, ")


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    output, (_, _, third) = shown(monkeypatch, terminal=True)
    assert "all runs" in output
    assert "3/3" in output
    assert f"{third}: failed: no memory" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)


def bars_of(watcher: BarWatcher) -> list[str]:
    return [task.description for task in watcher.bars.tasks]


def test_a_lost_worker_leaves_no_dead_bar() -> None:
    """The run is submitted again: one bar for it, and none once it is finished."""
    watcher = BarWatcher(Console(file=io.StringIO()))
    (spec,) = runs(1)
    watcher.begin([spec], [spec])
    for _ in range(2):
        watcher.started(spec)
        watcher.progress(spec.id, RunProgress(500, 250.0, 10.0))
        assert bars_of(watcher) == ["all runs", spec.id]
        watcher.lost(spec)
        assert bars_of(watcher) == ["all runs"]
    watcher.started(spec)
    watcher.progress(spec.id, RunProgress(600, 250.0, 10.0))
    watcher.finished(spec, CompletedRun(Outcome({}, {"regret": 1.0}), 2.0))
    assert bars_of(watcher) == ["all runs"]


def test_bars_of_a_batch_are_few_and_move_on() -> None:
    watcher, specs = BarWatcher(Console(file=io.StringIO())), runs(30)
    watcher.begin(specs, specs)
    for spec in specs:
        watcher.progress(spec.id, RunProgress(500, 250.0))
    assert bars_of(watcher) == ["all runs", *(spec.id for spec in specs[:20])]
    watcher.failed(specs[0], "no memory")
    watcher.progress(specs[25].id, RunProgress(600, 250.0))
    assert bars_of(watcher)[-1] == specs[25].id


def test_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=False, quiet=True)[0] == ""


def test_json_events(capsys: pytest.CaptureFixture[str]) -> None:
    """The names and the keys are an interface: programs read them."""
    with following(quiet=False, as_json=True) as watcher:
        _, second, third = tell(watcher, rewards=IN_EUR)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    started = {"event": "started", "n_episodes": 1000, "rewards": IN_EUR}
    progress = {
        "event": "progress",
        "run": second,
        "episodes": 500,
        "episodes_per_second": 250.0,
        "regret": 10.0,
        "epoch": 7,
        "reward_regret": 25.0,
    }
    assert events == [
        {"event": "begin", "runs": 3, "finished": 1},
        {**started, "run": second},
        {**started, "run": third},
        progress,
        {**started, "run": second},
        progress,
        {"event": "finished", "run": second, "seconds": 2.0, "regret": 12.0},
        {"event": "failed", "run": third, "reason": "no memory"},
        {"event": "elsewhere", "runs": 1},
        {"event": "elsewhere", "runs": 1},
        {"event": "stopping"},
    ]


# ------------------------------------------------------------------ the time left


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def tally_of(n: int, n_finished: int = 0) -> tuple[SweepTally, Clock, list[Any]]:
    clock, specs = Clock(), runs(n)
    tally = SweepTally(clock)
    tally.begin(specs, specs[n_finished:])
    return tally, clock, specs


def test_the_rate_is_that_of_this_sitting() -> None:
    """A run resumed at 900 has played 50 in 10 s: another 1,050 take 210 s, not 11."""
    tally, clock, specs = tally_of(2)
    clock.now = 10.0
    tally.progress(specs[0].id, RunProgress(950, 5.0, resumed_at=900))
    assert tally.time_left() == "3 min 30 s left"
    clock.now = 20.0
    tally.finished(specs[0], CompletedRun(Outcome({}, {}), 500.0, resumed_at=900))
    assert tally.time_left() == "3 min 20 s left"  # 1,000 at 100 in 20 s


def test_failed_and_found_runs_are_not_left() -> None:
    tally, clock, specs = tally_of(4, n_finished=1)
    clock.now = 10.0
    tally.progress(specs[1].id, RunProgress(500, 50.0))
    assert tally.time_left() == "50 s left"  # 2,500 at 50 a second
    tally.settled(specs[2])
    assert tally.time_left() == "30 s left"
    tally.settled(specs[3])
    assert (tally.n_done, tally.n_runs) == (3, 4)
    assert tally.time_left() == "10 s left"
    tally.finished(specs[1], CompletedRun(Outcome({}, {}), 20.0))
    assert tally.time_left() == ""


def test_a_lost_run_is_left_again_and_its_work_was_done() -> None:
    tally, clock, specs = tally_of(1)
    clock.now = 10.0
    tally.progress(specs[0].id, RunProgress(500, 50.0))
    tally.lost(specs[0])
    assert tally.time_left() == "20 s left"  # all 1,000 at 50 a second
    clock.now = 20.0
    tally.progress(specs[0].id, RunProgress(700, 50.0, resumed_at=200))
    assert tally.time_left() == "6 s left"  # 300 at 1,000 in 20 s
    tally.finished(specs[0], CompletedRun(Outcome({}, {}), 20.0, resumed_at=200))
    assert tally.time_left() == ""


def test_runs_of_different_lengths_are_counted_by_their_episodes() -> None:
    """The finished run is one of two, and a thousandth of the episodes."""
    short, long = one_run(n_episodes=10), one_run(n_episodes=10_000)
    clock = Clock()
    tally = SweepTally(clock)
    tally.begin([short, long], [long])
    clock.now = 1.0
    tally.progress(long.id, RunProgress(100, 100.0))
    assert tally.time_left() == "1 min 39 s left"
