"""Many runs in one block of memory.

The kernels work on nested NamedTuples of arrays and numbers.  A batch holds one such tree for every
run, all of one shape.  Its leaves become *columns* of a block of bytes that is cut into tiles of
``width`` runs, and inside a tile a column is stored (entry, run): the threads of a warp, one for
each run of a tile, read neighbouring addresses.  With the offsets of all columns fixed, an address
is one base plus constants, which is what keeps the compiled code in registers.

A run may be played by several threads of a warp.  Work space that a thread fills and reads by
itself is then there once for each of them: it is stored (entry, thread).

What every run reads and none writes (the layout's indices, a transition or a table of losses that
all runs share) is held once, in the *common* part.  Numbers that choose a branch of a kernel are
written into the compiled code when all runs agree on them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.kernels.runtime.storage import Storage, effective_storage, storage_of

Bytes = NDArray[np.uint8]


class BatchColumn(NamedTuple):
    """Where a leaf lies: bytes into its tile, or into the common part."""

    name: str
    dtype: str
    shape: tuple[int, ...]  # () for a number
    offset: int
    common: bool
    private: bool  # each thread of a run has its own
    stride: int  # from one entry to the next, in elements

    @property
    def size(self) -> int:
        """Entries of one run."""
        return math.prod(self.shape)


class SharedValue(NamedTuple):
    """A leaf that is part of the compiled code."""

    value: int | float | bool | None


class Node(NamedTuple):
    """A NamedTuple class, or ``tuple``, and its parts."""

    kind: type
    parts: tuple[Tree, ...]


Tree = BatchColumn | SharedValue | Node


@dataclass(frozen=True)
class BatchPlan:
    """Where everything lies; equal plans share their compiled code."""

    tree: Tree
    width: int
    threads: int
    tile_bytes: int
    common_bytes: int

    def columns(self) -> dict[str, BatchColumn]:
        """All columns by their dotted names."""
        return {column.name: column for column in _columns(self.tree)}


def _columns(tree: Tree) -> Iterator[BatchColumn]:
    if isinstance(tree, BatchColumn):
        yield tree
    elif isinstance(tree, Node):
        for part in tree.parts:
            yield from _columns(part)


def _padded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


class Block:
    """The trees of several runs, packed.

    Parameters
    ----------
    trees
        One for each run, all of the same types and shapes.  Runs may share arrays: nothing is
        written to them.
    width
        Runs in a tile.
    threads
        Threads of a run.
    """

    def __init__(self, trees: Sequence[Any], width: int, threads: int = 1) -> None:
        self.n_runs = len(trees)
        self._width, self._threads = width, threads
        self._own: list[tuple[BatchColumn, NDArray[Any], NDArray[np.int64]]] = []
        self._common: list[tuple[BatchColumn, NDArray[Any]]] = []
        self._lasting: list[BatchColumn] = []
        self._own_bytes = self._common_bytes = 0
        tree = self._plant(trees, "", None, None)
        self.plan = BatchPlan(tree, width, threads, self._own_bytes, max(self._common_bytes, 1))

    @property
    def bytes_per_run(self) -> int:
        """Memory of the card for one run."""
        return self.plan.tile_bytes // self._width

    def _plant(
        self, values: Sequence[Any], name: str, declared: Storage | None, of_all: Storage | None
    ) -> Tree:
        """The tree of one part of all runs: what its field declares, and what a record around."""
        first = values[0]
        if any(type(value) is not type(first) for value in values):
            raise InvalidInput(f"batch: the runs differ in the type of {name}; play them apart")
        if isinstance(first, tuple):
            prefix = f"{name}." if name else ""
            parts = [
                self._plant([value[i] for value in values], prefix + field, own, of_all or declared)
                for i, (field, own) in enumerate(_fields_of(first))
            ]
            return Node(type(first), tuple(parts))
        if first is None:
            return SharedValue(None)
        storage = effective_storage(first, declared, of_all)
        if not isinstance(first, np.ndarray) and len(set(values)) == 1:
            off = storage is Storage.SWITCH and first == 0.0
            if storage is Storage.CHOICE or off:
                return SharedValue(first)
        return self._add(values, name, storage)

    def _add(self, values: Sequence[Any], name: str, storage: Storage | None) -> BatchColumn:
        """A column for one leaf; equal objects are kept once until they are packed."""
        if storage is Storage.ALONE:  # of a processor's core: a card has none
            values = [values[0][:0]] * len(values)
        places: dict[int, int] = {}
        which = np.array([places.setdefault(id(value), len(places)) for value in values])
        distinct = [np.asarray(values[i]) for i in np.unique(which, return_index=True)[1]]
        first = distinct[0]
        if any(value.shape != first.shape or value.dtype != first.dtype for value in distinct):
            raise InvalidInput(f"batch: the runs differ in the shape of {name}; play them apart")
        data = np.stack(distinct)
        never_written = first.ndim == 0 or storage is Storage.COMMON
        common = never_written and bool((data == first).all())
        private = not common and storage is Storage.PRIVATE
        offset = self._common_bytes if common else self._own_bytes
        stride = 1 if common else self._width * (self._threads if private else 1)
        column = BatchColumn(name, first.dtype.str, first.shape, offset, common, private, stride)
        if common:
            self._common.append((column, first))
            self._common_bytes += _padded(first.nbytes, 8)
        else:
            self._own.append((column, data, which))
            if first.ndim and storage in (Storage.LASTING, None):
                self._lasting.append(column)
            self._own_bytes += _padded(first.nbytes * stride, 8 * self._width)
        return column

    def stamp(self) -> int:
        """A checksum of all that was packed."""
        stamp = zlib.crc32(repr(self.plan).encode())
        for _, data, which in self._own:
            stamp = zlib.crc32(which.tobytes(), zlib.crc32(data.tobytes(), stamp))
        return zlib.crc32(self.common().tobytes(), stamp)

    def common(self) -> Bytes:
        """The common part."""
        out = np.zeros(self.plan.common_bytes, dtype=np.uint8)
        for column, value in self._common:
            out[column.offset : column.offset + value.nbytes] = value.reshape(-1).view(np.uint8)
        return out

    def own(self, begin: int, end: int) -> Bytes:
        """The tiles of runs begin .. end - 1; the rest of the last tile repeats its last run."""
        n_tiles = -(-(end - begin) // self._width)
        runs = np.minimum(np.arange(begin, begin + n_tiles * self._width), end - 1)
        out = np.zeros((n_tiles, self.plan.tile_bytes), dtype=np.uint8)
        for column, data, which in self._own:
            flat = data.reshape(len(data), -1)[which[runs]].repeat(column.stride // self._width, 0)
            cells(out, column)[:] = flat.reshape(n_tiles, column.stride, -1).swapaxes(1, 2)
        return out

    def lasting_arrays(self, tiles: Bytes, n_runs: int) -> Iterator[tuple[str, NDArray[Any]]]:
        """Names and arrays (run, *shape) of what is carried from episode to episode."""
        for column in self._lasting:
            yield column.name, by_run(cells(tiles, column), column, n_runs)

    def resumed(self, begin: int, end: int, saved: Bytes) -> Bytes:
        """The tiles of runs that go on: what lasts from ``saved``, the rest as at the start."""
        out = self.own(begin, end)
        for column in self._lasting:
            cells(out, column)[:] = cells(saved, column)
        return out


def _fields_of(record: tuple[Any, ...]) -> list[tuple[str, Storage | None]]:
    """Names and declared storage of the parts of a record, or numbers of a plain tuple's."""
    if hasattr(record, "_fields"):
        return list(storage_of(type(record)).items())
    return [(str(i), None) for i in range(len(record))]


def cells(tiles: Bytes, column: BatchColumn) -> NDArray[Any]:
    """A column of many tiles as an array (tile, entry, run): a view."""
    dtype = np.dtype(column.dtype)
    part = tiles[:, column.offset : column.offset + column.size * column.stride * dtype.itemsize]
    return part.view(dtype).reshape(len(tiles), column.size, column.stride)


def by_run(part: NDArray[Any], column: BatchColumn, n_runs: int) -> NDArray[Any]:
    """(tile, entry, run) as (run, *shape)."""
    n_tiles, _, stride = part.shape  # said, because an array without entries has any number of runs
    return part.swapaxes(1, 2).reshape(n_tiles * stride, *column.shape)[:n_runs]
