"""What a sweep looks like while it runs: bars, lines, JSON, or nothing.

The classes here hear what ``experiments.runner`` tells its watcher.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from advmdp.play import Progress
from advmdp.reports.console import duration, is_live
from advmdp.reports.tables.table_data import number_text

HEARTBEAT_SECONDS = 30.0  # between lines about runs under way, where nothing can be redrawn


@contextmanager
def following(*, quiet: bool, as_json: bool) -> Iterator[Any]:
    """A watcher for ``run_all``: bars on a terminal, lines elsewhere."""
    console = Console(highlight=False)
    if as_json:
        yield _JSONLines()
    elif quiet:
        yield _Count(console, quiet=True)
    elif is_live(console):
        with _bars(console) as bars:
            yield _Live(console, bars)
    else:
        yield _Lines(console)


class _Count:
    """Keeps count; what all watchers share."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self.console, self.quiet = console, quiet
        self.n_runs = self.n_found = self.n_done = 0
        self.episodes_left = self.episodes_played = 0
        self.under_way: dict[str, Progress | None] = {}
        self.rewards: dict[str, Any] = {}

    def begin(self, specs: Sequence[Any], n_finished: int) -> None:
        self.n_runs, self.n_found, self.n_done = len(specs), n_finished, n_finished
        self.episodes_left = sum(spec.n_episodes for spec in specs)
        self.episodes_played = 0  # a watcher may follow several lists of runs, one after the other
        self.started_at = time.perf_counter()
        if n_finished and not self.quiet:
            self.say(f"{n_finished} of {self.n_runs} runs are in the store already")
        if n_finished:  # an estimate of the time left needs only roughly the right share
            self.episodes_left = round(self.episodes_left * (1 - n_finished / self.n_runs))

    def started(self, spec: Any) -> None:
        self.under_way[spec.id] = None
        self.rewards[spec.id] = spec.rewards

    def progress(self, run: str, progress: Progress) -> None:
        self.under_way[run] = progress

    def figures(self, run: str, progress: Progress) -> str:
        """What to say about a run under way."""
        parts = [
            f"{progress.episodes_per_second:z,.0f} episodes/s",
            _regret(progress.account.regret, self.rewards.get(run)),
        ]
        if progress.epoch is not None:
            parts.append(f"epoch {progress.epoch}")
        return ", ".join(parts)

    def finished(self, spec: Any, ended: Any) -> None:
        self.under_way.pop(spec.id, None)
        self.n_done += 1
        self.episodes_left -= spec.n_episodes
        self.episodes_played += spec.n_episodes

    def failed(self, spec: Any, reason: str) -> None:
        self.under_way.pop(spec.id, None)
        self.n_done += 1

    def elsewhere(self, n_runs: int) -> None:
        """Said once by those who say something."""

    def stopping(self) -> None:
        if not self.quiet:
            self.say("stopping: the runs under way write their checkpoints")

    def say(self, message: str) -> None:
        self.console.print(message, soft_wrap=True)

    def time_left(self) -> str:
        """From the rate so far, all workers together."""
        seen = [p for p in self.under_way.values() if p is not None]
        played = self.episodes_played + sum(p.episodes for p in seen)
        rate = played / max(time.perf_counter() - self.started_at, 1e-9)
        left = self.episodes_left - sum(p.episodes for p in seen)
        return f"{duration(max(left, 0) / rate)} left" if played and left > 0 else ""


class _Lines(_Count):
    """One line for every run that ends, and a sign of life now and then."""

    def begin(self, specs: Sequence[Any], n_finished: int) -> None:
        super().begin(specs, n_finished)
        self.spoke_at = time.perf_counter()
        self.waiting = False

    def progress(self, run: str, progress: Progress) -> None:
        super().progress(run, progress)
        if time.perf_counter() - self.spoke_at >= HEARTBEAT_SECONDS:
            for name, latest in self.under_way.items():
                if latest is not None:
                    self._line(f"{name}: {self.figures(name, latest)}")

    def finished(self, spec: Any, ended: Any) -> None:
        super().finished(spec, ended)
        self._line(
            f"[{self.n_done}/{self.n_runs}] {spec.id}: {_result(spec, ended)}", self.time_left()
        )

    def failed(self, spec: Any, reason: str) -> None:
        super().failed(spec, reason)
        self._line(f"[{self.n_done}/{self.n_runs}] {spec.id}: failed: {reason}")

    def elsewhere(self, n_runs: int) -> None:
        if not self.waiting:
            self.waiting = True
            self._line(f"waiting for {n_runs} runs that another sweep plays")

    def _line(self, *parts: str) -> None:
        self.spoke_at = time.perf_counter()
        self.say(", ".join(filter(None, parts)))


