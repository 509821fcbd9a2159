"""A worker that dies while it starts: one line that says what to try."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from advmdp.errors import AdvMDPError
from advmdp.experiments.engines import worker_process
from advmdp.experiments.engines.interface import EngineOptions
from advmdp.experiments.engines.local import LocalEngine
from tests.experiments.sweeps import one_run


def test_it_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "warm_up", os.abort)
    engine = LocalEngine(tmp_path / "store", EngineOptions(workers=1))
    with pytest.raises(AdvMDPError, match="engine: a worker died while it started"):
        engine.check([one_run()])
    engine.close()
