"""What killed writers leave in a store is removed when nobody can be writing it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from advmdp.store import Store
from advmdp.store.folder import ABANDONED_SECONDS
from tests.experiments.sweeps import one_run

DRAFT = ".checkpoint-a.bin.0123456789abcdef.partial"
BATCH = "..batch-0123456789abcdef.bin.0123456789abcdef.partial"
MARKER = ".store.json.0123456789abcdef.partial"


def test_drafts_of_a_run_are_removed_by_the_holder_of_its_lock(tmp_path: Path) -> None:
    store, identity = Store(tmp_path / "store", create=True), one_run().identity()
    other = store.path / "work" / "another-run" / DRAFT
    other.parent.mkdir()
    other.write_bytes(b"half")
    lock = store.lock(identity)
    assert lock is not None
    (lock.folder / DRAFT).write_bytes(b"half")
    (lock.folder / "checkpoint-b.bin").write_bytes(b"kept")
    store.begin(identity, lock)
    assert sorted(os.listdir(lock.folder)) == ["checkpoint-b.bin", "lock", "manifest.json"]
    assert other.exists()
    lock.release()


def test_drafts_without_a_lock_are_removed_when_they_are_old(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", create=True)
    drafts = [store.path / "work" / BATCH, store.path / MARKER]
    for draft in drafts:
        draft.write_bytes(b"half")
    Store(store.path, create=True)
    assert all(draft.exists() for draft in drafts)  # somebody may be writing them
    long_ago = time.time() - ABANDONED_SECONDS - 60
    for draft in drafts:
        os.utime(draft, (long_ago, long_ago))
    Store(store.path)
    assert all(draft.exists() for draft in drafts)  # readers remove nothing
    Store(store.path, create=True)
    assert not any(draft.exists() for draft in drafts)
