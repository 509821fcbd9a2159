"""How each registered engine is tried: the lengths of its runs, and what can go wrong with it.

A new engine needs a line in ``TRIALS``; ``tests/test_every_engine.py`` finds everything else.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advmdp.experiments.engines.cuda_batches import batch_checkpoint
from advmdp.experiments.engines.interface import Engine
from advmdp.experiments.spec import RunSpec
from tests.experiments.sweeps import one_run


@dataclass(frozen=True)
class Trial:
    """Three short runs, and two long ones: one is under way when something happens."""

    n_short: int
    n_long: int
    lose_worker: Callable[[Any], None]
    """Called with the engine while a long run is under way."""
    checkpoints: Callable[[Path, list[RunSpec]], list[Path]]
    """The files that the engine writes for these runs, given the folder of the store."""
    session: Callable[[], AbstractContextManager[Any]] = nullcontext
    """What the sweeps of a trial share."""

    def specs(self) -> list[RunSpec]:
        """The runs of a sweep, the short ones first."""
        mdp = {"name": "random", "layer_sizes": [1, 2, 1], "n_actions": 2}
        return [
            one_run(mdp=mdp, n_episodes=n, replicate=i, checkpoints=4)
            for n, n_replicates in ((self.n_short, 3), (self.n_long, 2))
            for i in range(n_replicates)
        ]


def kill_a_pool_process(engine: Any) -> None:
    """As the system does when memory is short."""
    os.kill(next(iter(engine._pool._processes)), signal.SIGKILL)


def kill_a_ray_task(engine: Engine) -> None:
    """A process below this one that Ray has named after its task."""
    tasks = (pid for pid in _descendants() if _command(pid).startswith("ray::_task"))
    os.kill(next(tasks), signal.SIGKILL)


def fail_the_card(engine: Engine) -> None:
    """The card is simulated in this process, between whose slices this is called: raise there."""
    raise RuntimeError("unspecified launch failure")


def checkpoints_of_runs(store: Path, specs: list[RunSpec]) -> list[Path]:
    return [store / "work" / spec.id / f"checkpoint-{one}.bin" for spec in specs for one in "ab"]


def checkpoint_of_batch(store: Path, specs: list[RunSpec]) -> list[Path]:
    return [batch_checkpoint(store, specs)]


@contextmanager
def one_cluster() -> Iterator[None]:
    """Ray takes seconds to start; engines use a cluster that is there."""
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def _descendants() -> Iterator[int]:
    """The processes below this one."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(folder.name)] = int(fields[1])
    for pid in parents:
        above = parents[pid]
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            yield pid


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except OSError:
        return ""


TRIALS = {
    "local": Trial(300, 400_000, kill_a_pool_process, checkpoints_of_runs),
    "ray": Trial(300, 400_000, kill_a_ray_task, checkpoints_of_runs, one_cluster),
    "cuda": Trial(4, 200, fail_the_card, checkpoint_of_batch),
}
