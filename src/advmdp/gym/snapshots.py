"""Snapshots of a run in an environment: names and arrays, in memory or in a file.

An environment hands out no state.  What Gymnasium asks of it is that all its randomness come from
``np_random``, which is kept; one that remembers nothing else from episode to episode goes on with
the same bits.  Others, such as those with an adversary, begin anew where the run is resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import file_path, function
from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.evaluation.recorder import Snapshot
from advmdp.files.archive import read_archive, write_archive
from advmdp.playing.watch import Keep

KIND = "run in an environment"
KEEP_SECONDS = 30.0
WORD = 2**64 - 1


class KeptInFile:
    """Writes a snapshot every half a minute, and whenever it is told that it is the last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = time.monotonic() + KEEP_SECONDS

    def __call__(
        self, episodes: int, snapshot: Callable[[], Snapshot], *, last: bool = False
    ) -> None:
        if last or time.monotonic() >= self._next:
            write_archive(self._path, KIND, {"episodes": episodes}, snapshot())
            self._next = time.monotonic() + KEEP_SECONDS


def checked_keep(keep: Any) -> KeptInFile | Keep | None:
    """A file for a path, and functions as they are."""
    if isinstance(keep, str | Path):
        return KeptInFile(file_path(keep, "keep"))
    if keep is not None:
        function(keep, "keep", "keep(episodes, snapshot), or the path of a file")
    return keep  # type: ignore[no-any-return]


def checked_snapshot(resume: Any) -> Mapping[str, NDArray[Any]] | None:
    """The snapshot of a file for its path, and mappings as they are."""
    if isinstance(resume, str | Path):
        return read_archive(file_path(resume, "resume"), KIND)[1]
    if resume is not None and not isinstance(resume, Mapping):
        raise InvalidInput(
            f"give a snapshot or the path of its file, not {shown(resume)}", field="resume"
        )
    return resume


def words_of(generator: Any) -> NDArray[np.uint64] | None:
    """The state of a generator in words; None if it is no PCG64, which Gymnasium uses."""
    bits = getattr(getattr(generator, "bit_generator", None), "state", None)
    if not isinstance(bits, dict) or bits.get("bit_generator") != "PCG64":
        return None
    numbers = [bits["state"][name] >> shift for name in ("state", "inc") for shift in (64, 0)]
    return np.array([*(n & WORD for n in numbers), bits["has_uint32"], bits["uinteger"]], np.uint64)


def set_words(generator: Any, words: NDArray[Any]) -> None:
    """Continue from what ``words_of`` returned."""
    if words.shape != (6,) or words.dtype != np.uint64:
        raise InvalidInput("resume: no state of random numbers; resume from another checkpoint")
    high, low, inc_high, inc_low, has, rest = words.tolist()
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": (high << 64) + low, "inc": ((inc_high << 64) + inc_low) | 1},
        "has_uint32": has & 1,
        "uinteger": rest & 0xFFFFFFFF,
    }


def random_of(env: Any) -> Any:
    """The generator of an environment without its wrappers, if it has one."""
    return getattr(getattr(env, "unwrapped", env), "_np_random", None)
