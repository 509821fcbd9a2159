"""An append-only file of events, each with a checksum: what was written survives any kill.

An event is a line of JSON behind its length and its CRC-32.  A process that is killed while it
writes leaves a part of an event at the end, which is cut off when the file is opened again; damage
anywhere else is told.  ``append`` hands an event to the system, which survives the end of the
process; ``sync`` waits until the disk has it, once for all threads that wait.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import zlib
from pathlib import Path
from typing import Any

from advmdp.errors import DamagedFile, StorageFailure
from advmdp.files.plain import open_plain, read_plain

MAGIC = b"\x93ADVLOG\n"
LONGEST = 2**28  # bytes of an event; longer ones are damage
_FRAME = struct.Struct("<II")
Event = dict[str, Any]
_encoded = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Journal:
    """One file, open for appending."""

    def __init__(self, path: Path) -> None:
        """Open or create; an incomplete event at the end is cut off, see ``events``."""
        self.path = path
        self._writing, self._syncing = threading.Lock(), threading.Lock()
        self.events, complete = _read(path)
        """What the file held when it was opened."""
        try:
            self._file = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW)
            os.ftruncate(self._file, complete)
            os.lseek(self._file, complete, os.SEEK_SET)
            if complete == 0:
                _write(self._file, MAGIC)
                complete = len(MAGIC)
        except OSError as error:
            raise _failure(path, error) from error
        self.written = self._synced = complete
        """Bytes handed to the system."""
        self._is_closed = False

    def append(self, *events: Event) -> int:
        """Write events, all at once; returns the position to ``sync``.

        If the system refuses a part of them, the file is cut back to what it was.
        """
        texts = [_encoded(event).encode() for event in events]
        data = b"".join(_FRAME.pack(len(text), zlib.crc32(text)) + text for text in texts)
        with self._writing:
            try:
                _write(self._file, data)
            except OSError as error:
                os.ftruncate(self._file, self.written)
                os.lseek(self._file, self.written, os.SEEK_SET)
                raise _failure(self.path, error) from error
            self.written += len(data)
            return self.written

    def sync(self, position: int) -> None:
        """Wait until everything up to ``position`` is on the disk; threads share the wait."""
        with self._syncing:
            if self._synced >= position or self._is_closed:  # a snapshot has it
                return
            written = self.written
            try:
                os.fsync(self._file)
            except OSError as error:
                raise _failure(self.path, error) from error
            self._synced = written

    def close(self) -> None:
        """Nothing more is written: a snapshot has everything."""
        with self._writing, self._syncing:
            self._is_closed = True
            os.close(self._file)


def _read(path: Path) -> tuple[list[Event], int]:
    """The complete events, and where they end."""
    try:
        data = read_plain(path) if path.exists() else b""
    except OSError as error:
        raise StorageFailure(f"{path}: cannot be read ({error.strerror})") from error
    if not data.startswith(MAGIC):
        if MAGIC.startswith(data):  # killed while it was created
            return [], 0
        raise DamagedFile(f"{path}: not a journal of advmdp; restore it from a copy")
    events: list[Event] = []
    position = len(MAGIC)
    while position + _FRAME.size <= len(data):
        length, checksum = _FRAME.unpack_from(data, position)
        begin = position + _FRAME.size
        if length > LONGEST:
            raise _damage(path, position)
        if begin + length > len(data):
            break  # killed while it was written
        text = data[begin : begin + length]
        if zlib.crc32(text) != checksum:
            if begin + length == len(data):
                break  # the last one, whose pages came to the disk in part
            raise _damage(path, position)
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            raise _damage(path, position) from None
        if not isinstance(event, dict):
            raise _damage(path, position)
        events.append(event)
        position = begin + length
    return events, position


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _damage(path: Path, position: int) -> DamagedFile:
    return DamagedFile(
        f"{path}: damaged at byte {position}, before its end; restore it from a copy"
    )


def _failure(path: Path, error: OSError) -> StorageFailure:
    return StorageFailure(f"{path}: cannot be written ({error.strerror or error})")
