"""The folder of a store: created, opened, or refused in one line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from advmdp.archive import write_atomically
from advmdp.errors import DamagedFile, InvalidInput, StorageFailure

SCHEMA = 1
PARTS = ("runs", "work")
REMOVED = ".removed"  # how the name of a folder ends that is about to be


def open_folder(path: Path, create: bool) -> None:
    """Check that a store of a known form is there; on request, make what it lacks."""
    marker = path / "store.json"
    if create and not marker.exists():
        _create(path, marker)
    schema = _schema(marker)
    if schema > SCHEMA:
        raise InvalidInput(
            f"{path} has schema {schema}, this advmdp reads up to {SCHEMA}; use a newer advmdp",
            field="store",
        )
    for folder in (path / part for part in PARTS):
        if folder.exists() and not folder.is_dir():
            raise DamagedFile(f"{folder} is not a folder; move it away", field="store")
        if create:
            make_folder(folder)
    if create:
        remove_folders(path / "work", REMOVED)  # what a killed process had put aside


def _create(path: Path, marker: Path) -> None:
    """The marker first: a process killed in between leaves a store, or an empty folder."""
    if path.exists() and (not path.is_dir() or any(map(_is_foreign, os.listdir(path)))):
        raise InvalidInput(f"{path} exists and is not a store; give a new folder", field="store")
    make_folder(path)
    write_atomically(marker, [json.dumps({"schema": SCHEMA}).encode() + b"\n"])


def _schema(marker: Path) -> int:
    """The version of a store's form."""
    try:
        schema = json.loads(marker.read_bytes())["schema"]
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
    except (OSError, ValueError, KeyError, TypeError):
        schema = None
    if type(schema) is not int or schema < 1:
        raise DamagedFile(
            f"{marker} is damaged; if the runs beside it are whole, put a file with "
            f'{{"schema": {SCHEMA}}} in its place',
            field="store",
        )
    return schema


def make_folder(folder: Path) -> None:
    """As ``mkdir -p``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise refused(folder, problem) from None


def refused(path: Path, problem: OSError) -> StorageFailure:
    """What to raise when the system does not let us write."""
    return StorageFailure(
        f"{path} cannot be written ({problem.strerror}); give a store that can", field="store"
    )


def remove_folders(place: Path, ending: str) -> None:
    """Hidden folders whose names end like this."""
    with os.scandir(place) as entries:
        found = [e.path for e in entries if e.name.startswith(".") and e.name.endswith(ending)]
    for path in found:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)


def _is_foreign(name: str) -> bool:
    """Whether a file was there before: not what a killed process leaves of the marker."""
    return not (name.startswith(".store.json.") and name.endswith(".partial"))
