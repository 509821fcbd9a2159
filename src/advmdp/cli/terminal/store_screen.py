"""The runs of stores on a terminal, redrawn while they are played."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from advmdp.cli.terminal.listing import runs_lines
from advmdp.cli.terminal.screen import is_live
from advmdp.display.durations import duration
from advmdp.plain_text import plain_text
from advmdp.store.frames import runs_frame
from advmdp.store.progress.live_store import LiveStore
from advmdp.store.progress.under_way import position
from advmdp.web.page.sweep_counts import ORDER, WAITING, seconds_left, tally, watched_cells

TICK_SECONDS = 1.0


def watch_stores(paths: Sequence[Path]) -> None:
    """Show the stores until Ctrl-C; once, where nothing can be redrawn."""
    console = Console(highlight=False)
    stores = [LiveStore(path) for path in paths]
    if not is_live(console):
        for line in screen_lines(stores, None):
            console.print(Text(line), soft_wrap=True)
        return
    with Live(console=console, screen=True, auto_refresh=False) as live:
        try:
            while True:
                lines = list(screen_lines(stores, console.height - 1))
                live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"), refresh=True)
                time.sleep(TICK_SECONDS)
        except KeyboardInterrupt:
            return


def screen_lines(stores: Sequence[LiveStore], height: int | None) -> Iterator[str]:
    """The stores one below the other, each with its share of the lines; None: all of them."""
    share = None if height is None else max(3, height // len(stores))
    for store in stores:
        _read(store, wait=height is None)
        yield from _store_lines(store, share)


def _read(store: LiveStore, *, wait: bool) -> None:
    store.refresh()
    while wait and store.unread and store.problem is None:
        store.refresh()


def _store_lines(store: LiveStore, height: int | None) -> Iterator[str]:
    runs = [run for cell in watched_cells(store) for run in cell.runs]
    counted = tally(runs)
    parts = [f"{n:,} {status}" for status, n in counted["counts"].items()]
    left = seconds_left(runs)
    ends = [] if left is None else [f"about {duration(left)} left"]
    share = [f"{counted['share']:.0%} of all episodes"] if runs else ["no runs"]
    yield plain_text(f"{store.path}: {', '.join([*share, *parts, *ends])}")
    if store.problem is not None:
        yield plain_text(store.problem)
    begun = sorted(
        (run for run in runs if run.status != WAITING),
        key=lambda run: (ORDER.index(run.status), run.name),
    )
    shown = begun if height is None else begun[: height - 2]
    manifests = [run.live.manifest for run in shown if run.live is not None]
    positions = {
        run.name: position(note.episodes, note.seconds, run.n_episodes, note.regret)
        for run in shown
        if run.live is not None and (note := run.live.note) is not None
    }
    if manifests:
        *lines, _ = runs_lines(runs_frame(manifests), positions)  # the counts are above
        yield from lines
