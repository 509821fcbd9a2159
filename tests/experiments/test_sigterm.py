"""SIGTERM ends every command, whatever it is waiting for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from advmdp.store import Store
from tests.experiments.sweeps import command, one_run, play_here

PATIENCE = 60.0  # seconds; a command that takes longer hangs


def _ended(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode


STUCK = """
import os, sys
from pathlib import Path
from advmdp.cli import main
from advmdp.experiments import runner
from advmdp.experiments.engines.inline import InlineEngine

runner.GRACE_SECONDS = 0.5


def wait_for_ever(self, on_progress):
    print("waiting", flush=True)
    os.read(os.pipe()[0], 1)


InlineEngine.poll = wait_for_ever
sys.exit(main(["run", "uniform", "--episodes", "10", "--store", sys.argv[1]]))
"""


def test_a_run_that_does_not_come_back(tmp_path: Path) -> None:
    """The runs under way are asked to stop; those that do not are left after a while."""
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(tmp_path / "store")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    assert _ended(process) == -signal.SIGTERM
    assert Store(tmp_path / "store").runs()["status"].to_list() == ["cut"]


@pytest.mark.parametrize("arguments", [["run", "--spec"], ["sweep"]])
def test_a_spec_that_is_a_pipe(arguments: list[Any], tmp_path: Path) -> None:
    """The user's own pipe is waited for, as by any program, and SIGTERM ends the wait."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)  # so that the command waits in reading, not in opening
    process = command(*arguments, pipe, "--store", tmp_path / "store")
    time.sleep(2.0)  # any moment will do: the signal must end the command at all of them
    assert process.poll() is None
    assert _ended(process) == -signal.SIGTERM
    os.close(held)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["store.json", "runs/{run}/manifest.json"])
def test_readers_of_a_store_with_pipes(name: str, tmp_path: Path) -> None:
    """They end by themselves: a pipe in a store is not waited for, even when it is held open."""
    store = Store(tmp_path / "store", create=True)
    play_here(store, [one_run(learner="uniform")])
    file = store.path / name.format(run=one_run(learner="uniform").id)
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    held = os.open(file, os.O_RDWR)
    for arguments in (["ls", store.path],):
        process = command(*arguments)
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        assert process.returncode in (0, 2), errors
        assert "Traceback" not in errors
    os.close(held)
