"""Choose how the progress of a sweep is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from advmdp.cli.terminal.json_events import JSONWatcher
from advmdp.cli.terminal.screen import is_live
from advmdp.cli.terminal.sweep_watchers import BarWatcher, LineWatcher, QuietWatcher


@contextmanager
def following(*, quiet: bool, as_json: bool) -> Iterator[Any]:
    """A watcher for ``run_all``: bars on a terminal, lines elsewhere; or JSON, or nothing."""
    console = Console(highlight=False)
    if as_json:
        yield JSONWatcher()
    elif quiet:
        yield QuietWatcher(console)
    elif is_live(console):
        watcher = BarWatcher(console)
        with watcher.bars:
            yield watcher
    else:
        yield LineWatcher(console)
