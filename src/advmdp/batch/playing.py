"""``play_batch``: thousands of runs at once on a GPU."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.batch.card import is_simulated, processors, require_gpu, runs_that_fit
from advmdp.batch.columns import Block
from advmdp.batch.records import Arrays, Records
from advmdp.batch.resuming import SavedBatch, position_of
from advmdp.batch.runs import BatchRun, casts, checked_batch
from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.evaluation.run import Run, checked_checkpoints
from advmdp.kernels.learners.interface import is_cooperative
from advmdp.learners.tuning import checked_horizon

if TYPE_CHECKING:
    from advmdp.batch.wave import Wave

WARP = 32
SLICE_SECONDS = 1.0  # how long the card works before Python looks up
SAVE_SECONDS = 60.0
# Warps of one multiprocessor, before several runs share one.  They get in each other's way at
# fetching instructions; but where all threads of a warp work on its run, that is soon paid for.
WARPS_OF_ONE_THREAD, WARPS_OF_MANY = 8, 16
# Registers of a thread when warps are full: then there are runs enough, and many warps in flight
# hide the latency of memory better than a few without spilled registers.
MANY = 64


Collect = Callable[[int, int, Callable[[str], NDArray[Any]]], None]


class BatchProgress(NamedTuple):
    """What ``play_batch(progress=...)`` reports."""

    runs: int
    """Runs that are finished or being played."""
    episodes: int
    """Episodes played so far, over all runs."""
    episodes_per_second: float


class RefusedRuns(UncertifiedStep):
    """Some runs ended in a step that not even the safe path could certify; the others are whole."""

    def __init__(self, runs: list[Run | None], refused: NDArray[np.int64]) -> None:
        first = int(np.flatnonzero(refused >= 0)[0])
        super().__init__(
            f"batch: no certified projection in {int((refused >= 0).sum())} of {len(runs)} runs, "
            f"first in run {first} at episode {int(refused[first]) + 1}: "
            "lower eta or raise gamma or log_scale"
        )
        self.runs = runs
        """The results; None for a run that was refused."""
        self.refused = refused
        """For every run the episode that was refused, counted from 0, or -1."""


def play_batch(
    batch: Sequence[BatchRun],
    n_episodes: int,
    *,
    checkpoints: Any = None,
    progress: Callable[[BatchProgress], None] | None = None,
    save: Callable[[Arrays], None] | None = None,
    save_seconds: float = SAVE_SECONDS,
    resume: Mapping[str, NDArray[Any]] | None = None,
    collect: Collect | None = None,
    width: int | None = None,
    memory: int | None = None,
) -> list[Run]:
    """Play every run of a batch on the GPU and account for it exactly as ``advmdp.play`` does.

    Parameters
    ----------
    batch
        Runs of one layout, one learner class and loss processes of one shape (the same number of
        tables).  Seeds, parameters, losses and transitions may all differ.
    checkpoints
        Numbers of episodes at which the accounts are taken; log-spaced by default.
    progress
        Called about once a second with a ``BatchProgress``.
    save, save_seconds
        Called with plain arrays, at most every ``save_seconds``; keep them to ``resume``.
    resume
        What ``save`` was given last: the batch goes on from there and ends with the same bits.
    collect
        Called when runs ``begin .. end - 1`` have ended, as ``collect(begin, end, column)``:
        ``column`` reads an array of their learners' state from the card, (run, ...), by the names
        of its kernel's records ("state.0.step.measure.policy").  Not called again for runs that had
        ended before a resumed batch was cut.
    width
        Runs that share a warp: 1, 2, 4, 8, 16 or 32; chosen by the size of the batch if None.  The
        learners with a projection let all 32 threads of a warp work on its runs, the others use one
        thread for a run.
    memory
        Bytes of the card to use; most of what is free if None.  A batch that needs more is played
        in several waves.

    Raises ``NoGPU`` when there is no card for it, and ``RefusedRuns`` at the end when some runs
    could not be certified (the others are in its ``runs``).
    """
    n_episodes = checked_horizon(n_episodes)
    points = checked_checkpoints(checkpoints, n_episodes)
    runs = checked_batch(batch, n_episodes)
    require_gpu()
    block = Block(casts(runs, n_episodes), *shape_of(runs, width))
    per_wave = runs_that_fit(block.bytes_per_run, len(runs), memory)
    if resume is not None:  # waves must be cut where they were
        per_wave = min(per_wave, position_of(resume).per_wave)
    player = _Player(runs, points, block, per_wave, progress, save, save_seconds, collect)
    return player.play(resume)


def shape_of(runs: Sequence[BatchRun], width: int | None = None) -> tuple[int, int]:
    """How many runs share a warp, and how many threads each of them has.

    Few runs get a warp each; more share one, until a warp is full.
    """
    learner: Any = runs[0].learner
    together = is_cooperative(learner.compiled_loop().state[0]) and not is_simulated()
    if width is None:
        width = 1
        warps = WARPS_OF_MANY if together else WARPS_OF_ONE_THREAD
        while width < WARP and len(runs) > width * warps * processors():
            width *= 2
    elif width not in (1, 2, 4, 8, 16, 32):
        raise InvalidInput(f"width: {width!r} runs cannot share a warp; use 1, 2, 4, 8, 16 or 32")
    return width, WARP // width if together else 1


class _Player:
    """One call of ``play_batch``: waves one after the other, slices between checkpoints."""

    def __init__(
        self,
        runs: list[BatchRun],
        points: NDArray[np.int64],
        block: Block,
        per_wave: int,
        progress: Callable[[BatchProgress], None] | None,
        save: Callable[[Arrays], None] | None,
        save_seconds: float,
        collect: Collect | None,
    ) -> None:
        self._collect = collect
        self._runs, self._points, self._block, self._per_wave = runs, points, block, per_wave
        self._progress, self._save, self._save_seconds = progress, save, save_seconds
        self._records = Records(runs, points)
        from advmdp.batch.programs import programs_for

        self._programs = programs_for(block.plan, MANY if block.plan.width == WARP else None)
        self._begun = self._saved = time.perf_counter()
        self._before = 0  # episodes played before this call

    def play(self, resume: Mapping[str, NDArray[Any]] | None) -> list[Run]:
        """Everything from the start, or from where ``resume`` stopped."""
        from advmdp.batch.wave import Wave

        saved = None if resume is None else self._checked(resume)
        first = 0 if saved is None else saved.begin
        seconds = time.perf_counter()
        for begin in range(first, len(self._runs), self._per_wave):
            end = min(begin + self._per_wave, len(self._runs))
            wave = Wave(self._block, self._programs, begin, end)
            played = 0
            if saved is not None and begin == first:
                wave.restore(saved.tiles(), saved.done)
                played = saved.position.episodes
                self._before = begin * int(self._points[-1]) + played * (end - begin)
            self._play_wave(wave, played)
            self._records.finish(wave)
            if self._collect is not None:
                self._collect(begin, end, wave.column)
        return self._results(time.perf_counter() - seconds)

    def _play_wave(self, wave: Wave, played: int) -> None:
        size = 16
        for i, point in enumerate(self._points):
            while played < point:
                stop = min(int(point), played + size)
                begin = time.perf_counter()
                done = wave.play(stop)
                if time.perf_counter() - begin < SLICE_SECONDS / 2:
                    size *= 2
                played = stop
                if played == point:
                    self._records.refuse(wave, done)
                    self._records.checkpoint(wave, i)
                self._look_up(wave, played)

    def _look_up(self, wave: Wave, played: int) -> None:
        """Between two slices: report, and save if it is time to."""
        now = time.perf_counter()
        if self._progress is not None:
            total = wave.begin * int(self._points[-1]) + played * (wave.end - wave.begin)
            rate = (total - self._before) / max(now - self._begun, 1e-9)
            self._progress(BatchProgress(wave.end, total, rate))
        if self._save is not None and now - self._saved >= self._save_seconds:
            tiles, done = wave.save()
            position = {"wave": wave.begin, "episodes": played, "stamp": self._stamp()}
            position["per_wave"] = self._per_wave
            numbers = {name: np.array(value, dtype=np.int64) for name, value in position.items()}
            records = {name: array.copy() for name, array in self._records.arrays().items()}
            self._save({**numbers, "tiles": tiles, "done": done, **records})
            self._saved = time.perf_counter()

    def _stamp(self) -> int:
        """A checksum of all that a saved batch has to agree with."""
        position = zlib.crc32(np.array([self._per_wave, *self._points]).tobytes())
        return zlib.crc32(position.to_bytes(4, "big"), self._block.stamp())

    def _checked(self, resume: Mapping[str, NDArray[Any]]) -> SavedBatch:
        """The saved batch, after every check; the records go on from it."""
        if position_of(resume).stamp != self._stamp():
            raise InvalidInput(
                "resume: these arrays belong to another batch; give the same runs, n_episodes, "
                "checkpoints and width as when they were saved, and no less memory"
            )
        saved = SavedBatch(resume, self._runs, self._points, self._block)
        saved.check(self._records.arrays_before(saved.begin, self._block.plan.columns()))
        self._records.restore(resume)
        return saved

    def _results(self, seconds: float) -> list[Run]:
        refused = self._records.refused
        if (refused >= 0).any():
            found = [
                None if refused[i] >= 0 else self._records.run(i, seconds)
                for i in range(len(self._runs))
            ]
            raise RefusedRuns(found, refused)
        return [self._records.run(i, seconds) for i in range(len(self._runs))]
