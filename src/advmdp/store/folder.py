"""The folder of a store: create it, open it, or reject it with a one-line error."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from advmdp.errors import DamagedFile, InvalidInput, StorageFailure
from advmdp.files.atomic import write_atomically
from advmdp.files.plain import read_plain

SCHEMA = 1
SUBFOLDERS = RUNS, WORK = "runs", "work"
PARTIAL = ".partial"  # ending of the names of drafts, see ``advmdp.files.atomic``
ABANDONED_SECONDS = 86_400.0  # after which the draft of a file that has no lock is abandoned
REMOVED = ".removed"  # ending of the names of folders that are being removed


def open_folder(path: Path, create: bool) -> None:
    """Check that a store of a known schema is there; with ``create``, make what is missing."""
    marker = path / "store.json"
    if create and not marker.exists():
        _create(path, marker)
    schema = _schema(marker)
    if schema > SCHEMA:
        raise InvalidInput(
            f"{path} has schema {schema}, this advmdp reads up to {SCHEMA}; use a newer advmdp",
            field="store",
        )
    for folder in (path / name for name in SUBFOLDERS):
        if folder.exists() and not folder.is_dir():
            raise DamagedFile(f"{folder} is not a folder; move it away", field="store")
        if create:
            make_folder(folder)
    if create:
        remove_leftovers(path / WORK, REMOVED)  # what a killed process was removing
        for folder in (path, path / WORK):  # what a killed process was writing
            remove_leftovers(folder, PARTIAL, min_age=ABANDONED_SECONDS)


def _create(path: Path, marker: Path) -> None:
    """Write the marker first: a process killed in between leaves a store or an empty folder."""
    if path.exists() and (not path.is_dir() or any(map(_is_foreign, os.listdir(path)))):
        raise InvalidInput(f"{path} exists and is not a store; give a new folder", field="store")
    make_folder(path)
    write_atomically(marker, [json.dumps({"schema": SCHEMA}).encode() + b"\n"])


def _schema(marker: Path) -> int:
    """The schema version of a store."""
    try:
        schema = json.loads(read_plain(marker))["schema"]
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidInput(
            f"{marker.parent} is not a store; give the folder of one, or create it with "
            "'advmdp run' or 'advmdp sweep'",
            field="store",
        ) from None
    except PermissionError as problem:
        raise StorageFailure(
            f"{marker} cannot be read ({problem.strerror})", field="store"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        schema = None
    if type(schema) is not int or schema < 1:
        raise DamagedFile(
            f"{marker} is damaged; if the runs beside it are intact, replace it by a file "
            f'with {{"schema": {SCHEMA}}}',
            field="store",
        )
    return schema


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, as ``mkdir -p`` does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise storage_failure(folder, problem) from None


def storage_failure(path: Path, problem: OSError) -> StorageFailure:
    """The error to raise when the system refuses to write."""
    return StorageFailure(
        f"{path} cannot be written ({problem.strerror}); give a writable store", field="store"
    )


def remove_leftovers(place: Path, ending: str, *, min_age: float = 0.0) -> None:
    """Remove hidden folders and files with this ending that nobody has touched for ``min_age`` s.

    Without an age, call it only for names that no living process can be writing.
    """
    with os.scandir(place) as entries:
        found = [e.path for e in entries if e.name.startswith(".") and e.name.endswith(ending)]
    for path in found:
        with suppress(OSError):  # its writer, or another reader, was faster; or it is not ours
            if time.time() - os.lstat(path).st_mtime < min_age:
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)


def _is_foreign(name: str) -> bool:
    """Whether a file is not ours: anything but the draft of a marker that was not finished."""
    return not (name.startswith(".store.json.") and name.endswith(PARTIAL))
