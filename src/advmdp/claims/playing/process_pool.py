"""A process pool for work that needs no store."""

from __future__ import annotations

import multiprocessing as mp
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from advmdp.experiments.engines.worker_process import exit_with_parent, worker_environment

Item = TypeVar("Item")
Result = TypeVar("Result")


def ignore(result: object) -> None:
    """Do nothing with a result."""


def map_in_processes(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    on_result: Callable[[Result], None] = ignore,
) -> list[Result]:
    """Apply ``function`` to every item and return the results in the order of the items.

    ``on_result`` is called with each result, in that order, as soon as it is known.  One worker, or
    one item, is computed in this process.  Otherwise spawned processes of one thread each compute
    them; they are killed when this process is interrupted or killed, which loses nothing.

    >>> map_in_processes(abs, [-2, 3], workers=1)
    [2, 3]
    """
    results = []
    if min(workers, len(items)) <= 1:
        for item in items:
            results.append(function(item))
            on_result(results[-1])
        return results
    before = set(mp.active_children())
    pool = ProcessPoolExecutor(
        min(workers, len(items)),
        mp_context=mp.get_context("spawn"),
        initializer=exit_with_parent,
    )
    try:
        with worker_environment():
            futures = [pool.submit(function, item) for item in items]
        for future in futures:
            results.append(future.result())
            on_result(results[-1])
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(mp.active_children()) - before:
            child.kill()
        raise
    pool.shutdown()
    return results
