"""The progress of single runs: live bars on a terminal, lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars

from advmdp.cli.terminal.screen import is_live
from advmdp.display.durations import duration
from advmdp.playing.watch import Progress

Report = Callable[[Progress], None]
Followers = Callable[[str], Report | None]
"""From the name of a run to the argument ``progress`` of ``play``."""


@contextmanager
def followed(console: Console, n_episodes: int, *, quiet: bool) -> Iterator[Followers]:
    """Show the progress of runs of ``n_episodes`` that are played during the block."""
    if quiet:
        yield lambda name: None
    elif is_live(console):
        bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[rate]} ep/s", justify="right"),
            TextColumn("regret {task.fields[regret]}", justify="right", style="bold"),
            TextColumn("{task.fields[epoch]}"),
            TextColumn("{task.fields[left]}", justify="right", style="dim"),
            console=console,
            expand=True,
        )
        with bars:
            yield lambda name: _bar(bars, name, n_episodes)
    else:
        yield lambda name: _lines(console, name, n_episodes)


def _bar(bars: Bars, name: str, n_episodes: int) -> Report:
    task = bars.add_task(name, total=n_episodes, rate="-", regret="-", epoch="", left="")

    def report(progress: Progress) -> None:
        bars.update(task, completed=progress.episodes, **_figures(progress, n_episodes))

    return report


def _lines(console: Console, name: str, n_episodes: int) -> Report:
    """A line for every tenth of the run."""
    tenths = 0

    def report(progress: Progress) -> None:
        nonlocal tenths
        reached = 10 * progress.episodes // n_episodes
        if reached == tenths:
            return
        tenths = reached
        figures = _figures(progress, n_episodes)
        parts = (
            f"{name}: {progress.episodes:,} of {n_episodes:,} episodes",
            f"{figures['rate']} episodes/s",
            f"regret {figures['regret']}",
            figures["epoch"],
            figures["left"],
        )
        console.print(", ".join(filter(None, parts)), highlight=False, soft_wrap=True)

    return report


def _figures(progress: Progress, n_episodes: int) -> dict[str, Any]:
    rate = progress.episodes_per_second
    to_play = n_episodes - progress.episodes
    return {
        "rate": f"{rate:z,.0f}",
        "regret": f"{progress.account.regret:z,.0f}",
        "epoch": "" if progress.epoch is None else f"epoch {progress.epoch}",
        "left": f"{duration(to_play / max(rate, 1e-9))} left" if to_play else "",
    }
