"""Where the runs of the claims are played: order, processes, cards, cuts, and plans ahead."""

from __future__ import annotations

import json
import multiprocessing as mp
import operator
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from advmdp.claims import exploration_spread, four_terms, plan
from advmdp.claims.aside import spread
from advmdp.claims.catalogue import CLAIMS, Claim, runs_of
from advmdp.claims.designs import Effort, Gaps, all_specs
from advmdp.claims.lab import Lab
from advmdp.claims.verify import verify
from advmdp.cli import main, verifying
from advmdp.experiments.engines import batch_selection
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.results import RunResult
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from tests.claims.test_verify import finding
from tests.experiments.sweeps import one_run, play_here

SHORT = Effort((40, 80), (40, 80), Gaps(2, 1), n_replicates=2, n_rivals=2)


# ------------------------------------------------------------------ processes


def test_work_is_spread_over_processes_in_order() -> None:
    heard: list[int] = []
    here = os.getpid()
    assert spread(partial(operator.add, 1), [3, 1, 2], 2, heard.append) == [4, 2, 3] == heard
    assert spread(eval, ["__import__('os').getpid()"] * 2, workers=1) == [here, here]
    others = spread(eval, ["__import__('os').getpid()"] * 2, workers=2)
    assert here not in others


def test_what_is_spread_can_fail_and_be_cut() -> None:
    with pytest.raises(ZeroDivisionError):
        spread(partial(operator.floordiv, 1), [1, 0], workers=2)

    def cut(result: None) -> None:
        raise KeyboardInterrupt

    before = set(mp.active_children())
    with pytest.raises(KeyboardInterrupt):
        spread(time.sleep, [0.0, 600.0], workers=2, heard=cut)
    until(lambda: set(mp.active_children()) <= before)  # nobody waits for the sleeper


SLEEPERS = """
from advmdp.claims.aside import spread
leave_a_mark = "open(str(__import__('os').getpid()), 'w').close()"
spread(eval, [f"{leave_a_mark} or __import__('time').sleep(600)"] * 2, workers=2)
"""


