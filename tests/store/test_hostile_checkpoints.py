"""Checkpoints with right checksums and wrong contents: passed over, and the run is played."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advmdp.experiments.engines.interface import CheckpointSchedule
from advmdp.experiments.engines.results import RunStopped
from advmdp.experiments.engines.single_run import play_run
from advmdp.files.archive import read_archive, write_archive
from advmdp.store import Store
from advmdp.store.checkpoints import KIND
from tests.experiments.sweeps import curve_bytes, one_run, play_here
from tests.learners.test_hostile_states import altered

SPEC = one_run(learner="exp3-ix")
HEADERS: list[dict[str, Any]] = [
    *({"hash": value} for value in (None, 1, "", "0" * 64, [], {})),
    *({"episodes": value} for value in (None, "60", -1, 1.5, 2**63, 10**400, [1], True)),
    *({"seconds": value} for value in (None, "1", -1.0, 1e300, [], 10**400)),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    store = Store(tmp_path_factory.mktemp("whole") / "store", create=True)
    play_here(store, [SPEC])
    return curve_bytes(store)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with a run that was cut; both of its checkpoints are complete."""
    store, identity = Store(tmp_path / "store", create=True), SPEC.identity()
    lock = store.lock(identity)
    assert lock is not None
    store.begin(identity, lock)
    looks = iter(range(3))
    with pytest.raises(RunStopped):
        play_run(
            SPEC,
            store.checkpoints(identity),
            schedule=CheckpointSchedule(seconds=0.0),
            should_stop=lambda: next(looks, None) is None,
        )
    lock.release()
    return store


def _files(store: Store) -> list[Path]:
    return sorted((store.path / "work" / SPEC.id).glob("checkpoint-*.bin"))


@pytest.mark.parametrize("change", HEADERS, ids=str)
def test_headers(change: dict[str, Any], store: Store, whole: dict[str, bytes], caplog) -> None:  # type: ignore[no-untyped-def]
    for file in _files(store):
        header, snapshot = read_archive(file, KIND)
        write_archive(file, KIND, header | change, snapshot)
    play_here(store, [SPEC])
    assert caplog.text.count("checkpoint skipped") == 2
    assert curve_bytes(store) == whole


def test_a_header_without_keys(store: Store, whole: dict[str, bytes]) -> None:
    for file in _files(store):
        write_archive(file, KIND, {}, {})
    play_here(store, [SPEC])
    assert curve_bytes(store) == whole


def test_the_older_checkpoint_serves(store: Store, whole: dict[str, bytes], caplog) -> None:  # type: ignore[no-untyped-def]
    """The newer one has values that no learner has."""
    identity = SPEC.identity()
    newest, older = store.checkpoints(identity).newest_first()
    assert newest.episodes > older.episodes
    for file in _files(store):
        header, snapshot = read_archive(file, KIND)
        if header["episodes"] == newest.episodes:
            snapshot["learner.clock"][0] = -7
            write_archive(file, KIND, header, snapshot)
    with caplog.at_level(logging.INFO, logger="advmdp"):
        play_here(store, [SPEC])
    assert "checkpoint skipped" in caplog.text
    assert f"resumed after {older.episodes} episodes" in caplog.text
    assert curve_bytes(store) == whole


def test_snapshots(store: Store, whole: dict[str, bytes], caplog) -> None:  # type: ignore[no-untyped-def]
    """Every array in turn: renamed, reshaped, of another type, or with a wrong value."""
    identity, (first, second) = SPEC.identity(), _files(store)
    second.unlink()
    header, snapshot = read_archive(first, KIND)
    cases = [wrong for _, wrong in altered(snapshot, np.random.default_rng(1))]
    for name, array in snapshot.items():
        rest = {other: kept for other, kept in snapshot.items() if other != name}
        cases += [rest, {**rest, name + "x": array}, {**rest, name: array[None]}]
        cases += [{**rest, name: np.zeros(0)}, {**rest, name: array.astype(np.complex128)}]
    skipped = 0
    for wrong in cases:
        caplog.clear()
        write_archive(first, KIND, header, wrong)
        completed = play_run(
            SPEC, store.checkpoints(identity), schedule=CheckpointSchedule(seconds=1e9)
        )
        assert np.isfinite(completed.outcome.curves["expected_loss"]).all()  # type: ignore[arg-type]
        skipped += "checkpoint skipped" in caplog.text
    assert skipped > len(cases) // 3
