"""A saved batch, checked before anything of it is used.

Its arrays may come from a file that somebody else wrote.  Shapes and types must be those of this
batch, numbers must lie in their ranges, and the state of every run must be one that its learner
accepts (``restore``, with the invariants of ``learners/state_invariants``).  Only what lasts from
episode to episode is taken over; work space, parameters and the world come from this batch.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.batch.columns import Block, Bytes
from advmdp.batch.runs import BatchRun
from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.evaluation.recorder import improper_part_of_ledger
from advmdp.kernels.accounting.evaluation_point import EPOCH
from advmdp.learners.base import Resumable, offers
from advmdp.learners.tuning import refuse_too_many_episodes

Saved = Mapping[str, NDArray[Any]]
NUMBERS = ("wave", "episodes", "per_wave", "stamp")
LEARNER, PRESSURE = "state.0.", "program.pressure"


class BatchPosition(NamedTuple):
    """Where a batch was cut, and a checksum of all that it has to agree with."""

    wave: int
    """The first run of the wave that was being played."""
    episodes: int
    """Episodes that its runs had behind them."""
    per_wave: int
    stamp: int


def position_of(saved: Any) -> BatchPosition:
    """The numbers of a saved batch; nothing else of it is looked at."""
    if not isinstance(saved, Mapping):
        raise InvalidInput(f"resume: give the arrays of a saved batch, not {shown(saved)}")
    for name in NUMBERS:
        array: Any = saved.get(name)
        if getattr(array, "shape", None) != () or array.dtype != np.int64:
            raise InvalidInput(f"resume: not a saved batch, {name} is not a whole number")
    position = BatchPosition(*(int(saved[name]) for name in NUMBERS))
    if position.per_wave < 1 or position.wave < 0 or position.wave % position.per_wave:
        raise InvalidInput(f"resume: no wave of a batch begins at run {position.wave}")
    return position


class SavedBatch:
    """A saved batch whose numbers fit ``runs``; ``check`` looks at its arrays."""

    def __init__(
        self, saved: Saved, runs: Sequence[BatchRun], points: NDArray[np.int64], block: Block
    ) -> None:
        self._saved, self._runs, self._points, self._block = saved, runs, points, block
        self.position = position_of(saved)
        self._n_episodes = int(points[-1])
        begin = self.position.wave
        _require(self.position.per_wave <= len(runs), "per_wave", "is above the number of runs")
        _require(begin < len(runs), "wave", "is beyond the runs of this batch")
        _require(0 <= self.position.episodes <= self._n_episodes, "episodes", "is beyond its end")
        self.begin, self.end = begin, min(begin + self.position.per_wave, len(runs))

    @property
    def done(self) -> NDArray[np.int64]:
        """How far the runs of the wave are, below zero if they were refused."""
        return self._saved["done"]

    def check(self, kept: Saved) -> None:
        """Reject arrays that this batch cannot have saved; nothing is changed.

        ``kept`` has the names, shapes and types of what ``Records`` keeps when this wave is played.
        """
        self._check_shapes(kept)
        self._check_done()
        self._check_figures()
        lasting = dict(self._block.lasting_arrays(self._saved["tiles"], self.end - self.begin))
        self._check_lasting(lasting)
        for i, learner in self._spare_learners():
            state = {
                name.removeprefix(LEARNER): array[i]
                for name, array in lasting.items()
                if name.startswith(LEARNER)
            }
            _restore(learner, state, self._n_episodes - self._played(i))

    def tiles(self) -> Bytes:
        """The tiles of the wave: what lasts as it was saved, everything else as at the start."""
        return self._block.resumed(self.begin, self.end, self._saved["tiles"])

    # ------------------------------------------------------------------ parts of ``check``

    def _check_shapes(self, kept: Saved) -> None:
        n_runs, n_all = self.end - self.begin, len(self._runs)
        n_tiles = -(-n_runs // self._block.plan.width)
        expected = {
            "tiles": ((n_tiles, self._block.plan.tile_bytes), np.dtype(np.uint8)),
            "done": ((n_runs,), np.dtype(np.int64)),
            **{name: (array.shape, array.dtype) for name, array in kept.items()},
        }
        names = set(self._saved) - set(NUMBERS)
        _require(names == set(expected), "its list of arrays", f"is not {sorted(expected)}")
        for name, (shape, dtype) in expected.items():
            array = self._saved[name]
            fits = getattr(array, "shape", None) == shape and array.dtype == dtype
            _require(fits, name, f"is not {dtype} of shape {shape} ({n_all} runs)")

    def _check_done(self) -> None:
        """A run has played as far as its wave, or was refused on the way, where it is noted."""
        episodes, done, refused = self.position.episodes, self.done, self._saved["refused"]
        on_the_way = (done < 0) & (done >= -episodes)
        _require((on_the_way | (done == episodes)).all(), "done", "is not where its wave is")
        fits = (refused >= -1) & (refused < self._n_episodes)
        _require(fits.all(), "refused", "names episodes that no run has")

    def _check_figures(self) -> None:
        """Every evaluation point that is behind a run has finite figures."""
        n_epochs = self._saved["final.starts"].shape[1] if "final.starts" in self._saved else None
        refused, figures = self._saved["refused"], self._saved["figures"]
        for i in range(self.end):
            in_wave = i >= self.begin
            earlier = int(refused[i]) if refused[i] >= 0 else self._n_episodes
            behind = self._points <= (self._played(i - self.begin) if in_wave else earlier)
            found = figures[behind, :, i]
            _require(np.isfinite(found).all(), "figures", f"of run {i} are not finite")
            epochs = found[:, EPOCH]
            proper = (epochs >= 0).all() and (epochs == np.floor(epochs)).all()
            within = n_epochs is None or (epochs <= n_epochs).all()
            _require(proper and within, "figures", f"of run {i} have impossible epochs")

    def _check_lasting(self, lasting: Saved) -> None:
        final = {f"ledger.{name}": self._saved.get(f"final.{name}") for name in ("total", "worst")}
        earlier = {name: array[: self.begin] for name, array in final.items() if array is not None}
        for ledger in (lasting, earlier):
            improper = improper_part_of_ledger(ledger)
            _require(improper is None, improper or "", "has values that no run has")
        _require(np.isfinite(lasting[PRESSURE]).all(), PRESSURE, "is not finite")

    def _played(self, i: int) -> int:
        """Episodes behind a run of the wave."""
        done = int(self.done[i])
        return done if done >= 0 else -1 - done

    def _spare_learners(self) -> Iterator[tuple[int, Any]]:
        """Numbers of the runs in the wave, with a copy of each run's learner to try a state on."""
        copies: dict[int, Any] = {}
        for i, run in enumerate(self._runs[self.begin : self.end]):
            if not offers(run.learner, Resumable):
                raise InvalidInput(
                    f"resume: {type(run.learner).__name__} has no state() and restore(), which "
                    "saved batches need; add them"
                )
            if id(run.learner) not in copies:
                copies[id(run.learner)] = copy.deepcopy(run.learner)
            yield i, copies[id(run.learner)]


def _restore(learner: Any, state: Saved, n_left: int) -> None:
    try:
        learner.restore(state)
    except InvalidInput as problem:
        raise InvalidInput(f"resume: {problem}") from None
    refuse_too_many_episodes(learner, n_left, "resume")


def _require(holds: Any, name: str, problem: str) -> None:
    if not holds:
        raise InvalidInput(
            f"resume: {name} {problem}; the saved batch is damaged or was altered, begin without it"
        )
