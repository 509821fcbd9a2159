"""What the runner makes of the results of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import advmdp as am
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.results import OnProgress, RunResult
from advmdp.experiments.runner import Watcher, run_all
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from tests.experiments.sweeps import one_run, play_here


class Heard(Watcher):
    """Remembers which runs were found, lost or failed."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def found(self, spec: RunSpec) -> None:
        self.events.append(("found", spec.id))

    def lost(self, spec: RunSpec) -> None:
        self.events.append(("lost", spec.id))

    def failed(self, spec: RunSpec, reason: str) -> None:
        self.events.append(("failed", reason))

    def elsewhere(self, n_runs: int) -> None:
        pytest.fail("a run is still claimed")


class Losing(InlineEngine):
    """Its worker is lost with every run."""

    def poll(self, on_progress: OnProgress) -> list[RunResult]:
        return [RunResult(self._waiting.pop(), lost="its process died")] if self._waiting else []


class Failing(InlineEngine):
    """Every run fails."""

    def poll(self, on_progress: OnProgress) -> list[RunResult]:
        return [RunResult(self._waiting.pop(), failure="no")] if self._waiting else []


def test_a_run_that_loses_its_worker_three_times_fails(tmp_path: Path) -> None:
    store, spec, heard = Store(tmp_path / "store", create=True), one_run(), Heard()
    reason = "its process died 3 times; is there enough memory?"
    summary = run_all([spec], store, Losing(store.path), heard)
    assert summary.failures == {spec.id: reason}
    assert heard.events == [("lost", spec.id)] * 2 + [("failed", reason)]
    assert store.manifest(spec.id)["reason"] == reason
    assert play_here(store, [spec]).complete  # the next sweep tries again


def test_a_run_that_another_sweep_finishes_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, heard = Store(tmp_path / "store", create=True), Heard()
    first, second = one_run(), one_run(replicate=1)
    original = Store.lock

    def late(self: Store, identity: Any) -> Any:
        if identity.run == second.id:
            monkeypatch.setattr(Store, "lock", original)
            play_here(Store(tmp_path / "store"), [second])
        return original(self, identity)

    monkeypatch.setattr(Store, "lock", late)
    summary = run_all([first, second], store, InlineEngine(store.path), heard)
    assert (summary.n_found, summary.n_played, summary.complete) == (1, 1, True)
    assert heard.events == [("found", second.id)]


def test_a_failure_that_cannot_be_noted_is_a_failure_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep ends in one line, and the run can be played by the next."""
    store, specs = Store(tmp_path / "store", create=True), [one_run(), one_run(replicate=1)]

    def refuse(*given: Any) -> None:
        raise am.errors.StorageFailure("no room")

    with monkeypatch.context() as full:
        full.setattr(Store, "fail", refuse)
        with pytest.raises(am.errors.StorageFailure, match="no room"):
            run_all(specs, store, Failing(store.path))
    assert run_all(specs, store, InlineEngine(store.path), Heard()).n_played == 2
