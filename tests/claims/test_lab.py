"""Where the runs of the claims are played: order, processes, GPUs, and interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from advmdp.claims.catalogue import CLAIMS
from advmdp.claims.lab import Lab
from advmdp.claims.playing.run_grids import Gaps, HorizonEffort
from advmdp.claims.verify import verify
from advmdp.cli import main, verifying
from advmdp.experiments.engines import batch_selection
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.interface import EngineOptions
from advmdp.experiments.engines.results import RunResult
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from tests.claims.fake_claims import claim_on
from tests.experiments.sweeps import one_run

SHORT = HorizonEffort((40, 80), (40, 80), Gaps(2, 1), n_replicates=2, n_rivals=2)


class Recorder(InlineEngine):
    """Plays here, and remembers what it was given."""

    def __init__(self, store: Path, given: list[RunSpec], cut_after: int | None = None) -> None:
        super().__init__(store, EngineOptions())
        self._given, self._cut_after = given, cut_after

    def submit(self, spec: RunSpec) -> None:
        super().submit(spec)
        self._given.append(spec)
        if len(self._given) == self._cut_after:
            signal.raise_signal(signal.SIGINT)


def recorder(given: list[RunSpec], cut_after: int | None = None) -> Callable[[Path], Recorder]:
    return lambda path: Recorder(path, given, cut_after)


def test_the_longest_runs_go_first_and_none_is_played_twice(tmp_path: Path) -> None:
    wide = {"name": "random", "layer_sizes": [1, 9, 9, 1], "n_actions": 2}
    specs = [one_run(n_episodes=n) for n in (10, 30, 20)] + [one_run(n_episodes=20, mdp=wide)]
    given: list[RunSpec] = []
    lab = Lab(Store(tmp_path / "s", create=True), engine=recorder(given))
    lab.prepare(specs)
    assert given == [specs[3], specs[1], specs[2], specs[0]]
    lab.prepare(specs)
    assert len(given) == 4


def test_many_runs_of_a_kind_go_to_the_gpu(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(batch_selection, "FEWEST_RUNS", 3)
    many = [one_run(n_episodes=20, replicate=i) for i in range(6)]
    few = [one_run(n_episodes=30, replicate=i) for i in range(5)]
    on_gpu: list[RunSpec] = []
    on_cores: list[RunSpec] = []
    store = Store(tmp_path / "s", create=True)
    lab = Lab(store, workers=2, engine=recorder(on_cores), gpu_engine=recorder(on_gpu))
    lab.prepare(few + many)
    assert (on_gpu, on_cores) == (many, few)
    again = [*many, one_run(n_episodes=20, replicate=6)]  # one is left: no batch any more
    lab.prepare(again)
    assert (on_gpu, on_cores) == (many, [*few, again[-1]])


ON_A_GPU = """
from dataclasses import replace
from advmdp.claims.catalogue import CLAIMS
from advmdp.claims.regret.exploration_spread import CLAIM, Effort
from advmdp.cli import main
from advmdp.experiments.engines import batch_selection
CLAIMS[CLAIM.name] = replace(CLAIM, quick=Effort(6, 3, 1))
batch_selection.FEWEST_RUNS = 6  # with and without gamma: one batch; the others are too few
command = "verify --claim exploration-spread --store store --workers 1 --engine cuda"
raise SystemExit(main(command.split()))
"""


# Claims that observe runs of their own, beside the store.
OBSERVED_ON_A_GPU = """
from dataclasses import replace
from advmdp.claims.catalogue import CLAIMS
from advmdp.claims.lemmas import confidence_sets, implicit_exploration
from advmdp.claims.playing import observed_runs
from advmdp.cli import main
for module, effort in ((confidence_sets, (3, 5, 2)), (implicit_exploration, (2, 4))):
    CLAIMS[module.CLAIM.name] = replace(module.CLAIM, quick=module.Effort(*effort))
