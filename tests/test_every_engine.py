"""One list of properties for every registered engine: stop, lost workers, full disks, progress.

The simulator of numba stands in for the GPU.  What happens is in ``tests/engines/driver.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import advmdp
from advmdp.experiments.engines.interface import Engine
from advmdp.experiments.engines.registry import ENGINES
from tests.engines.trials import TRIALS

ROOT = Path(__file__).parent.parent
PLACES = (str(Path(advmdp.__file__).parents[1]), str(ROOT))


@pytest.fixture(scope="module", params=sorted(ENGINES))
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the driver wrote about an engine."""
    folder = tmp_path_factory.mktemp(request.param)
    finished = subprocess.run(
        [sys.executable, "-m", "tests.engines.driver", request.param, str(folder)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": os.pathsep.join(PLACES)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads((folder / "report.json").read_text())


def test_every_engine_has_a_trial() -> None:
    assert set(TRIALS) == set(ENGINES)
    for entry in ENGINES.values():
        assert issubclass(entry.load(), Engine)
        assert entry.place


def test_progress_adds_up(report: dict[str, Any]) -> None:
    """To the number of runs and to the episodes of each; nothing is reported twice."""
    whole, lengths = observed(report, "whole"), report["runs"]
    assert (whole["n_runs"], whole["n_unfinished"]) == (len(lengths), len(lengths))
    assert whole["summary"]["n_played"] == len(lengths)
    assert whole["n_started"] == dict.fromkeys(lengths, 1)
    assert sorted(whole["finished_runs"]) == sorted(lengths)
    assert {run: seen[-1] for run, seen in whole["episodes"].items()} == lengths
    for seen in whole["episodes"].values():
        assert seen == sorted(set(seen))


def test_an_interrupt_leaves_finished_runs_and_the_rest_resumable(report: dict[str, Any]) -> None:
    stopped, short = observed(report, "stopped"), set(report["runs"]) - set(report["long"])
    assert stopped["under_way"], "nothing was under way"
    assert stopped["summary"]["interrupted"]
    assert not stopped["summary"]["failures"]
    statuses = stopped["statuses"]
    assert {statuses[run] for run in short} == {"finished"}
    assert "cut" in {statuses[run] for run in report["long"]}
    assert stopped["n_checkpoints"] > 0
    assert_completed(stopped["again"], report, n_found=len(stopped["finished_runs"]))


def test_a_lost_worker_costs_only_the_runs_under_way(report: dict[str, Any]) -> None:
    """Those alone are submitted again, and end with the same bytes; Ray resubmits them itself."""
    lost = observed(report, "lost")
    assert lost["under_way"], "nothing was under way"
    assert set(lost["lost_runs"]) <= set(lost["under_way"])
    submitted = {run: 1 + lost["lost_runs"].count(run) for run in report["runs"]}
    assert lost["n_started"] == submitted
    assert lost["summary"]["n_played"] == len(report["runs"])
    assert lost["curves"] == report["whole"]["curves"]


def test_a_full_disk_is_one_line_and_nothing_is_lost(report: dict[str, Any]) -> None:
    full, short = observed(report, "full_disk"), set(report["runs"]) - set(report["long"])
    assert "cannot be written (No such file or directory)" in full["message"]
    assert "\n" not in full["message"]
    assert set(full["finished"]) == short
    assert_completed(full["again"], report, n_found=len(short))


def test_a_run_that_cannot_be_built_fails_alone(report: dict[str, Any]) -> None:
    bad = observed(report, "unbuildable")
    assert list(bad["summary"]["failures"]) == [bad["bad"]]
    assert bad["summary"]["failures"][bad["bad"]].startswith("learner.delta: 2.0 is not")
    assert bad["summary"]["n_played"] == 3
    assert len(bad["finished"]) == 3


def observed(report: dict[str, Any], name: str) -> dict[str, Any]:
    """What was observed of a property; where the driver failed, its traceback fails the test."""
    found: dict[str, Any] = report[name]
    assert "error" not in found, found["error"]
    return found


def assert_completed(again: dict[str, Any], report: dict[str, Any], n_found: int) -> None:
    """The sweep finds its finished runs, and ends with the bytes of an undisturbed one."""
    assert again["summary"]["n_found"] == n_found
    assert again["summary"]["n_played"] == len(report["runs"]) - n_found
    assert again["curves"] == report["whole"]["curves"]
    assert again["left"] == []
