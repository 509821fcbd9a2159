"""Ctrl-C between two episodes: what was played is kept."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class Interrupts:
    """Notes a first Ctrl-C, so that a loop can end after its episode; a second one ends it at once.

    Outside of the main thread, where Python handles no signals, nothing is noted.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None
        self._watches = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._watches and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
