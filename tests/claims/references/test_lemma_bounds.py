"""The restored constants: members of random sets, and the bounds by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import advmdp as am
from advmdp.claims.references.lemma_bounds import C1, C2, key_lemma_bound, visit_sum_bounds


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
        limit = C1 * np.sqrt(truth * log_term / n) + C2 * log_term / n
        assert (np.maximum(high - truth, truth - low) <= limit).all()
    assert checked > 200


def test_the_key_lemma_with_two_layers_by_hand() -> None:
    layout, log_term = am.Layout((1, 5, 1), 3), 2.0
    inverse, root = [3.0, 100.0], [7.0, 100.0]  # only the sums of the first layer enter
    by_hand = C1 * math.sqrt(5 * log_term) * 7.0 + C2 * 5 * log_term * 3.0
    assert key_lemma_bound(layout, log_term, inverse, root) == pytest.approx(by_hand)


def test_visit_sum_bounds_by_hand() -> None:
    first, second = visit_sum_bounds(am.Layout((1, 4, 1), 2), 1000, delta=0.05)
    tail = math.log(2 / 0.05)
    at_layer_1 = 2 * 8 * (1 + 2 * math.log(1000)) + 4 * tail
    assert first[1] == pytest.approx(at_layer_1)
    assert second[1] == pytest.approx(8 + 2 * math.sqrt(2 * 8 * 1000) + at_layer_1 + tail)