played, plain = [], observed_runs.play_batch
observed_runs.play_batch = lambda batch, *how, **more: played.append(len(batch)) or plain(
    batch, *how, **more
)
command = "verify --claim confidence-sets --claim implicit-exploration --store store --workers 1"
code = main([*command.split(), "--engine", "cuda"])
assert played == [3, 2, 2, 2, 2], played
raise SystemExit(code)
"""


def on_the_simulated_gpu(script: str, tmp_path: Path) -> dict[str, Any]:
    """The findings of a command that may say anything: it plays a few episodes."""
    simulator = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=simulator,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode in (0, 1, 2), ended.stderr
    assert "Traceback" not in ended.stderr, ended.stderr
    found: dict[str, Any] = json.loads((tmp_path / "verify.json").read_text())
    return found


def test_a_claim_on_the_simulated_gpu(tmp_path: Path) -> None:
    found = on_the_simulated_gpu(ON_A_GPU, tmp_path)
    store = Store(tmp_path / "store")
    places = {m["figures"].get("played_on") for m in store.manifests()}
    assert places == {"numba's CUDA simulator", None}
    assert len(store.runs()) == 2 * (3 + 1)
    assert found["exploration-spread"]["runs"]


def test_watched_runs_on_the_simulated_gpu(tmp_path: Path) -> None:
    found = on_the_simulated_gpu(OBSERVED_ON_A_GPU, tmp_path)
    assert set(found) == {"confidence-sets", "implicit-exploration"}
    for one in found.values():
        assert "played on numba's CUDA simulator" in one["instances"]


def test_without_a_gpu_nothing_is_made(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("advmdp.batch.card.why_no_gpu", lambda: "GPU: none found; play elsewhere")
    assert main(["verify", "--engine", "cuda"]) == 2
    assert capsys.readouterr().err == "error: GPU: none found; play elsewhere\n"
    assert main(["verify", "--engine", "abacus"]) == 2
    assert "there is no 'abacus'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ cut and resumed


def test_the_full_command_goes_on_where_it_was_cut(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    short = replace(CLAIMS["four-terms"], full=SHORT)
    monkeypatch.setitem(CLAIMS, "four-terms", short)
    command = ["verify", "--full", "--claim", "four-terms", "-q", "--workers", "1", "--store"]
    n_runs = len(short.runs(quick=False))

    def play(store: str, cut_after: int | None = None) -> tuple[int, list[RunSpec]]:
        given: list[RunSpec] = []
        where = {"engine": recorder(given, cut_after)}
        monkeypatch.setattr(verifying, "_engines", lambda name, workers: where)
        return main([*command, store]), given

    assert play("whole")[0] == 0
    whole = Path("verify.json").read_text()
    Path("verify.json").unlink()
    code, first = play("cut", cut_after=5)
    assert (code, len(first)) == (130, 5)
    assert "to go on: " in capsys.readouterr().err
    assert not Path("verify.json").exists()
    ended = Store("cut").runs().filter(pl.col("status") == "finished").sort("run")
    code, second = play("cut")
    assert (code, len(second)) == (0, n_runs - len(ended))  # only what was left
    assert 0 < len(ended) < n_runs
    after = Store("cut").runs().filter(pl.col("run").is_in(ended["run"].implode())).sort("run")
    assert after["finished"].to_list() == ended["finished"].to_list()  # not touched again
    assert Path("verify.json").read_text() == whole  # to the last digit


def test_a_run_that_fails_costs_its_own_claims_only(tmp_path: Path) -> None:
    class Refusing(InlineEngine):
        def poll(self, on_progress):  # type: ignore[no-untyped-def]
            if self._waiting and self._waiting[-1].n_episodes == 30:
                return [RunResult(self._waiting.pop(), failure="refused")]
            return super().poll(on_progress)

    good, bad = [one_run(n_episodes=20)], [one_run(n_episodes=30)]

    def claim(specs: list[RunSpec]) -> Any:
        return claim_on(specs, lambda lab, _: "fails" if len(lab.play(specs)[0]) == 1 else "holds")

    said: list[str] = []
    store = Store(tmp_path / "s", create=True)
    lab = Lab(store, say=said.append, engine=lambda path: Refusing(path, EngineOptions()))
    found = verify(lab, claims={"good": claim(good), "bad": claim(bad)})
    assert (list(found), found["good"].verdict) == (["good"], "fails")
    assert f"bad: not measured: verify: {bad[0].id} could not be played: refused" in said
