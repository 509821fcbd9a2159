"""A sweep on a GPU, by numba's simulator: the results of the CPU, up to rounding."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from advmdp.batch import BatchProgress
from advmdp.experiments.build import build
from advmdp.experiments.engines import cuda_batches
from advmdp.experiments.engines.cuda_batches import PreparedRun
from advmdp.experiments.engines.results import RunProgress
from advmdp.store import Store
from tests.batch.simulator import simulate
from tests.experiments.sweeps import finished_command, one_run, play_here, runs_of

SWEEP = """
n_episodes = [7, 9]
replicates = 2
losses = "majority"
mdp = {name = "random", layer_sizes = [1, 2, 1], n_actions = 2}
learner = ["uob-reps", "exp3-ix"]
rewards = {low = -2, high = 3}
"""


def test_a_sweep_in_batches(tmp_path: Path) -> None:
    file, path = tmp_path / "sweep.toml", tmp_path / "store"
    file.write_text(SWEEP)
    command = ["sweep", file, "--store", path, "--engine", "cuda"]
    simulator = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    code, output, errors = finished_command(*command, env=simulator)
    assert code == 0, errors
    assert "[8/8]" in output
    here = Store(tmp_path / "here", create=True)
    play_here(here, runs_of(SWEEP))
    ours, theirs = Store(path).curves(), here.curves()
    assert ours["run"].to_list() == theirs["run"].to_list()
    assert ours["realised_loss"].to_list() == theirs["realised_loss"].to_list()  # the same draws
    for name in ("regret", "expected_loss", "best_loss", "error", "reg", "expected_reward"):
        mine, other = (frame[name].drop_nulls().to_numpy() for frame in (ours, theirs))
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)
    earned = [store.runs()["realised_reward"].to_list() for store in (Store(path), here)]
    assert earned[0] == earned[1]
    manifest = next(Store(path).manifests())
    assert manifest["figures"]["played_on"] == "numba's CUDA simulator"
    assert not list(path.glob("work/.batch-*"))


def test_no_gpu_is_said_in_one_line_and_nothing_is_created(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    environment["CUDA_VISIBLE_DEVICES"] = ""  # also on a machine that has one
    code, _, errors = finished_command(
        *("compare", "uniform", "--episodes", 10, "--engine", "cuda", "--store", tmp_path / "s"),
        env=environment,
    )
    assert code == 2
    assert errors.startswith("error: GPU: ")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


HOSTILE = """
import logging, sys
from pathlib import Path
from advmdp.files.archive import write_archive
from advmdp.experiments.engines.cuda_batches import KIND, CudaEngine, batch_checkpoint
from advmdp.experiments.runner import run_all
from advmdp.store import Store
from tests.batch.simulator import simulate
from tests.experiments.sweeps import one_run

logging.basicConfig(stream=sys.stdout)
store = Store(Path(sys.argv[1]), create=True)
number = np.int64
wrong = [
    {},
    {"wave": np.ones(3), "per_wave": number(0)},
    {"wave": number(10**12), "per_wave": number(1), "episodes": number(2), "stamp": number(0)},
    {"wave": number(0), "per_wave": number(1), "episodes": number(2**62), "stamp": number(0)},
]
for replicate, arrays in enumerate(wrong):
    spec = one_run(learner="exp3-ix", n_episodes=5, replicate=replicate)
    file = batch_checkpoint(store.path, [spec])
    write_archive(file, KIND, {}, {name: np.asarray(array) for name, array in arrays.items()})
    summary = run_all([spec], store, CudaEngine(store.path))
    assert summary.n_played == 1 and not summary.failures, summary
    assert not file.exists()
print("played")
"""


def test_a_hostile_checkpoint_of_a_batch_is_passed_over(tmp_path: Path) -> None:
    output = simulate(HOSTILE, str(tmp_path / "store"))
    assert "played" in output
    assert output.count("checkpoint passed over") == 4


# ------------------------------------------------------------------ progress of a batch


def waves(n_runs: int, per_wave: int, n_episodes: int, begin: int = 0, played: int = 0):  # type: ignore[no-untyped-def]
    """What ``play_batch`` reports of waves that are played two episodes at a time."""
    for first in range(begin, n_runs, per_wave):
        last = min(first + per_wave, n_runs)
        for episodes in range(played + 2, n_episodes + 1, 2):
            yield BatchProgress(last, first * n_episodes + episodes * (last - first), 100.0)
        played = 0


@pytest.mark.parametrize("resumed", [False, True])
def test_a_batch_in_waves_is_reported_run_by_run(
    resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five runs of six episodes, two at a time; resumed after four episodes of the second wave."""
    monkeypatch.setattr(cuda_batches, "REPORT_SECONDS", 0.0)
    specs = [one_run(n_episodes=6, replicate=i) for i in range(5)]
    batch = [PreparedRun(spec, build(spec)) for spec in specs]
    numbers = {"wave": 2, "episodes": 4, "per_wave": 2, "stamp": 0}
    saved = {name: np.array(number) for name, number in numbers.items()}
    seen: dict[str, list[RunProgress]] = {spec.id: [] for spec in specs}
    reporter = cuda_batches._Reporter(
        batch, saved if resumed else None, lambda run, progress: seen[run].append(progress)
    )
    for progress in waves(5, 2, 6, begin=2, played=4) if resumed else waves(5, 2, 6):
        reporter(progress)
    episodes = [[progress.episodes for progress in one] for one in seen.values()]
    rates = [one[-1].episodes_per_second for one in seen.values() if one]
    if resumed:
        assert episodes == [[], [], [6], [6], [2, 4, 6]]
        assert reporter.resumed_at == [6, 6, 4, 4, 0]
        assert [one[-1].resumed_at for one in seen.values() if one] == [4, 4, 0]
        assert rates == [50.0, 50.0, 100.0]  # the last wave is one run
    else:
        assert episodes == [[2, 4, 6]] * 5
        assert reporter.resumed_at == [0] * 5
        assert rates == [50.0] * 4 + [100.0]


def test_reports_about_thousands_of_runs_are_rare_but_the_last_one_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_batches, "REPORT_SECONDS", 1e9)
    spec = one_run(n_episodes=6)
    seen: list[int] = []
    reporter = cuda_batches._Reporter(
        [PreparedRun(spec, build(spec))], None, lambda run, progress: seen.append(progress.episodes)
    )
    for progress in waves(1, 1, 6):
        reporter(progress)
    assert seen == [2, 6]
