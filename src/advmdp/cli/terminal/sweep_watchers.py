"""The progress of a sweep: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from advmdp.cli.terminal.sweep_tally import SweepTally
from advmdp.experiments.engines.results import CompletedRun, RunProgress
from advmdp.experiments.runner import Watcher
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.specs.rewards import RewardsSpec
from advmdp.plain_text import plain_text
from advmdp.reports.tables.table_data import number_text

HEARTBEAT_SECONDS = 30.0  # between lines about runs under way, where nothing can be redrawn
REFRESH_SECONDS = 0.1  # between updates of the estimate of the time left
MOST_SHOWN = 20  # runs under way; a batch on a GPU has thousands


class QuietWatcher(Watcher):
    """Shows nothing of a sweep."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, message: str) -> None:
        """Print a line."""
        self._console.print(Text(plain_text(message)), soft_wrap=True)


class CountingWatcher(QuietWatcher):
    """Keeps count; the part that bars and lines share."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._tally = SweepTally()
        self._rewards: dict[str, RewardsSpec | None] = {}

    def begin(self, specs: Sequence[RunSpec], unfinished: Sequence[RunSpec]) -> None:
        self._tally.begin(specs, unfinished)
        if self._tally.n_done:
            self.say(f"{self._tally.n_done} of {len(specs)} runs are in the store already")

    def started(self, spec: RunSpec) -> None:
        self._rewards[spec.id] = spec.rewards

    def progress(self, run: str, progress: RunProgress) -> None:
        self._tally.progress(run, progress)

    def finished(self, spec: RunSpec, completed: CompletedRun) -> None:
        self._tally.finished(spec, completed)

    def found(self, spec: RunSpec) -> None:
        self._tally.settled(spec)

    def failed(self, spec: RunSpec, reason: str) -> None:
        self._tally.settled(spec)

    def lost(self, spec: RunSpec) -> None:
        self._tally.lost(spec)

    def stopping(self) -> None:
        self.say("stopping: the runs under way write their checkpoints")

    def figures(self, run: str, progress: RunProgress) -> str:
        """The rate, the regret and the epoch of a run under way."""
        parts = [f"{progress.episodes_per_second:z,.0f} episodes/s"]
        if progress.regret is not None:
            parts.append(_regret(progress.regret, self._rewards.get(run)))
        if progress.epoch is not None:
            parts.append(f"epoch {progress.epoch}")
        return ", ".join(parts)


class LineWatcher(CountingWatcher):
    """A line for every run that ends, and for the runs under way now and then."""

    def begin(self, specs: Sequence[RunSpec], unfinished: Sequence[RunSpec]) -> None:
        super().begin(specs, unfinished)
        self._printed_at = time.perf_counter()
        self._waits = False

    def progress(self, run: str, progress: RunProgress) -> None:
        super().progress(run, progress)
        if time.perf_counter() - self._printed_at < HEARTBEAT_SECONDS:
            return
        under_way = self._tally.under_way
        for name, latest in list(under_way.items())[:MOST_SHOWN]:
            self._line(f"{name}: {self.figures(name, latest)}")
        if len(under_way) > MOST_SHOWN:
            others = f"{len(under_way) - MOST_SHOWN:,} more runs under way"
            self._line(others, self._tally.time_left())

    def finished(self, spec: RunSpec, completed: CompletedRun) -> None:
        super().finished(spec, completed)
        self._line(
            f"{self._count()} {spec.id}: {_result(spec, completed)}", self._tally.time_left()
        )

    def failed(self, spec: RunSpec, reason: str) -> None:
        super().failed(spec, reason)
        self._line(f"{self._count()} {spec.id}: failed: {reason}")

    def elsewhere(self, n_runs: int) -> None:
        if not self._waits:
            self._waits = True
            self._line(f"waiting for {n_runs} runs that another sweep plays")

    def _count(self) -> str:
        return f"[{self._tally.n_done}/{self._tally.n_runs}]"

    def _line(self, *parts: str) -> None:
        self._printed_at = time.perf_counter()
        self.say(", ".join(filter(None, parts)))


class BarWatcher(CountingWatcher):
    """A bar for all runs together and one for each of the runs under way."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._n_episodes: dict[str, int] = {}

    def begin(self, specs: Sequence[RunSpec], unfinished: Sequence[RunSpec]) -> None:
        super().begin(specs, unfinished)
        for old in self.bars.task_ids:
            self.bars.remove_task(old)
        self._tasks.clear()
        self._all = self.bars.add_task("all runs", total=self._tally.n_runs, figures="")
        self._refresh()

    def started(self, spec: RunSpec) -> None:
        super().started(spec)
        self._n_episodes[spec.id] = spec.n_episodes

    def progress(self, run: str, progress: RunProgress) -> None:
        super().progress(run, progress)
        if run not in self._tasks and len(self._tasks) < MOST_SHOWN:
            total = self._n_episodes.get(run)
            self._tasks[run] = self.bars.add_task(run, total=total, figures="")
        if run in self._tasks:
            figures = plain_text(self.figures(run, progress))
            self.bars.update(self._tasks[run], completed=progress.episodes, figures=figures)
        if time.perf_counter() - self._refreshed_at >= REFRESH_SECONDS:
            self._refresh()

    def finished(self, spec: RunSpec, completed: CompletedRun) -> None:
        super().finished(spec, completed)
        self._end(spec)

    def found(self, spec: RunSpec) -> None:
        super().found(spec)
        self._end(spec)

    def failed(self, spec: RunSpec, reason: str) -> None:
        super().failed(spec, reason)
        self.say(f"{spec.id}: failed: {reason}")
        self._end(spec)

    def lost(self, spec: RunSpec) -> None:
        super().lost(spec)
        self._end(spec)

    def _end(self, spec: RunSpec) -> None:
        if spec.id in self._tasks:
            self.bars.remove_task(self._tasks.pop(spec.id))
        self._refresh()

    def _refresh(self) -> None:
        self._refreshed_at = time.perf_counter()
        left = self._tally.time_left()
        self.bars.update(self._all, completed=self._tally.n_done, figures=left)


def _regret(regret: float, rewards: RewardsSpec | None) -> str:
    """In rewards if the spec has a range."""
    if rewards is None:
        return f"regret {regret:z,.0f}"
    return f"regret {number_text(rewards.range.span * regret)} {rewards.unit}"


def _result(spec: RunSpec, completed: CompletedRun) -> str:
    """The regret of a finished run and the rate of this sitting."""
    seconds = completed.seconds - completed.resumed_seconds
    rate = (spec.n_episodes - completed.resumed_at) / max(seconds, 1e-9)
    resumed = f", resumed after {completed.resumed_at:,}" if completed.resumed_at else ""
    regret = _regret(completed.outcome.figures["regret"], spec.rewards)
    return f"{regret}, {rate:,.0f} episodes/s{resumed}"
