"""The log file of a store: one line per event, from all processes."""

from __future__ import annotations

import io
import logging
import os
from contextlib import suppress
from pathlib import Path

from advmdp.files.plain import open_plain
from advmdp.plain_text import PlainFormatter


class _StoreLog(logging.FileHandler):
    """Appends whole lines and ignores storage failures: the run itself reports those."""

    def _open(self) -> io.TextIOWrapper:
        """Open the file without waiting; a pipe in its place is a storage failure."""
        descriptor = open_plain(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        return open(descriptor, "a", encoding=self.encoding, errors=self.errors)

    def emit(self, record: logging.LogRecord) -> None:
        """Append a line; do nothing if the file cannot be opened."""
        with suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore the failure."""


def attach_log(store: Path) -> logging.Handler:
    """Send the log records of the package in this process to ``log.txt`` of a store."""
    handler = _StoreLog(store / "log.txt", delay=True)
    handler.setFormatter(PlainFormatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    logger = logging.getLogger("advmdp")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    return handler


def detach_log(handler: logging.Handler) -> None:
    """Undo ``attach_log``."""
    logging.getLogger("advmdp").removeHandler(handler)
    handler.close()
