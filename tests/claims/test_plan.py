"""Plans: every run is counted once, and a dry run plays nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advmdp.claims.catalogue import CLAIMS, runs_of
from advmdp.claims.lab import Lab
from advmdp.claims.plan import plan_claims
from advmdp.claims.regret.exploration_spread import Effort
from advmdp.cli import main
from advmdp.store import Store
from tests.claims import fake_claims
from tests.experiments.sweeps import one_run, play_here


def not_measured(lab: Lab, effort: Any) -> Any:
    pytest.fail("a plan measures nothing")


def test_a_plan_counts_every_run_once(tmp_path: Path) -> None:
    shared = [one_run(n_episodes=n) for n in (100, 200)]
    claims = {
        "lemma": fake_claims.claim(measure=not_measured, stored=False),
        "first": fake_claims.claim_on(shared, not_measured),
        "second": fake_claims.claim_on([*shared, one_run(n_episodes=400)], not_measured),
    }
    assert len(runs_of(claims.values(), quick=True)) == 3
    store = Store(tmp_path / "s", create=True)
    play_here(store, shared[:1])
    planned = plan_claims(list(claims), store, quick=True, claims=claims)
    assert not planned["lemma"].stored
    counts = {n: (p.runs, p.finished, p.shared, p.episodes) for n, p in planned.items()}
    assert counts == {"lemma": (0, 0, 0, 0), "first": (2, 1, 0, 200), "second": (1, 0, 2, 400)}
    took = store.runs()["seconds"][0]
    assert planned["second"].seconds == pytest.approx(4 * took)  # as long as what was played
    blind = plan_claims(list(claims), None, quick=True, claims=claims)
    assert blind["second"].seconds == pytest.approx(400 * (2e-6 + 30 * 3e-8))


def test_a_dry_run_plays_nothing(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    small = replace(CLAIMS["exploration-spread"], full=Effort(7, 3, 2))
    monkeypatch.setitem(CLAIMS, "exploration-spread", small)
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
        if claim.is_stored and name != "exploration-spread":  # that one has 22,000 runs
            assert claim.runs(quick=True)
            assert claim.runs(quick=False)
    theorem = CLAIMS["regret-over-episodes"]
    assert set(theorem.runs(quick=True)) <= set(theorem.runs(quick=False))