class _Live(_Count):
    """A bar for the whole and one for every run under way."""

    def __init__(self, console: Console, bars: Bars) -> None:
        super().__init__(console)
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def begin(self, specs: Sequence[Any], n_finished: int) -> None:
        super().begin(specs, n_finished)
        for old in self._bars.task_ids:
            self._bars.remove_task(old)
        self._all = self._bars.add_task("all runs", total=self.n_runs, figures="")
        self._bars.update(self._all, completed=n_finished)

    def started(self, spec: Any) -> None:
        super().started(spec)
        self._tasks[spec.id] = self._bars.add_task(spec.id, total=spec.n_episodes, figures="")

    def progress(self, run: str, progress: Progress) -> None:
        super().progress(run, progress)
        if run in self._tasks:
            self._bars.update(
                self._tasks[run],
                completed=progress.episodes,
                figures=self.figures(run, progress),
            )
            self._bars.update(self._all, figures=self.time_left())

    def finished(self, spec: Any, ended: Any) -> None:
        super().finished(spec, ended)
        self._end(spec)

    def failed(self, spec: Any, reason: str) -> None:
        super().failed(spec, reason)
        self.say(f"{spec.id}: failed: {reason}")
        self._end(spec)

    def _end(self, spec: Any) -> None:
        self._bars.remove_task(self._tasks.pop(spec.id))
        self._bars.update(self._all, completed=self.n_done, figures=self.time_left())


def _bars(console: Console) -> Bars:
    return Bars(
        TextColumn("{task.description}", table_column=None),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        console=console,
    )


class _JSONLines:
    """One JSON object a line; progress as often as it comes.

    Regrets and losses are in losses; those in rewards, where a range is known, come beside them.
    """

    def __init__(self) -> None:
        self._rewards: dict[str, Any] = {}

    def begin(self, specs: Sequence[Any], n_finished: int) -> None:
        _emit("begin", runs=len(specs), finished=n_finished)

    def started(self, spec: Any) -> None:
        self._rewards[spec.id] = spec.rewards
        in_rewards = {"rewards": spec.rewards.model_dump()} if spec.rewards else {}
        _emit("started", run=spec.id, n_episodes=spec.n_episodes, **in_rewards)

    def progress(self, run: str, progress: Progress) -> None:
        rewards = self._rewards.get(run)
        regret = progress.account.regret
        _emit(
            "progress",
            run=run,
            episodes=progress.episodes,
            episodes_per_second=progress.episodes_per_second,
            regret=regret,
            epoch=progress.epoch,
            **({"reward_regret": rewards.range.span * regret} if rewards else {}),
        )

    def finished(self, spec: Any, ended: Any) -> None:
        played = ended.played
        _emit("finished", run=spec.id, seconds=played.seconds, **_losses(played.outcome.figures))

    def failed(self, spec: Any, reason: str) -> None:
        _emit("failed", run=spec.id, reason=reason)

    def elsewhere(self, n_runs: int) -> None:
        _emit("elsewhere", runs=n_runs)

    def stopping(self) -> None:
        _emit("stopping")


def _emit(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def _losses(figures: dict[str, Any]) -> dict[str, Any]:
    in_losses = {name: value for name, value in figures.items() if isinstance(value, float)}
    return {**in_losses, **figures.get("rewards", {})}


def _regret(regret: float, rewards: Any) -> str:
    """In rewards if the spec has a range."""
    if rewards is None:
        return f"regret {regret:z,.0f}"
    return f"regret {number_text(rewards.range.span * regret)} {rewards.unit}"


def _result(spec: Any, ended: Any) -> str:
    played = ended.played
    rate = (spec.n_episodes - played.resumed_at) / max(played.seconds, 1e-9)
    resumed = f", resumed after {played.resumed_at:,}" if played.resumed_at else ""
    regret = _regret(played.outcome.figures["regret"], spec.rewards)
    return f"{regret}, {rate:,.0f} episodes/s{resumed}"
