"""The GPU kernels of a batch: the kernels of ``play``, one thread or a few for each run.

This file loads ``numba.cuda``: it is imported when a batch is about to be played, not before.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from numba import cuda
from numba.core import config

from advmdp.batch.columns import Node, Plan
from advmdp.batch.compiling import Program
from advmdp.batch.views import twin, view_of
from advmdp.kernels.accounting.evaluation_point import BEST, BEST_FED, EPOCH, SUMS, WIDTH
from advmdp.kernels.runtime.targets import CUDA_PACKAGE, SOURCE_STAMP, load_cuda_kernels

WARP = 32
LOOPS = {"play_mirror": "accounting.episode", "play_watched": "accounting.witness"}
"""Where the loops of learners that project are; all others are in ``episode`` as well."""


class Programs(NamedTuple):
    """``play`` and ``rescue`` move ``done``, ``stock`` fills figures, ``fetch`` copies a column.

    ``done[run]`` is the number of episodes played, or ``-1 - t`` when episode t was refused.
    """

    play: Program
    rescue: Program | None  # for learners without a projection there is nothing to rescue
    stock: Program
    fetch: Program


@lru_cache(maxsize=32)
def programs_for(plan: Plan, loop_name: str, registers: int | None) -> Programs:
    """Compile on first use, once for each plan."""
    _load_kernels()
    view, width, threads = view_of(plan), plan.width, plan.threads
    n_places = width * threads
    episode, mirror = _module("accounting.episode"), _module("learners.mirror_descent")
    loop = getattr(_module(LOOPS.get(loop_name, "accounting.episode")), loop_name)
    judge, note_projection = _module("accounting.evaluation_point").judge, episode.note_projection
    finish_safely, undo_update = mirror.finish_safely, mirror.undo_update
    look = _look_of(plan)

    def play(tiles: Any, common: Any, done: Any, stop: int) -> None:
        tile = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // WARP
        place = cuda.threadIdx.x % WARP
        run = tile * width + place // threads
        if place < n_places and run < done.shape[0] and 0 <= done[run] < stop:
            graph, world, program, ledger, state = view(tiles, common, tile, place)
            done[run] = loop(graph, world, program, ledger, done[run], stop, *state)

    def rescue(tiles: Any, common: Any, done: Any, stop: int) -> None:
        tile = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // WARP
        place = cuda.threadIdx.x % WARP
        run = tile * width + place // threads
        if place < n_places and run < done.shape[0] and 0 <= done[run] < stop:
            graph, _, _, ledger, state = view(tiles, common, tile, place)
            episode = done[run]
            if finish_safely(graph, state[0], state[1]):
                note_projection(state[0].solver, ledger)
                done[run] = episode + 1
            else:
                undo_update(graph, state[0], ledger.states, ledger.path)
                done[run] = -1 - episode

    def stock(tiles: Any, common: Any, done: Any, figures: Any) -> None:
        tile = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // WARP
        place = cuda.threadIdx.x % WARP
        run = tile * width + place // threads
        if place < n_places and run < done.shape[0] and done[run] >= 0:
            graph, world, _, ledger, state = view(tiles, common, tile, place)
            best, best_fed = judge(graph, world, ledger)
            for i in range(4):
                figures[SUMS + i, run] = ledger.sums[i]
            figures[BEST, run] = best
            figures[BEST_FED, run] = best_fed
            epoch, open_width = look(state[0])
            figures[EPOCH, run] = epoch
            figures[WIDTH, run] = open_width

    def fetch(tiles: Any, offset: int, out: Any) -> None:
        for i in range(cuda.threadIdx.x, out.shape[1], cuda.blockDim.x):
            out[cuda.blockIdx.x, i] = tiles[cuda.blockIdx.x, offset + i]

    stamp = stamp_of(plan, loop_name, registers)
    return Programs(
        Program(play, threads, registers, stamp),
        Program(rescue, threads, None, stamp) if loop_name in LOOPS else None,
        Program(stock, threads, None, stamp),
        Program(fetch, threads, None, stamp),
    )


def stamp_of(plan: Plan, loop_name: str, registers: int | None) -> str:
    """A checksum of all that the programs of a plan are compiled from."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    asked = repr((SOURCE_STAMP, plan, loop_name, registers))
    return hashlib.sha256(sources + asked.encode()).hexdigest()


def _load_kernels() -> None:
    """The kernels for CUDA; their loops call ``steps`` where the source says ``range``.

    numba does not let a module redefine ``range``, so the name is exchanged in the functions' code.
    """
    package = load_cuda_kernels()
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


def _look_of(plan: Plan) -> Callable[..., Any]:
    """The device function that reads epoch and mean width from a learner's state, if it has any."""
    assert isinstance(plan.tree, Node)
    state = plan.tree.parts[-1]
    assert isinstance(state, Node)
    first = state.parts[0]
    assert isinstance(first, Node)
    looks = _module("accounting.observers")
    return looks.LOOKS.get(twin(first.kind), looks.see_nothing)  # type: ignore[no-any-return]
