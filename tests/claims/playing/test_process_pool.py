"""The process pool: order, errors, interruption, and what is left of a killed command."""

from __future__ import annotations

import multiprocessing as mp
import operator
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from advmdp.claims.playing.process_pool import map_in_processes


def test_results_come_in_the_order_of_the_items() -> None:
    heard: list[int] = []
    here = os.getpid()
    results = map_in_processes(partial(operator.add, 1), [3, 1, 2], 2, heard.append)
    assert results == [4, 2, 3] == heard
    assert map_in_processes(eval, ["__import__('os').getpid()"] * 2, workers=1) == [here, here]
    others = map_in_processes(eval, ["__import__('os').getpid()"] * 2, workers=2)
    assert here not in others


def test_an_error_or_an_interruption_ends_all_processes() -> None:
    with pytest.raises(ZeroDivisionError):
        map_in_processes(partial(operator.floordiv, 1), [1, 0], workers=2)

    def interrupt(result: None) -> None:
        raise KeyboardInterrupt

    before = set(mp.active_children())
    with pytest.raises(KeyboardInterrupt):
        map_in_processes(time.sleep, [0.0, 600.0], workers=2, on_result=interrupt)
    until(lambda: set(mp.active_children()) <= before)  # nobody waits for the sleeper


SLEEPERS = """
from advmdp.claims.playing.process_pool import map_in_processes
leave_a_mark = "open(str(__import__('os').getpid()), 'w').close()"
map_in_processes(eval, [f"{leave_a_mark} or __import__('time').sleep(600)"] * 2, workers=2)
"""


def test_a_killed_command_leaves_no_process_behind(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", SLEEPERS], cwd=tmp_path)
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    children = [int(file.name) for file in tmp_path.iterdir()]
    parent.kill()
    parent.wait()
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def until(condition: Callable[[], bool]) -> None:
    """Wait for it; a minute is far more than it takes."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain")
