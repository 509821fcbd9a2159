"""Runs on a Ray cluster: the same specs, the same ``play_run``, the same results.

The driver, which holds the locks of the runs, writes the results.  A worker writes checkpoints if
the store's folder exists on its machine (a shared file system, or everything on one machine); where
it does not, a run whose worker dies starts anew.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advmdp.errors import InvalidInput, MissingExtra, NoConnection
from advmdp.experiments.engines.interface import (
    DEFAULT_OPTIONS,
    CheckpointSchedule,
    Engine,
    EngineOptions,
)
from advmdp.experiments.engines.results import (
    CompletedRun,
    OnProgress,
    RunProgress,
    RunResult,
    result_of_error,
)
from advmdp.experiments.engines.single_run import play_run
from advmdp.experiments.own.registry import OwnParts, adopt, own_parts
from advmdp.experiments.spec import RunSpec
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.log import attach_log, detach_log

POLL_SECONDS = 0.2
CLIENT = "ray://"  # of addresses of a cluster that this machine is no part of
CLUSTER_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
# The client of Ray sends no token unless it is told to, and reports a refusal as a timeout.
TOKEN_REMEDY = "a cluster with tokens needs RAY_AUTH_MODE=token and its RAY_AUTH_TOKEN here too"
RETRIES = 5  # of a task whose worker died; each resumes from the last checkpoint
log = logging.getLogger(__name__)


class RayEngine(Engine):
    """Tasks on the cluster at ``options.address``, or on one that is started here."""

    sets_aside = True

    def __init__(self, store: Path, options: EngineOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(store.resolve(), options)
        self.require()
        if options.address is None and "RAY_ADDRESS" not in os.environ:
            _stay_on_this_machine()
        ray = _ray()
        self._owns_cluster = not ray.is_initialized()
        if self._owns_cluster:
            _connect(options.address, options.workers)
        needed = _needed(options, ray.cluster_resources())
        n_at_once = ray.cluster_resources().get("CPU", 1.0) / needed["num_cpus"]
        self.capacity = 2 * max(1, int(n_at_once))
        self._board = ray.remote(num_cpus=0)(_Board).remote()
        # Ray itself sets the number of threads of a task to its number of CPUs.
        self._task = ray.remote(max_retries=RETRIES, **needed)(_task)
        self._runs: dict[Any, RunSpec] = {}

    @classmethod
    def require(cls) -> None:
        """Reject the engine where Ray is not installed."""
        if _lacks("ray"):
            raise MissingExtra("ray is not installed; install advmdp[ray]", field="engine")

    def submit(self, spec: RunSpec) -> None:
        schedule = self.options.schedule
        own = own_parts()
        task = self._task.remote(spec.to_json(), str(self.store), schedule, self._board, own)
        self._runs[task] = spec

    def poll(self, on_progress: OnProgress) -> list[RunResult]:
        ray = _ray()
        done, _ = ray.wait(list(self._runs), timeout=POLL_SECONDS)
        for run, progress in ray.get(self._board.take_posts.remote()).items():
            on_progress(run, progress)
        return [self._result(task) for task in done]

    def _result(self, task: Any) -> RunResult:
        ray = _ray()
        spec = self._runs.pop(task)
        try:
            completed = ray.get(task)
        except ray.exceptions.RayTaskError as problem:
            return result_of_error(spec, problem.cause)
        except ray.exceptions.RayError:  # the worker died more often than Ray retries
            return RunResult(spec, lost="its process died")
        return RunResult(spec, completed=completed)

    def stop(self) -> None:
        ray = _ray()
        ray.get(self._board.stop.remote())

    def close(self) -> None:
        ray = _ray()
        if self._owns_cluster:
            ray.shutdown()
        else:
            ray.kill(self._board)


def _lacks(module: str) -> bool:
    return importlib.util.find_spec(module) is None


def _ray() -> Any:
    """The library, untyped: its annotations do not fit its remote calls."""
    return importlib.import_module("ray")


def _stay_on_this_machine() -> None:
    """Let a cluster that Ray starts here listen on the loopback interface only.

    Ray reads the variable when it is imported; despite its name it works on every system, and it is
    the only setting that all servers of Ray follow.
    """
    if "ray" not in sys.modules:
        os.environ.setdefault(CLUSTER_VARIABLE, "0")
    elif os.environ.get(CLUSTER_VARIABLE) != "0":
        log.warning(
            "ray was imported before, so its cluster may listen on all interfaces; set %s=0 first",
            CLUSTER_VARIABLE,
        )


class _Board:
    """An actor: workers post their progress on it and read whether to stop."""

    def __init__(self) -> None:
        self._posts: dict[str, RunProgress] = {}
        self._stopping = False

    def post(self, run: str, progress: RunProgress) -> bool:
        """Record the progress of a run; the answer is whether to stop."""
        self._posts[run] = progress
        return self._stopping

    def take_posts(self) -> dict[str, RunProgress]:
        """The latest progress of every run that posted since the last call."""
        posts, self._posts = self._posts, {}
        return posts

    def stop(self) -> None:
        """Tell all workers to stop."""
        self._stopping = True


def _task(
    spec_json: str, store: str, schedule: CheckpointSchedule, board: Any, own: OwnParts
) -> CompletedRun:
    """Play one run on a worker of the cluster."""
    ray = _ray()
    adopt(own)
    spec = RunSpec.from_json(spec_json, allow_code=True)
    stop = False

    def report(progress: RunProgress) -> None:
        nonlocal stop
        stop = ray.get(board.post.remote(spec.id, progress))

    work = Path(store) / "work" / spec.id
    with tempfile.TemporaryDirectory() as temporary:
        handler = attach_log(Path(store)) if work.is_dir() else None
        if handler is None:
            log.warning("%s: %s is not on this machine, so no checkpoint lasts", spec.id, store)
        try:
            return play_run(
                spec,
                Checkpoints(work if handler else Path(temporary), spec.hash),
                schedule=schedule,
                on_progress=report,
                should_stop=lambda: stop,
            )
        finally:
            if handler is not None:
                detach_log(handler)


def _needed(options: EngineOptions, there: Mapping[str, float]) -> dict[str, Any]:
    """What Ray sets aside for a task; refused if the cluster has less in all, for it would wait."""
    cores = 1.0 if options.task_cores is None else options.task_cores
    wanted = [
        ("task_cores", "CPU", cores, "cores"),
        ("task_memory", "memory", options.task_memory, "bytes"),
    ]
    for field, resource, amount, unit in wanted:
        has = there.get(resource, 0.0)
        if amount is not None and amount > has:
            raise InvalidInput(
                f"{amount:,g} {unit} for a run, but the cluster has {has:,.0f}; ask for less",
                field=field,
            )
    memory = {} if options.task_memory is None else {"memory": options.task_memory}
    return {"num_cpus": cores, **memory}


def _connect(address: str | None, workers: int | None) -> None:
    ray = _ray()
    is_remote = address is not None and address.startswith(CLIENT)
    if is_remote and _lacks("grpc"):
        raise MissingExtra("ray:// needs grpcio; install advmdp[ray]", field="address")
    try:
        ray.init(
            address=address,
            num_cpus=None if address else workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=True,
        )
    except Exception as problem:  # Ray raises plain ones too, as when a busy machine is too slow
        first = (str(problem) or type(problem).__name__).splitlines()[0]
        if address is None and "RAY_ADDRESS" not in os.environ:
            raise NoConnection(
                f"Ray did not start on this machine: {first} Try again when less is running, or "
                "play with --engine local"
            ) from None
        if is_remote and "timeout" in first:
            first = f"{first}; {TOKEN_REMEDY}"
        raise InvalidInput(f"cannot connect to a Ray cluster: {first}", field="address") from None
