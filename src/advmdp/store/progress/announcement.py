"""What a sweep is going to play: a file in the store, for as long as the sweep lasts.

The store holds runs that are finished, under way or failed; those that wait for a core are known to
the sweep alone, until it says so here.  The file is locked by the sweep's process: one that nobody
holds was left behind by a process that was killed, and counts for nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from advmdp.files.plain import open_plain
from advmdp.store.folder import WORK
from advmdp.store.identity import Identity

BEGINNING, ENDING = ".sweep-", ".json"
MOST_RUNS = 20_000  # that are named; of more, the first
LARGEST = 2**24  # bytes of a file that is read
MOST_FILES = 64


class AnnouncedRun(NamedTuple):
    """A run that a living sweep plays, or is going to: the fields of an ``Identity``."""

    run: str
    learner: str
    mdp: str
    losses: str
    n_episodes: int
    seed: int
    replicate: int


TYPES = (str, str, str, str, int, int, int)
"""Of the fields of an ``AnnouncedRun``."""


class HasIdentity(Protocol):
    """A spec."""

    def identity(self) -> Identity:
        """What a store records of it."""


@contextmanager
def announced(store: Path, specs: Sequence[HasIdentity]) -> Iterator[None]:
    """During the block, the store says which runs are going to be played.

    A disk that refuses does not stop the sweep: it is merely not announced.
    """
    named = [spec.identity() for spec in specs[:MOST_RUNS]]
    runs = [[getattr(one, field) for field in AnnouncedRun._fields] for one in named]
    digest = hashlib.sha256("\n".join(one.hash for one in named).encode()).hexdigest()
    path = store / WORK / f"{BEGINNING}{digest[:16]}{ENDING}"
    descriptor = None
    with suppress(OSError):
        _remove_abandoned(store / WORK)
        descriptor = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused: the same sweep runs twice
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"runs": runs}).encode(), 0)
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            os.close(descriptor)


def announced_runs(store: Path) -> list[AnnouncedRun]:
    """The runs of all sweeps that are under way, without repetition; nothing is waited for."""
    found: dict[str, AnnouncedRun] = {}
    for path in _files(store / WORK):
        try:
            descriptor = open_plain(path)
        except OSError:
            continue
        with open(descriptor, "rb") as file:
            if _is_held(descriptor):
                found |= {one.run: one for one in _runs_in(file.read(LARGEST))}
    return list(found.values())


def _runs_in(text: bytes) -> Iterator[AnnouncedRun]:
    try:
        listed = json.loads(text)["runs"]
    except (ValueError, KeyError, TypeError, RecursionError):  # it is being written, or not ours
        return
    for entry in listed[:MOST_RUNS] if isinstance(listed, list) else ():
        if isinstance(entry, list) and tuple(map(type, entry)) == TYPES:
            yield AnnouncedRun(*entry)


def _files(work: Path) -> list[Path]:
    try:
        with os.scandir(work) as entries:
            names = [e.name for e in entries if e.name.startswith(BEGINNING)]
    except OSError:
        return []
    return [work / name for name in sorted(names)[:MOST_FILES] if name.endswith(ENDING)]


def _remove_abandoned(work: Path) -> None:
    for path in _files(work):
        descriptor = open_plain(path)
        try:
            if not _is_held(descriptor):
                path.unlink()
        finally:
            os.close(descriptor)


def _is_held(descriptor: int) -> bool:
    """Whether the process that made the file lives; readers do not count."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False
