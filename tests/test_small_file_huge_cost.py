"""Small files and short arguments that ask for huge things are refused before anything is built."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.archive import read_archive, write_archive

HUGE: dict[str, tuple[Any, int, str]] = {
    "states": ([1, 10**9, 1], 1, "states are too many"),
    "states and actions": ([1, 10**9, 1], 2, "states are too many"),
    "actions": ([1, 1], 10**9, "pairs of states and actions are too many"),
    "layers": ([1] * 2_000_001, 1, "layers are too many"),
    "triples": ([1, 50_000, 50_000, 1], 1, "triples are too many"),
}


def test_huge_layouts_are_refused_within_little_memory() -> None:
    """With so little room for more that index arrays would not fit."""
    script = (
        "import json, resource, sys\n"
        "import advmdp as am\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20,) * 2)\n"
        "for sizes, n_actions, expected in json.load(sys.stdin):\n"
        "    for support in (None, []):\n"
        "        try:\n"
        "            am.Layout(sizes, n_actions, support)\n"
        "        except am.InvalidInput as problem:\n"
        "            assert expected in str(problem) or support == [], problem\n"
        "        else:\n"
        "            raise SystemExit(f'{sizes[:3]}, {n_actions}: accepted')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(list(HUGE.values())),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_large_layouts_are_still_made() -> None:
    assert am.Layout([1, 1000, 1000, 1], 5).n_entries == 5 * (1000 + 1000**2 + 1000)
    assert am.Layout([1] * 5_001, 2).n_layers == 5_000


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    """The header and the arrays of a small file, and a way to load altered ones."""
    layout = am.Layout((1, 3, 3, 1), 2)
    am.FPOP(layout, 100, seed=np.random.SeedSequence(5).spawn(1)[0]).save(tmp_path / "learner")
    header, arrays = read_archive(tmp_path / "learner", "learner")

    def load(header: Any) -> Any:
        write_archive(tmp_path / "learner", "learner", header, arrays)
        return am.load(tmp_path / "learner")

    return header, load


@pytest.mark.parametrize(
    ("sizes", "n_actions"),
    [([1, 10**7, 1], 2), ([1, 3, 3, 1], 10**7), ([1, 3000, 3000, 1], 2), ([1] * 50_001, 30)],
)
def test_a_layout_that_the_file_cannot_fill_is_not_built(
    saved: Any, sizes: list[int], n_actions: int
) -> None:
    header, load = saved
    header["layout"] = {"sizes": sizes, "n_actions": n_actions}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(am.InvalidInput, match="the file holds"):
        load(header)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


@pytest.mark.parametrize(
    "change",
    [
        *({"pool_size": size} for size in (100_000, -1, 2, "4")),
        {"entropy": -1},
        {"spawn_key": [-1]},
    ],
)
def test_a_wrong_seed_is_refused(saved: Any, change: dict[str, Any]) -> None:
    header, load = saved
    assert load(header).episodes == 0
    header["arguments"]["seed"]["seed"] |= change
    with pytest.raises(am.InvalidInput, match="seed"):
        load(header)


def test_a_huge_window_is_refused() -> None:
    with pytest.raises(am.InvalidInput, match="window: 1000000000000 episodes are too many"):
        am.SlidingWindowUCRL2(am.Layout((1, 2, 1), 2), window=10**12)
