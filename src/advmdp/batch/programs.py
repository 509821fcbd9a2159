"""The GPU kernels of a batch: the kernels of ``play``, one thread or a few for each run.

This file loads ``numba.cuda``: it is imported when a batch is about to be played, not before.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from numba import cuda
from numba.core import config

from advmdp.batch.columns import BatchPlan, Node, Tree
from advmdp.batch.compiling import Program
from advmdp.batch.views import twin, view_of
from advmdp.kernels.accounting.evaluation_point import BEST, BEST_ESTIMATED, EPOCH, SUMS, WIDTH
from advmdp.kernels.runtime.targets import CUDA_PACKAGE, SOURCE_STAMP, load_cuda_kernels

WARP = 32


class Programs(NamedTuple):
    """``play`` and ``rescue`` move ``done``, ``evaluate`` fills figures, ``fetch`` copies a column.

    ``done[run]`` is the number of episodes played, or ``-1 - t`` when episode t was refused.
    """

    play: Program
    rescue: Program | None  # for learners without a projection there is nothing to rescue
    evaluate: Program
    fetch: Program


@lru_cache(maxsize=32)
def programs_for(plan: BatchPlan, registers: int | None) -> Programs:
    """Compile on first use, once for each plan."""
    kinds = kinds_of(plan)
    _load_kernels(kinds)
    view, width, threads = view_of(plan), plan.width, plan.threads
    n_places = width * threads
    episode, learner = _module("accounting.episode"), _module("learners.interface")
    play_episodes, note_certificate = episode.play_episodes, episode.note_certificate
    finish_safely, undo_update = learner.finish_safely, learner.undo_update
    judge, look = _module("accounting.evaluation_point").judge, learner.epoch_and_width
    may_be_refused = any(twin(kind) in learner.solve_pending.table for kind in kinds)

    def play(tiles: Any, common: Any, done: Any, stop: int) -> None:
        tile = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // WARP
        place = cuda.threadIdx.x % WARP
        run = tile * width + place // threads
        if place < n_places and run < done.shape[0] and 0 <= done[run] < stop:
            graph, world, program, ledger, state = view(tiles, common, tile, place)
            done[run] = play_episodes(
                graph, world, program, ledger, done[run], stop, state[0], state[1]
            )

    def rescue(tiles: Any, common: Any, done: Any, stop: int) -> None:
        tile = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // WARP
        place = cuda.threadIdx.x % WARP
        run = tile * width + place // threads
        if place < n_places and run < done.shape[0] and 0 <= done[run] < stop:
            graph, _, _, ledger, state = view(tiles, common, tile, place)
            episode = done[run]
            if finish_safely(graph, state[0]):
                note_certificate(state[0], ledger)
                done[run] = episode + 1
            else:
                undo_update(graph, state[0], ledger.states, ledger.path)
                done[run] = -1 - episode

    def evaluate(tiles: Any, common: Any, done: Any, figures: Any) -> None:
        tile = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // WARP
        place = cuda.threadIdx.x % WARP
        run = tile * width + place // threads
        if place < n_places and run < done.shape[0] and done[run] >= 0:
            graph, world, _, ledger, state = view(tiles, common, tile, place)
            best, best_estimated = judge(graph, world, ledger)
            for i in range(4):
                figures[SUMS + i, run] = ledger.sums[i]
            figures[BEST, run] = best
            figures[BEST_ESTIMATED, run] = best_estimated
            epoch, open_width = look(state[0])
            figures[EPOCH, run] = epoch
            figures[WIDTH, run] = open_width

    def fetch(tiles: Any, offset: int, out: Any) -> None:
        for i in range(cuda.threadIdx.x, out.shape[1], cuda.blockDim.x):
            out[cuda.blockIdx.x, i] = tiles[cuda.blockIdx.x, offset + i]

    stamp = stamp_of(plan, registers)
    return Programs(
        Program(play, threads, registers, stamp),
        Program(rescue, threads, None, stamp) if may_be_refused else None,
        Program(evaluate, threads, None, stamp),
        Program(fetch, threads, None, stamp),
    )


def kinds_of(plan: BatchPlan) -> list[type]:
    """All record classes of a plan."""

    def walk(tree: Tree) -> Iterator[type]:
        if isinstance(tree, Node):
            if tree.kind is not tuple:
                yield tree.kind
            for part in tree.parts:
                yield from walk(part)

    return list(dict.fromkeys(walk(plan.tree)))


def stamp_of(plan: BatchPlan, registers: int | None) -> str:
    """A checksum of all that the programs of a plan are compiled from."""
    files = {str(path) for path in Path(__file__).parent.glob("*.py")}
    files |= {str(sys.modules[kind.__module__].__file__) for kind in kinds_of(plan)}
    sources = b"".join(Path(file).read_bytes() for file in sorted(files))
    asked = repr((SOURCE_STAMP, plan, registers))
    return hashlib.sha256(sources + asked.encode()).hexdigest()


def _load_kernels(kinds: Sequence[type] = ()) -> None:
    """The kernels for CUDA, and the modules of some records; loops call ``steps`` for ``range``.

    numba does not let a module redefine ``range``, so the name is exchanged in the functions' code.
    """
    package = load_cuda_kernels()
    for kind in kinds:
        twin(kind)
    if config.ENABLE_CUDASIM:
        return
    from advmdp.batch import (
        arithmetic,  # noqa: F401  (registers itself with numba)
        sharing,
    )
    from advmdp.batch.steps import steps

    alone = dict(
        vars(_module("runtime.threads"))
    )  # a kernel may have the same name and be something else
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package.__name__}."):
            for common in sharing.EXCHANGED:
                if getattr(module, common, None) is alone[common]:
                    setattr(module, common, getattr(sharing, common))
            for value in list(vars(module).values()):
                function = getattr(value, "py_func", None)
                if function is not None:
                    code = function.__code__
                    names = tuple("steps" if n == "range" else n for n in code.co_names)
                    function.__code__ = code.replace(co_names=names)
                    function.__globals__["steps"] = steps


def _module(name: str) -> Any:
    return importlib.import_module(f"{CUDA_PACKAGE}.{name}")
