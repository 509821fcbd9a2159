"""Work in processes of its own, for claims that play without a store."""

from __future__ import annotations

import multiprocessing as mp
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from advmdp.experiments.engines.worker_process import exit_with_parent, worker_environment

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    heard: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """``function`` of every item, in the order of the items; ``heard`` is told each as it comes.

    With one worker, or one item, all is done here.  Otherwise the processes are started with spawn,
    one thread each, and killed if this one is interrupted or killed: they hold nothing.

    >>> spread(abs, [-2, 3], workers=1)
    [2, 3]
    """
    results = []
    if min(workers, len(items)) <= 1:
        for item in items:
            results.append(function(item))
            heard(results[-1])
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
            heard(results[-1])
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(mp.active_children()) - before:
            child.kill()
        raise
    pool.shutdown()
    return results
