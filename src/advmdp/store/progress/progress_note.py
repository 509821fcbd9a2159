"""How far a run under way is: a small file beside its checkpoints, renewed about once a second.

A checkpoint holds everything that a run is resumed from, which is too much to write every second; a
note holds what somebody who watches wants to see: the episodes, the time, and the curves so far.
Nothing is ever computed from it, so it is neither synchronised nor checked by a sum, and a disk
that refuses it does not stop the run.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.files.plain import open_plain
from advmdp.store.folder import PARTIAL

NAME = "progress.json"
SECONDS = 1.0  # between two notes of a run; the first comes after half of it
MOST_POINTS = 1000  # of a curve in a note
LARGEST = 2**20  # bytes; a longer file is not a note
TOTALS = ("expected_loss", "realised_loss", "best_loss")
"""The columns of ``evaluation.schema`` that every note has."""
OPTIONAL = ("epoch", "mean_width")
LONGEST = 1e12  # seconds


class ProgressNote(NamedTuple):
    """A note that was read back."""

    episodes: int
    seconds: float
    """Time spent on these episodes, over all sittings."""
    now: tuple[float, ...] | None
    """``TOTALS`` after these episodes; None in a batch on a GPU, which knows them at the end."""
    curves: dict[str, NDArray[np.float64]]
    """``episodes``, ``TOTALS`` and perhaps ``OPTIONAL`` at the evaluation points so far."""

    @property
    def regret(self) -> float | None:
        """Expected loss minus that of the best fixed policy so far."""
        return None if self.now is None else self.now[0] - self.now[2]


class NoteWriter:
    """Collects the points of a run and writes its notes.

    ``every_point`` are the evaluation points of the whole run: of very many, some are left out, and
    the same ones in all runs that have these points, so that their curves can be averaged.
    """

    def __init__(
        self,
        folder: Path,
        run_hash: str,
        every_point: NDArray[np.int64],
        seconds: float | None = None,
    ) -> None:
        self._folder, self._hash = folder, run_hash
        self._seconds = SECONDS if seconds is None else seconds
        step = -(-len(every_point) // MOST_POINTS)
        self._wanted = set(every_point[::step].tolist())
        self._curves: dict[str, list[float]] = {name: [] for name in ("episodes", *TOTALS)}
        self._due = time.monotonic() + self._seconds / 2

    def add(self, episodes: int, figures: dict[str, float]) -> None:
        """The figures at an evaluation point, which come in order."""
        if episodes in self._wanted:
            for name, value in {"episodes": episodes, **figures}.items():
                self._curves.setdefault(name, []).append(value)

    def write(self, episodes: int, seconds: float, now: tuple[float, ...] | None) -> None:
        """Renew the note if it is time."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._seconds
        note = {"hash": self._hash, "episodes": episodes, "seconds": seconds, "now": now}
        draft = self._folder / f".{NAME}{PARTIAL}"  # one process at a time plays the run
        with suppress(OSError):
            draft.write_text(json.dumps({**note, "curves": self._curves}, separators=(",", ":")))
            os.replace(draft, self._folder / NAME)


def read_note(folder: Path, run_hash: str) -> ProgressNote | None:
    """The note in the working folder of a run; None without a proper one."""
    try:
        with open(open_plain(folder / NAME), "rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            return None
        note = json.loads(text)
        return _checked(note) if note["hash"] == run_hash else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None


def _checked(note: Any) -> ProgressNote:
    """The note, if its values are such as a run has; ``ValueError`` otherwise."""
    episodes, seconds = note["episodes"], note["seconds"]
    now = None if note["now"] is None else tuple(float(value) for value in note["now"])
    given = note["curves"]
    curves = {name: np.array(given[name], dtype=np.float64) for name in ("episodes", *TOTALS)}
    there = curves["episodes"]
    for name in OPTIONAL:
        values = np.array(given.get(name, ()), dtype=np.float64)
        if values.shape == there.shape and bool(np.isfinite(values).all()):
            curves[name] = values
    proper = (
        type(episodes) is int
        and 0 < episodes < 2**63
        and type(seconds) in (int, float)
        and 0.0 <= seconds < LONGEST
        and (now is None or (len(now) == len(TOTALS) and bool(np.isfinite(now).all())))
        and all(values.shape == there.shape for values in curves.values())
        and there.ndim == 1
        and all(bool(np.isfinite(values).all()) for values in curves.values())
        and bool((np.diff(there, prepend=0.0) > 0.0).all())
        and not (len(there) and there[-1] > episodes)
    )
    if not proper:
        raise ValueError("not a note")
    return ProgressNote(episodes, seconds, now, curves)
