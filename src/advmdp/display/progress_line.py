"""A line of progress for ``play(progress=True)``: one that moves, or a few in a log."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

from advmdp.display.durations import duration

LOG_STEPS = 10  # lines of a whole run where the output is a file


class ProgressLine:
    """Writes how far a run is to stderr.

    On a terminal and in a notebook one line is written over and over; elsewhere, such as in a log,
    a line follows every tenth of the run.
    """

    def __init__(
        self,
        n_episodes: int,
        stream: TextIO | None = None,
        figure: Callable[[Any], str] = lambda now: f"regret {now.account.regret:,.1f}",
    ) -> None:
        self._n_episodes = n_episodes
        self._figure = figure
        self._stream = sys.stderr if stream is None else stream
        self._moves = self._stream.isatty() or "ipykernel" in sys.modules
        self._next = 0
        self._width = 0

    def __call__(self, now: Any) -> None:
        """Show a ``Progress``."""
        share = now.episodes / self._n_episodes
        last = now.episodes >= self._n_episodes
        if not self._moves and not last and share * LOG_STEPS < self._next:
            return
        self._next = int(share * LOG_STEPS) + 1
        rate = max(now.episodes_per_second, 1e-9)
        left = "" if last else f", {duration((self._n_episodes - now.episodes) / rate)} left"
        text = (
            f"{now.episodes:,} of {self._n_episodes:,} episodes ({share:.0%}), "
            f"{rate:,.0f} a second{left}, {self._figure(now)}"
        )
        padded = text.ljust(self._width)
        self._width = len(text)
        line = f"\r{padded}" + ("\n" if last else "") if self._moves else f"{text}\n"
        self._stream.write(line)
        self._stream.flush()
