"""The key lemma: below its bound, above it when sets do not shrink, vacuous for short runs."""

from __future__ import annotations

import numpy as np

import advmdp as am
from advmdp.claims import key_lemma
from tests.claims.broken import WideSets, rng

SHORT = key_lemma.Size((50, 100), (2, 3), 50, 2)
TINY = key_lemma.Size((50, 30_000), (2, 3), 50, 1, layers=(1, 2, 1), short=(1, 2, 1))


def test_holds() -> None:
    finding = key_lemma.examine(TINY, rng())
    assert finding.verdict == "holds"
    assert finding.data["telling_runs"] >= 2


def test_sets_that_do_not_shrink_are_noticed() -> None:
    assert key_lemma.examine(TINY, rng(), WideSets).verdict == "fails"


def test_is_vacuous_for_short_runs() -> None:
    assert key_lemma.examine(SHORT, rng()).verdict == "vacuous"


def test_the_constants_bound_the_distance_of_members_from_the_truth() -> None:
    # Lemma 8 with explicit constants: wherever P is in the box, so is every member of it within
    # C1 sqrt(P i / N) + C2 i / N.
    generator = np.random.default_rng(0)
    layout = am.Layout((1, 4, 1), 1)
    checked = 0
    for _ in range(300):
        n, log_term = int(generator.integers(1, 3000)), float(generator.choice([0.5, 2.0, 15.0]))
        truth = generator.dirichlet(np.full(4, 0.5))
        counts = generator.multinomial(n, truth).astype(float)
        visits = np.array([n, *counts])
        box = am.BoxSet.from_counts(layout, visits, np.concatenate([counts, counts]), log_term)
        low, high = box.lower[0].ravel(), box.upper[0].ravel()
        if (truth < low).any() or (truth > high).any():
            continue
        checked += 1
        limit = key_lemma.C1 * np.sqrt(truth * log_term / n) + key_lemma.C2 * log_term / n
        assert (np.maximum(high - truth, truth - low) <= limit).all()
    assert checked > 200
