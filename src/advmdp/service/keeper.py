"""The folder of a service: a snapshot, and a journal of everything since.

    snapshot.am       an archive: the learner, the numbers, what is open, the journal that follows
    journal-7.log     the events after it, in order
    lock              held by the process that serves

A new snapshot names a new journal; the old one is removed after it has taken its place.  Whatever
moment a process is killed at, one of the two pairs is complete.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advmdp.errors import DamagedFile, InvalidInput, StorageFailure
from advmdp.files.archive import JSON, Arrays, read_archive, write_archive
from advmdp.files.atomic import sync_folder
from advmdp.files.plain import open_plain
from advmdp.service.journal import Event, Journal

KIND = "service"
SNAPSHOT = "snapshot.am"


def is_free(folder: Path) -> bool:
    """Whether a service can begin there: no folder, or what a first snapshot that failed left."""
    if not folder.is_dir():
        return not folder.exists()
    return all(path.name == "lock" or path.match("journal-*.log") for path in folder.iterdir())


class Keeper:
    """Writes snapshots and events; one process at a time."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is made if there is none."""
        self.folder = folder
        self._journal: Journal | None = None
        self._number = 0
        self._lock = -1
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = open_plain(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        except OSError as error:
            raise StorageFailure(f"{folder}: cannot be written ({error.strerror})") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            self._lock = -1
            raise InvalidInput(
                f"{folder}: another process serves it; stop that one first"
            ) from None

    def read(self) -> tuple[dict[str, Any], Arrays, list[Event]]:
        """The snapshot, and the events after it."""
        header, arrays = read_archive(self.folder / SNAPSHOT, KIND)
        number = header.get("journal")
        if type(number) is not int or number < 0:
            raise DamagedFile(f"{self.folder / SNAPSHOT}: names no journal; restore it from a copy")
        self._number = number
        self._journal = Journal(self._path(number))
        self._remove_others()
        return header, arrays, self._journal.events

    def snapshot(self, header: Mapping[str, JSON], arrays: Arrays) -> None:
        """Replace the snapshot, and begin a new journal."""
        number = self._number + 1
        following = Journal(self._path(number))
        following.sync(following.written)
        write_archive(self.folder / SNAPSHOT, KIND, {**header, "journal": number}, arrays)
        if self._journal is not None:
            self._journal.close()
        self._journal, self._number = following, number
        self._remove_others()

    def append(self, *events: Event) -> int:
        """Write events; the position is for ``sync``."""
        assert self._journal is not None
        return self._journal.append(*events)

    @property
    def written(self) -> int:
        """The position after everything that was appended."""
        assert self._journal is not None
        return self._journal.written

    def sync(self, position: int) -> None:
        """Wait until the disk has the event."""
        assert self._journal is not None
        self._journal.sync(position)

    def close(self) -> None:
        """Let another process serve the folder; a second time nothing happens."""
        if self._lock >= 0:
            if self._journal is not None:
                self._journal.close()
            os.close(self._lock)
            self._lock = -1

    __del__ = close

    def _path(self, number: int) -> Path:
        return self.folder / f"journal-{number}.log"

    def _remove_others(self) -> None:
        """Journals of earlier snapshots, and of one that was not finished."""
        kept = self._path(self._number)
        for path in self.folder.glob("journal-*.log"):
            if path != kept:
                path.unlink(missing_ok=True)
        sync_folder(self.folder)
