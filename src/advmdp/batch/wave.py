"""The runs that are on the card at a time."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from advmdp.batch.columns import Block, Bytes, by_run, cells
from advmdp.batch.programs import WARP, Programs
from advmdp.kernels.stock import N_FIGURES
from advmdp.layout import Floats

THREADS = WARP  # of a block


class Wave:
    """Some of the runs of a block, in the card's memory."""

    def __init__(self, block: Block, programs: Programs, begin: int, end: int) -> None:
        self._block, self._programs = block, programs
        self.begin, self.end = begin, end
        self.columns = block.plan.columns()
        tiles = block.own(begin, end)
        self._grid = (-(-len(tiles) * WARP // THREADS), THREADS)
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
            self._launch(self._programs.rescue, *arguments)

    def _launch(self, program: Any, *arguments: Any, grid: tuple[int, int] | None = None) -> None:
        with warnings.catch_warnings():  # a small batch leaves most of the card idle: no news
            warnings.filterwarnings("ignore", message=".*under-utilization")
            program[grid or self._grid](*arguments)

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
        self._launch(self._programs.fetch, self._tiles, column.offset, out, grid=(n_tiles, WARP))
        part = cells(out.copy_to_host(), column._replace(offset=0))
        return by_run(part, column, self.end - self.begin)

    def save(self) -> tuple[Bytes, NDArray[np.int64]]:
        """Everything the future depends on."""
        return self._tiles.copy_to_host(), self._done.copy_to_host()

    def restore(self, tiles: Bytes, done: NDArray[np.int64]) -> None:
        """Continue from what ``save`` returned."""
        self._tiles.copy_to_device(np.ascontiguousarray(tiles))
        self._done.copy_to_device(np.ascontiguousarray(done))
