"""The Hedge inequality: made-up sides, a rate that was not used, and the worst comparator."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.claims.lemmas import hedge
from advmdp.claims.lemmas.hedge import CLAIM, Comparison, Effort, Measurement, judge, measure
from advmdp.claims.lemmas.upper_occupancy import random_box
from tests.claims.broken import LyingRate, NarrowSets
from tests.claims.made_up import LemmaLab

TINY = Effort(1, 50)


def sides(*pairs: tuple[float, float], empty: int = 0) -> Measurement:
    """Comparisons of one run with these left and right sides."""
    made = [
        Comparison(1.0, 8.0, 0, 10 * (i + 1), left, right, 0.5 * right)
        for i, (left, right) in enumerate(pairs)
    ]
    return Measurement(Effort(2, 100), made, empty)


MADE_UP = {
    "holds": lambda: sides((1.0, 10.0), (3.0, 12.0), empty=1),
    "fails": lambda: sides((1.0, 10.0), (12.1, 12.0)),
    "vacuous": lambda: sides(empty=5),
}


def test_the_nearest_comparison_is_reported() -> None:
    finding = CLAIM.conclude(sides((1.0, 10.0), (3.0, 12.0), empty=1))
    assert finding.data == {
        "ratio": 0.25,
        "sharp": 0.5,
        "slack": 9.0,
        "comparisons": 2,
        "empty": 1,
    }
    assert finding.margin == "the nearest comparison leaves 75.0% of the bound unused"
    (series,) = finding.panels[0].series
    assert (series.key, series.x.tolist(), series.y.tolist()) == (
        "learning rate x 8",
        [10.0, 20.0],
        [0.1, 0.25],
    )


def test_holds() -> None:
    judgement = judge(measure(LemmaLab(), Effort(1, 300)))
    assert judgement.verdict == "holds"
    assert 0.05 < judgement.data["ratio"] < 1.0


def test_notices_a_rate_that_was_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    # hardly any learning, while the bound is asked for a thousand times the rate
    monkeypatch.setattr(hedge, "SETTINGS", ((0.1, 1e-3),))
    assert judge(measure(LemmaLab(), Effort(2, 16_000))).verdict == "holds"
    assert judge(measure(LemmaLab(), Effort(2, 16_000), LyingRate)).verdict == "fails"


def test_is_vacuous_when_no_transition_is_in_all_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedge, "log_spaced", lambda n, per_decade: np.array([n]))
    measurement = measure(LemmaLab(), Effort(1, 2000), NarrowSets)
    assert measurement.empty == len(hedge.SETTINGS)
    assert judge(measurement).verdict == "vacuous"


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
