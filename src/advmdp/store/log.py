"""The log of a store: what happened, one line each, from all processes."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path


class _StoreLog(logging.FileHandler):
    """Appends whole lines; a disk that refuses ends a run with its own message, not with this."""

    def emit(self, record: logging.LogRecord) -> None:
        """Append a line; where the file cannot even be opened, none."""
        with suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing."""


def attach_log(store: Path) -> logging.Handler:
    """Send the package's log lines to ``log.txt`` of a store, from this process."""
    handler = _StoreLog(store / "log.txt", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    logger = logging.getLogger("advmdp")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    return handler


def detach_log(handler: logging.Handler) -> None:
    """Undo ``attach_log``."""
    logging.getLogger("advmdp").removeHandler(handler)
    handler.close()
