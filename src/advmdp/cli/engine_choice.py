"""The engine that plays the runs of a command, and its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advmdp.cli import options as opt
from advmdp.errors import InvalidInput

if TYPE_CHECKING:
    from advmdp.experiments.engines.interface import Engine, EngineOptions

MOST_CORES = 1e6
MakeEngine = Callable[[Path], "Engine"]


def engine_maker(name: str, options: EngineOptions) -> MakeEngine:
    """The engine of this name for any store; raises here if this machine cannot run it."""
    from advmdp.experiments.engines.registry import find_engine

    engine = find_engine(name)
    engine.require()
    return lambda store: engine(store, options)


def engine_options(
    workers: int | None = None,
    address: str | None = None,
    save_seconds: float = 30.0,
    save_episodes: int | None = None,
) -> EngineOptions:
    from advmdp.experiments.engines.interface import CheckpointSchedule, EngineOptions

    return EngineOptions(workers, address, CheckpointSchedule(save_seconds, save_episodes))


def with_tasks(
    options: EngineOptions, engine: str, cores: float | None, memory: str | None
) -> EngineOptions:
    """The options with what a cluster sets aside for a run; engines without a cluster have none."""
    from advmdp.experiments.engines.registry import find_engine

    given: dict[str, Any] = {"task_cores": cores, "task_memory": opt.bytes_of(memory)}
    chosen = {field: value for field, value in given.items() if value is not None}
    for field in chosen:
        if not find_engine(engine).sets_aside:
            raise InvalidInput(f"is for engines on a cluster, not for {engine}", field=field)
    if cores is not None and not 0.0 < cores < MOST_CORES:
        raise InvalidInput(f"{cores} is not a positive number of cores", field="task_cores")
    return replace(options, **chosen)
