"""Runs on a Ray cluster: the same specs, the same ``execute``, the same results.

The driver, who has claimed the runs, writes the results.  A worker writes checkpoints if the
store's folder exists on its machine (a shared file system, or everything on one machine); where it
does not, a run whose worker dies starts anew.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.experiments.build import build
from advmdp.experiments.engines import Ended, OnProgress, ended
from advmdp.experiments.execute import Played, Saving, execute
from advmdp.experiments.spec import RunSpec
from advmdp.play import Progress
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.log import attach_log, detach_log

POLL_SECONDS = 0.2
RETRIES = 5  # of a task whose worker died; each goes on from the last checkpoint


def check_ray() -> None:
    """Refuse early where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise InvalidInput("--engine: ray is not installed; install advmdp[ray]")


def _ray() -> Any:
    """The library; its annotations do not fit its remote calls, so they are left out."""
    return importlib.import_module("ray")


class RayEngine:
    """Tasks on the cluster at ``address``, or on one that is started here."""

    def __init__(
        self, store: Path, address: str | None, workers: int | None, saving: Saving
    ) -> None:
        check_ray()
        ray = _ray()
        self._store, self._saving = store.resolve(), saving
        self._owns_cluster = not ray.is_initialized()
        if self._owns_cluster:
            _connect(address, workers)
        self.capacity = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._board = ray.remote(num_cpus=0)(_Board).remote()
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_task)  # Ray pins its threads
        self._runs: dict[Any, RunSpec] = {}

    def check(self, specs: Sequence[RunSpec]) -> None:
        for spec in specs:
            build(spec)

    def submit(self, spec: RunSpec) -> None:
        task = self._task.remote(spec.to_json(), str(self._store), self._saving, self._board)
        self._runs[task] = spec

    def poll(self, on_progress: OnProgress) -> list[Ended]:
        ray = _ray()
        done, _ = ray.wait(list(self._runs), timeout=POLL_SECONDS)
        for run, progress in ray.get(self._board.news.remote()).items():
            on_progress(run, progress)
        return [self._ended(task) for task in done]

    def _ended(self, task: Any) -> Ended:
        ray = _ray()
        spec = self._runs.pop(task)
        try:
            result = ray.get(task)
        except ray.exceptions.RayTaskError as problem:
            cause = problem.cause
            return ended(spec, lambda: _raise(cause))
        except ray.exceptions.RayError:  # the worker died more often than Ray tries
            return Ended(spec, lost=True)
        return Ended(spec, played=result)

    def stop(self) -> None:
        ray = _ray()
        ray.get(self._board.stop.remote())

    def close(self) -> None:
        ray = _ray()
        if self._owns_cluster:
            ray.shutdown()
        else:
            ray.kill(self._board)


class _Board:
    """An actor: workers post their progress on it and look whether they should stop."""

    def __init__(self) -> None:
        self._news: dict[str, Progress] = {}
        self._stop = False

    def post(self, run: str, progress: Progress) -> bool:
        """Note the progress; the answer is whether to stop."""
        self._news[run] = progress
        return self._stop

    def news(self) -> dict[str, Progress]:
        """What was posted since the last call."""
        news, self._news = self._news, {}
        return news

    def stop(self) -> None:
        """Let everybody stop."""
        self._stop = True


def _task(spec_json: str, store: str, saving: Saving, board: Any) -> Played:
    """Play one run on a worker of the cluster."""
    ray = _ray()
    spec = RunSpec.from_json(spec_json)
    stop = False

    def report(progress: Progress) -> None:
        nonlocal stop
        stop = ray.get(board.post.remote(spec.id, progress))

    work = Path(store) / "work" / spec.id
    with tempfile.TemporaryDirectory() as spare:
        handler = attach_log(Path(store)) if work.is_dir() else None
        if handler is None:
            logging.getLogger(__name__).warning(
                "%s is not on this machine: %s goes without lasting checkpoints", store, spec.id
            )
        try:
            return execute(
                spec,
                Checkpoints(work if handler else Path(spare), spec.hash),
                saving=saving,
                progress=report,
                should_stop=lambda: stop,
            )
        finally:
            if handler is not None:
                detach_log(handler)


def _connect(address: str | None, workers: int | None) -> None:
    ray = _ray()
    try:
        ray.init(
            address=address,
            num_cpus=None if address else workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=True,
        )
    except (ConnectionError, RuntimeError, ValueError) as problem:
        first = str(problem).splitlines()[0]
        raise InvalidInput(f"--address: no Ray cluster to be had: {first}") from None


def _raise(problem: Exception) -> Played:
    raise problem
