"""What a run looks like on a screen: progress while it plays, a summary when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table

from advmdp.evaluation.run import Run
from advmdp.play import Progress

Report = Callable[[Progress], None]
Followers = Callable[[str], Report | None]
"""From the name of a run to what ``play(progress=...)`` takes."""

BEST = "best fixed policy"
FEW = 100  # episodes that say nothing about a trend
LESS = 0.75  # the second half of a run adds less than this share of the first: the curve bends


def is_live(console: Console) -> bool:
    """Whether lines can be redrawn; a pipe, a file or a dumb terminal gets plain lines."""
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def waiting(console: Console, message: str, *, quiet: bool) -> Iterator[None]:
    """Say what is being waited for: a spinner on a terminal, one line elsewhere."""
    if quiet:
        yield
    elif is_live(console):
        with console.status(message, spinner="line"):
            yield
    else:
        console.print(message, highlight=False, soft_wrap=True)
        yield


@contextmanager
def followed(console: Console, n_episodes: int, *, quiet: bool) -> Iterator[Followers]:
    """Show runs of ``n_episodes`` while they play: live bars on a terminal, lines elsewhere."""
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
    """One line for every tenth of the run."""
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


def duration(seconds: float) -> str:
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def comparison_table(learner_name: str, learner: Run, baseline_name: str, baseline: Run) -> Table:
    """A learner, a baseline and the best fixed policy, which all met the same losses."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("learner", no_wrap=True)
    baseline_share = f"% of\n{baseline_name.split()[0]}'s"
    for heading in (
        "total\nloss",
        "loss per\nepisode",
        "regret",
        baseline_share,
        "episodes\nper s",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    n_episodes = int(learner.episodes[-1])
    rows = (
        (baseline_name, baseline.expected_loss[-1], baseline.regret[-1], baseline.seconds),
        (learner_name, learner.expected_loss[-1], learner.regret[-1], learner.seconds),
        (BEST, learner.best_loss[-1], 0.0, None),  # known in hindsight only: nobody played it
    )
    for name, loss, regret, seconds in rows:
        table.add_row(
            name,
            f"{loss:z,.0f}",
            f"{loss / n_episodes:.3f}",
            f"{regret:z,.0f}",
            _percentage(regret, baseline.regret[-1]),
            "-" if seconds is None else f"{n_episodes / max(seconds, 1e-9):z,.0f}",
            style="bold" if name == learner_name else None,
        )
    return table


def certificate_table(run: Run) -> Table | None:
    """What vouches for the steps of a learner that projects; None for the others."""
    if run.solver is None:
        return None
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    if run.epoch is not None:
        table.add_row("epochs", f"{int(run.epoch[-1]):,}")
    # A projection without a certificate stops the run, so all that were made are certified.
    done = f"{run.solver.projections:,}"
    table.add_row("projections certified", f"{done} of {done}")
    table.add_row("worst flow residual", f"{run.solver.worst_residual:.1e}")
    table.add_row("worst duality gap", f"{run.solver.worst_gap:.1e}")
    return table


def in_plain_words(learner_name: str, learner: Run, baseline_name: str, baseline: Run) -> str:
    """What the figures say, for those who see such a run for the first time."""
    n_episodes = int(learner.episodes[-1])
    total = float(learner.regret[-1])
    share = _percentage(total, baseline.regret[-1])
    if share == "-":
        return "All policies lose the same in this world: there is nothing to learn."
    lost = f"{abs(total):,.0f} {'less' if total < 0.0 else 'more'}"
    what = f"{learner_name} lost {lost} than the {BEST}, {share} of the {baseline_name}'s regret."
    if n_episodes < FEW:
        return f"{what} So short a run shows no trend."
    first = float(np.interp(n_episodes / 2, learner.episodes, learner.regret))
    second = total - first
    halves = f"The first half of the run added {first:z,.0f} to that, the second {second:z,.0f}"
    if second < LESS * first:
        return f"{what} {halves}: the curve bends, for it falls behind more and more slowly."
    return f"{what} {halves}: no bend to be seen, a longer run may show one."


def _percentage(part: float, whole: float) -> str:
    # A world in which every policy is as good as any other leaves nothing to compare.
    return f"{100 * part / whole:.1f}%" if whole > 1e-9 else "-"
