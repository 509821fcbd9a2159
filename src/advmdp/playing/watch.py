"""What looks up from the loops of ``play``: observers, progress, snapshots."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from advmdp.evaluation.account import EvaluationPoint
from advmdp.evaluation.observations import Observer
from advmdp.evaluation.recorder import Recorder, Snapshot
from advmdp.learners.base import HasEpochs, offers
from advmdp.playing.late_queue import LateQueue
from advmdp.playing.snapshots import stateful
from advmdp.world.loss_streams import LossStream

SLICE_SECONDS = 0.2  # how long compiled code runs before Python looks up


class Progress(NamedTuple):
    """What ``play(progress=...)`` reports."""

    episodes: int
    episodes_per_second: float
    account: EvaluationPoint
    epoch: int | None


Keep = Callable[[int, Callable[[], Snapshot]], None]
"""``keep(episodes, snapshot)``; ``snapshot()`` copies all that ``play(resume=...)`` needs."""


class Watch:
    """Looks up from the loop: the observer, ``Progress`` a few times a second, and ``keep``."""

    def __init__(
        self,
        recorder: Recorder,
        stream: LossStream,
        progress: Callable[[Progress], None] | None,
        keep: Keep | None,
        observer: Observer,
        queue: LateQueue | None,
    ) -> None:
        self._recorder, self._stream, self._progress, self._keep = recorder, stream, progress, keep
        self._queue = queue
        self.observer = observer
        self._first = recorder.episodes
        self._begin = self._next = time.perf_counter()

    @property
    def looks_at_checkpoints(self) -> bool:
        """Whether somebody wants to see the learner itself at every checkpoint."""
        return self._keep is not None or self.observer.looks_at_checkpoints

    def __call__(self, episodes: int, *, last: bool) -> None:
        self.observer(episodes)
        now = time.perf_counter()
        if self._progress is not None and (last or now >= self._next):
            self._next = now + SLICE_SECONDS / 2
            rate = (episodes - self._first) / max(now - self._begin, 1e-9)
            learner = self._recorder.learner
            epoch = learner.epoch if offers(learner, HasEpochs) else None
            self._progress(Progress(episodes, rate, self._recorder.evaluate(), epoch))
        if self._keep is not None:
            self._keep(episodes, lambda: self._snapshot(episodes))

    def _snapshot(self, episodes: int) -> Snapshot:
        parts = {
            "losses": stateful(self._stream).state(),
            "learner": stateful(self._recorder.learner).state(),
            "late": {} if self._queue is None else self._queue.state(),
        }
        named = {
            f"{part}.{name}": a for part, arrays in parts.items() for name, a in arrays.items()
        }
        return named | self._recorder.state(episodes)
