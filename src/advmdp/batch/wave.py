"""The runs that are on the card at a time."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from advmdp.batch.card import processors
from advmdp.batch.columns import Block, Bytes, by_run, cells
from advmdp.batch.compiling import Program
from advmdp.batch.programs import WARP, Programs
from advmdp.kernels.accounting.evaluation_point import N_FIGURES
from advmdp.layout import Floats

SCHEDULERS = 4  # of a multiprocessor
LARGEST_BLOCK = 32


def warps_of_a_block(n_warps: int, n_rows: int, most: int) -> int:
    """One, or all warps of a multiprocessor, whose runs then go in step (``runtime/threads``).

    That pays where warps wait for instructions: when schedulers have several of them, and a loop
    over rows is one round of a warp.  (On an H200, microseconds for an episode of 1,000 runs in
    step and not: 51 and 58 for 1,3,3,1 x2, but 116 and 109 for 1,5x4,1 x3.)
    """
    if n_rows > WARP or n_warps <= SCHEDULERS * processors():
        return 1
    return min(-(-n_warps // processors()), LARGEST_BLOCK, most)


class Wave:
    """Some of the runs of a block, in the card's memory."""

    def __init__(self, block: Block, programs: Programs, begin: int, end: int) -> None:
        self._block, self._programs = block, programs
        self.begin, self.end = begin, end
        self.columns = block.plan.columns()
        tiles = block.own(begin, end)
        self._tiles, self._common = cuda.to_device(tiles), cuda.to_device(block.common())
        self._done = cuda.to_device(np.zeros(end - begin, dtype=np.int64))

    def play(self, stop: int) -> NDArray[np.int64]:
        """All runs to episode ``stop``; returns how far they are, below zero if refused."""
        arguments = (self._tiles, self._common, self._done, stop)
        most = self._programs.play.largest_block(*arguments) // WARP
        n_rows = self.columns["ledger.losses"].size
        warps = warps_of_a_block(self._tiles.shape[0], n_rows, most)
        while True:
            self._launch(self._programs.play, *arguments, warps=warps)
            done: NDArray[np.int64] = self._done.copy_to_host()
            if not ((done >= 0) & (done < stop)).any():
                return done
            # a projection that the fast path could not certify: the safe path, then onward
            assert self._programs.rescue is not None
            self._launch(self._programs.rescue, *arguments)

    def _launch(self, program: Program, *arguments: Any, warps: int = 1) -> None:
        n_blocks = -(-self._tiles.shape[0] // warps)
        with warnings.catch_warnings():  # a small batch leaves most of the card idle: no news
            warnings.filterwarnings("ignore", message=".*under-utilization")
            program[n_blocks, warps * WARP](*arguments)

    def evaluate(self) -> Floats:
        """The figures of ``programs.evaluate``, one line for each, one column for each run."""
        figures = cuda.to_device(np.full((N_FIGURES, self.end - self.begin), np.nan))
        self._launch(self._programs.evaluate, self._tiles, self._common, self._done, figures)
        found: Floats = figures.copy_to_host()
        return found

    def column(self, name: str) -> NDArray[Any]:
        """One column of the block, (run, *shape)."""
        column = self.columns[name]
        n_bytes = column.size * column.stride * np.dtype(column.dtype).itemsize
        n_tiles = self._tiles.shape[0]
        out = cuda.to_device(np.zeros((n_tiles, n_bytes), dtype=np.uint8))
        self._launch(self._programs.fetch, self._tiles, column.offset, out)
        part = cells(out.copy_to_host(), column._replace(offset=0))
        return by_run(part, column, self.end - self.begin)

    def save(self) -> tuple[Bytes, NDArray[np.int64]]:
        """Everything the future depends on."""
        return self._tiles.copy_to_host(), self._done.copy_to_host()

    def restore(self, tiles: Bytes, done: NDArray[np.int64]) -> None:
        """Continue from what ``save`` returned."""
        self._tiles.copy_to_device(np.ascontiguousarray(tiles))
        self._done.copy_to_device(np.ascontiguousarray(done))
