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
from advmdp.files.archive import read_archive, write_archive

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


# ---------------------------------------------------------------------- worlds and sweeps

LITTLE_MEMORY = """
import resource, sys
import numpy as np
import advmdp as am
import advmdp.gym
import gymnasium
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec

lake = gymnasium.make("FrozenLake-v1")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20,) * 2)
HUGE = 10**9


def spec(**changes):
    mdp = {"name": "random", "layer_sizes": [1, 2, 1], "n_actions": 2}
    fields = dict(learner="uniform", mdp=mdp, losses="majority", n_episodes=2**31 - 1)
    return build(RunSpec(**(fields | changes)))


def sweep(**changes):
    mdp = {"name": "random", "layer_sizes": [1, 2, 1], "n_actions": 2}
    fields = dict(learner="uniform", mdp=mdp, losses="majority", n_episodes=10)
    return SweepSpec(**(fields | changes)).runs()


many = list(range(1, 1001))
CALLS = [
    lambda: am.families.grid(HUGE, HUGE, 3),
    lambda: am.families.grid(HUGE, 1, 3),
    lambda: am.families.grid(2, 2, HUGE),
    lambda: am.families.grid(2, 2, 10**6, pooled=True),
    lambda: am.families.grid(100, 100, 90_000),
    lambda: am.families.river_swim(HUGE, 5),
    lambda: am.families.river_swim(5, HUGE),
    lambda: am.families.deep_sea(HUGE),
    lambda: am.families.combination_lock(HUGE, 2, seed=0),
    lambda: am.families.combination_lock(10**8, 2, seed=0),
    lambda: am.families.combination_lock(2, HUGE, seed=0),
    lambda: am.families.routing(HUGE, HUGE, seed=0),
    lambda: am.families.routing(2, 10**8, seed=0),
    lambda: am.families.routing(HUGE, 1, seed=0),
    lambda: am.families.routing(3, 3, seed=0, n_links=HUGE),
    lambda: am.families.random_mdp((1, HUGE, 1), 2, seed=0),
    lambda: am.families.random_mdp((1, 2, 1), HUGE, seed=0),
    lambda: am.time_expand(np.ones((1, 1, 1)), HUGE),
    lambda: am.time_expand(np.full((600, 1, 600), 1 / 600), 99_999),
    lambda: advmdp.gym.from_gymnasium(lake, HUGE),
    lambda: advmdp.gym.unroll(lake, HUGE, am.Rewards(0, 1)),
    lambda: spec(mdp={"name": "gymnasium", "id": "FrozenLake-v1", "horizon": HUGE}),
    lambda: spec(checkpoints=HUGE),
    lambda: spec(checkpoints=2**62),
    lambda: spec(losses={"name": "switching", "n_tables": HUGE}),
    lambda: spec(losses={"name": "turning", "parts": HUGE}),
    lambda: spec(losses={"name": "corrupted", "n_corrupted": 2 * HUGE}),
    lambda: spec(learner={"name": "ucrl2-window", "window": HUGE}),
    lambda: sweep(replicates=10**12),
    lambda: sweep(n_episodes=many, learner={"name": "uob-reps", "eta_scale": many}, replicates=9),
]
for i, call in enumerate(CALLS):
    try:
        call()
    except am.InvalidInput as problem:
        assert "\\n" not in str(problem), problem
    else:
        raise SystemExit(f"call {i} was accepted")
print("refused", len(CALLS))
"""


def test_huge_worlds_and_sweeps_are_refused_within_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "refused 30" in done.stdout
