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
from advmdp.kernels.stock import N_FIGURES
from advmdp.layout import Floats

# The warps of a block begin every episode together (``kernels.targets.rejoin``).  With two blocks to
# a multiprocessor one works while the other waits for its slowest run.
BLOCKS = 2
LARGEST_BLOCK = 16


def warps_of_a_block(n_warps: int, most: int) -> int:
    """So many that all multiprocessors have their part of the warps."""
    return min(-(-n_warps // (BLOCKS * processors())), LARGEST_BLOCK, most)


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
        while True:
            self._launch(self._programs.play, *arguments)
            done: NDArray[np.int64] = self._done.copy_to_host()
            if not ((done >= 0) & (done < stop)).any():
                return done
            # a projection that the fast path could not certify: the safe path, then onward
            assert self._programs.rescue is not None
            self._launch(self._programs.rescue, *arguments)

    def _launch(self, program: Program, *arguments: Any, in_step: bool = True) -> None:
        n_warps = self._tiles.shape[0]
        most = program.compile(*arguments) // WARP if in_step else 1
        warps = warps_of_a_block(n_warps, most)
        with warnings.catch_warnings():  # a small batch leaves most of the card idle: no news
            warnings.filterwarnings("ignore", message=".*under-utilization")
            program[-(-n_warps // warps), warps * WARP](*arguments)

    def stock(self) -> Floats:
        """The figures of ``programs.stock``, one line for each, one column for each run."""
        figures = cuda.to_device(np.full((N_FIGURES, self.end - self.begin), np.nan))
        self._launch(self._programs.stock, self._tiles, self._common, self._done, figures)
        found: Floats = figures.copy_to_host()
        return found

    def column(self, name: str) -> NDArray[Any]:
        """One column of the block, (run, *shape)."""
        column = self.columns[name]
        n_bytes = column.size * column.stride * np.dtype(column.dtype).itemsize
        n_tiles = self._tiles.shape[0]
        out = cuda.to_device(np.zeros((n_tiles, n_bytes), dtype=np.uint8))
        self._launch(self._programs.fetch, self._tiles, column.offset, out, in_step=False)
        part = cells(out.copy_to_host(), column._replace(offset=0))
        return by_run(part, column, self.end - self.begin)

    def save(self) -> tuple[Bytes, NDArray[np.int64]]:
        """Everything the future depends on."""
        return self._tiles.copy_to_host(), self._done.copy_to_host()

    def restore(self, tiles: Bytes, done: NDArray[np.int64]) -> None:
        """Continue from what ``save`` returned."""
        self._tiles.copy_to_device(np.ascontiguousarray(tiles))
        self._done.copy_to_device(np.ascontiguousarray(done))
