"""The Hedge inequality holds, fails for a rate that was not used, and needs a comparator."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.claims import hedge
from advmdp.claims.upper_bounds import random_box
from tests.claims.broken import LyingRate, NarrowSets, rng

TINY = hedge.Size(1, 300)


def test_holds() -> None:
    finding = hedge.examine(TINY, rng())
    assert finding.verdict == "holds"
    assert 0.05 < finding.data["ratio"] < 1.0


def test_notices_a_rate_that_was_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    # hardly any learning, while the bound is asked for a thousand times the rate
    monkeypatch.setattr(hedge, "SETTINGS", ((0.1, 1e-3),))
    assert hedge.examine(hedge.Size(2, 16_000), rng()).verdict == "holds"
    assert hedge.examine(hedge.Size(2, 16_000), rng(), LyingRate).verdict == "fails"


def test_is_vacuous_when_no_transition_is_in_all_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedge, "log_spaced", lambda n, per_decade: np.array([n]))
    assert hedge.examine(hedge.Size(1, 2000), rng(), NarrowSets).verdict == "vacuous"


def test_the_worst_comparator_is_the_least_over_members() -> None:
    layout = am.Layout((1, 3, 2, 1), 2)
    generator = np.random.default_rng(2)
    box = random_box(layout, generator)
    losses = generator.random(layout.n_rows)
    least = hedge.least_loss(box, losses)
    seen = []
    for _ in range(200):
        weights = generator.random(layout.n_entries) ** 6 + 1e-9
        table = am.project(weights, box).occupancy
        seen.append(np.concatenate([t.sum(axis=2).ravel() for t in table]) @ losses)
    assert least <= min(seen) + 1e-12
    tilted = np.exp(-200.0 * losses)[layout.entry_rows()]  # nearly linear optimisation
    table = am.project(tilted, box).occupancy
    nearly = np.concatenate([t.sum(axis=2).ravel() for t in table]) @ losses
    assert nearly - least < 0.05
