"""Remove runs from a store, bring in those of another, and clear away what nobody needs.

A run that is being played is never touched.  Every removal is one rename first: a reader finds the
run whole or not at all.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from advmdp.checks.numbers import shown
from advmdp.errors import DamagedFile, InvalidInput
from advmdp.evaluation.schema import FINISHED
from advmdp.files.atomic import sync_folder, write_atomically
from advmdp.files.plain import read_plain
from advmdp.store import manifest as manifests
from advmdp.store.folder import (
    ABANDONED_SECONDS,
    PARTIAL,
    REMOVED,
    RUNS,
    WORK,
    remove_leftovers,
    storage_failure,
)
from advmdp.store.run_lock import RunLock
from advmdp.store.store import Store

DAMAGED_RUNS = "damaged"
log = logging.getLogger(__name__)


class Merged(NamedTuple):
    """How a merge went, in numbers of runs."""

    added: int
    found: int
    """Runs that the store had already."""
    left_out: int
    """Damaged runs of the other store, and runs that are not finished."""


def remove_runs(store: Store, names: Iterable[str]) -> int:
    """Remove runs, finished or not; how many were there.  One that is being played is refused."""
    removed = 0
    for name in names:
        if name != os.path.basename(name) or name.startswith("."):
            raise InvalidInput(
                f"{shown(name)} is not the id of a run; see 'advmdp ls {store.path}'", field="run"
            )
        lock = _locked(store, name)
        if lock is None:
            raise InvalidInput(f"{name} is being played; stop its sweep first", field="run")
        finished = store.path / RUNS / name
        removed += finished.exists() or (lock.folder / manifests.NAME).exists()
        _discard(finished, store)
        store.drop(lock)
    return removed


def merge_stores(store: Store, other: Store) -> Merged:
    """Copy the finished runs of another store, checked file by file; it stays as it is."""
    if os.path.realpath(store.path) == os.path.realpath(other.path):
        raise InvalidInput(f"{other.path} is the store itself; give another", field="other")
    added = found = left_out = 0
    for manifest in other.manifests():
        name = manifest["run"]
        if (store.path / RUNS / name).exists():
            found += 1
        elif manifest["status"] != FINISHED or not _copied(other.path / RUNS / name, store):
            left_out += 1
        else:
            added += 1
    sync_folder(store.path / RUNS)
    return Merged(added, found, left_out)


def collect_garbage(store: Store) -> int:
    """Remove damaged runs, abandoned drafts and the working folders of finished runs.

    Returns the number of bytes that were freed.
    """
    before = _size(store.path)
    _discard(store.path / DAMAGED_RUNS, store)
    for folder in _names(store.path / WORK):
        if (store.path / RUNS / folder).exists():
            lock = _locked(store, folder)
            if lock is not None:
                store.drop(lock)
    for place in (store.path, store.path / WORK):
        for ending in (PARTIAL, REMOVED):
            age = 0.0 if ending == REMOVED else ABANDONED_SECONDS
            remove_leftovers(place, ending, min_age=age)
    return before - _size(store.path)


def _locked(store: Store, name: str) -> RunLock | None:
    folder = store.path / WORK / name
    try:
        return RunLock.acquire(folder)
    except OSError as problem:
        raise storage_failure(folder, problem) from None


def _copied(folder: Path, store: Store) -> bool:
    """Copy one finished run in one step; False if it is damaged."""
    try:
        manifest = manifests.read(folder)
        files = {name: read_plain(folder / name) for name in manifest["files"]}
        for name, data in files.items():
            if manifests.checksum(data) != manifest["files"][name]:
                raise DamagedFile(f"{folder / name}: the checksum does not match")
    except (DamagedFile, OSError) as problem:
        log.warning("%s; left out", problem)
        return False
    draft = store.path / WORK / f".{secrets.token_hex(8)}{PARTIAL}"
    try:
        draft.mkdir(parents=True)
        for name, data in files.items():
            write_atomically(draft / name, [data])
        write_atomically(draft / manifests.NAME, [manifests.encode(manifest)])
        draft.rename(store.path / RUNS / manifest["run"])
    except OSError as problem:
        shutil.rmtree(draft, ignore_errors=True)
        raise storage_failure(draft, problem) from None
    return True


def _discard(folder: Path, store: Store) -> None:
    """Remove a folder: renamed first to a name that the next opening would clear away."""
    aside = store.path / WORK / f".{folder.name}.{secrets.token_hex(4)}{REMOVED}"
    try:
        folder.rename(aside)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise storage_failure(folder, problem) from None
    shutil.rmtree(aside, ignore_errors=True)


def _names(folder: Path) -> Iterator[str]:
    if folder.is_dir():
        yield from sorted(name for name in os.listdir(folder) if not name.startswith("."))


def _size(folder: Path) -> int:
    """Bytes of all files, also hidden ones."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except FileNotFoundError:  # a run went on meanwhile
                continue
    return total