def test_a_killed_command_leaves_no_process_behind(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", SLEEPERS], cwd=tmp_path)
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    children = [int(file.name) for file in tmp_path.iterdir()]
    parent.kill()
    parent.wait()
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def until(condition) -> None:  # type: ignore[no-untyped-def]
    """Wait for it; a minute is far more than it takes."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain")


# ------------------------------------------------------------------ engines


class Recorder(InlineEngine):
    """Plays here, and remembers what it was given."""

    def __init__(self, store: Path, given: list[RunSpec], cut_after: int | None = None) -> None:
        super().__init__(store)
        self._given, self._cut_after = given, cut_after

    def submit(self, spec: RunSpec) -> None:
        super().submit(spec)
        self._given.append(spec)
        if len(self._given) == self._cut_after:
            os.kill(os.getpid(), signal.SIGINT)


def recorder(given: list[RunSpec], cut_after: int | None = None):  # type: ignore[no-untyped-def]
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


def test_many_runs_of_a_kind_go_to_the_card(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(batch_selection, "FEWEST_RUNS", 3)
    many = [one_run(n_episodes=20, replicate=i) for i in range(6)]
    few = [one_run(n_episodes=30, replicate=i) for i in range(5)]
    on_card: list[RunSpec] = []
    on_cores: list[RunSpec] = []
    store = Store(tmp_path / "s", create=True)
    Lab(store, workers=2, engine=recorder(on_cores), card=recorder(on_card)).prepare(few + many)
    assert (on_card, on_cores) == (many, few)
    again = [*many, one_run(n_episodes=20, replicate=6)]  # one is left: no batch any more
    Lab(store, workers=2, engine=recorder(on_cores), card=recorder(on_card)).prepare(again)
    assert (on_card, on_cores) == (many, [*few, again[-1]])


ON_A_CARD = """
from advmdp.claims import exploration_spread
from advmdp.cli import main
from advmdp.experiments.engines import batch_selection
exploration_spread.QUICK = exploration_spread.Effort(6, 3, 1)
batch_selection.FEWEST_RUNS = 6  # with and without gamma: one batch; the others are too few
command = "verify --claim exploration-spread --store store --workers 1 --engine cuda"
raise SystemExit(main(command.split()))
"""


# Claims that watch runs of their own, beside the store.
WATCHED_ON_A_CARD = """
from advmdp.claims import confidence, implicit_exploration, witness
from advmdp.cli import main
confidence.QUICK = confidence.Size(3, 5, 2)
implicit_exploration.QUICK = implicit_exploration.Size(2, 4)
played, plain = [], witness.play_batch
witness.play_batch = lambda batch, *how, **more: played.append(len(batch)) or plain(
    batch, *how, **more
)
command = "verify --claim confidence-sets --claim implicit-exploration --store store --workers 1"
code = main([*command.split(), "--engine", "cuda"])
assert played == [3, 2, 2, 2, 2], played
raise SystemExit(code)
"""


def on_the_simulated_card(script: str, tmp_path: Path) -> dict[str, Any]:
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


def test_a_claim_on_the_simulated_card(tmp_path: Path) -> None:
    found = on_the_simulated_card(ON_A_CARD, tmp_path)
    store = Store(tmp_path / "store")
    places = {m["figures"].get("played_on") for m in store.manifests()}
    assert places == {"numba's CUDA simulator", None}
    assert len(store.runs()) == 2 * (3 + 1)
    assert found["exploration-spread"]["runs"]


def test_watched_runs_on_the_simulated_card(tmp_path: Path) -> None:
    found = on_the_simulated_card(WATCHED_ON_A_CARD, tmp_path)
    assert set(found) == {"confidence-sets", "implicit-exploration"}
    for one in found.values():
        assert "played on numba's CUDA simulator" in one["instances"]


def test_without_a_card_nothing_is_made(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
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
    monkeypatch.setattr(four_terms, "FULL", SHORT)
    command = ["verify", "--full", "--claim", "four-terms", "-q", "--workers", "1", "--store"]
    n_runs = len(all_specs(*four_terms.designs(SHORT).values()))

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


# ------------------------------------------------------------------ plans


def test_a_plan_counts_every_run_once(tmp_path: Path) -> None:
    shared = [one_run(n_episodes=n) for n in (100, 200)]
    claims = {
        "lemma": Claim(lambda lab: pytest.fail("not measured")),
        "first": Claim(lambda lab: pytest.fail("not measured"), lambda quick: shared),
        "second": Claim(
            lambda lab: pytest.fail("not measured"),
            lambda quick: [*shared, one_run(n_episodes=400)],
        ),
    }
    assert len(runs_of(claims.values(), quick=True)) == 3
    store = Store(tmp_path / "s", create=True)
    play_here(store, shared[:1])
    planned = plan.plan(list(claims), store, quick=True, claims=claims)
    assert not planned["lemma"].stored
    counts = {n: (p.runs, p.finished, p.shared, p.episodes) for n, p in planned.items()}
    assert counts == {"lemma": (0, 0, 0, 0), "first": (2, 1, 0, 200), "second": (1, 0, 2, 400)}
    took = store.runs()["seconds"][0]
    assert planned["second"].seconds == pytest.approx(4 * took)  # as long as what was played
    blind = plan.plan(list(claims), None, quick=True, claims=claims)
    assert blind["second"].seconds == pytest.approx(400 * (2e-6 + 30 * 3e-8))


def test_a_dry_run_plays_nothing(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exploration_spread, "FULL", exploration_spread.Effort(7, 3, 2))
    names = ["--claim", "exploration-spread", "--claim", "hedge"]
    assert main(["verify", "--full", "--dry-run", "--workers", "2", *names]) == 0
    shown = capsys.readouterr().out
    assert "70 episodes in 10 runs, about 0 s on 2 cores; 1 more claims without" in shown
    assert main(["verify", "--full", "--dry-run", "--json", *names]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["name"], one["runs"], one["episodes"]) for one in lines] == [
        ("hedge", 0, 0),
        ("exploration-spread", 10, 70),
    ]
    assert list(tmp_path.iterdir()) == []


def test_the_efforts_can_be_made_into_runs() -> None:
    """Every stored claim at both efforts; the quick runs of the theorem are part of the full."""
    for name, claim in CLAIMS.items():
        if claim.runs is not None and name != "exploration-spread":  # that one has 22,000 runs
            assert claim.runs(True)
            assert claim.runs(False)
    theorem = CLAIMS["regret-over-episodes"].runs
    assert theorem is not None
    assert set(theorem(True)) <= set(theorem(False))


def test_a_run_that_fails_costs_its_own_claims_only(tmp_path: Path) -> None:
    class Refusing(InlineEngine):
        def poll(self, on_progress):  # type: ignore[no-untyped-def]
            if self._waiting and self._waiting[-1].n_episodes == 30:
                return [RunResult(self._waiting.pop(), failure="refused")]
            return super().poll(on_progress)

    good, bad = [one_run(n_episodes=20)], [one_run(n_episodes=30)]

    def claim(specs: list[RunSpec]) -> Claim:
        return Claim(lambda lab: finding(runs=[len(lab.play(specs)[0])]), lambda quick: specs)

    said: list[str] = []
    store = Store(tmp_path / "s", create=True)
    lab = Lab(store, say=said.append, engine=lambda path: Refusing(path))
    found = verify(lab, claims={"good": claim(good), "bad": claim(bad)})
    assert (list(found), found["good"].runs) == (["good"], [1])
    assert f"bad: not measured: verify: {bad[0].id} could not be played: refused" in said
