"""Lemma IX: made-up sums, and a learner that explores less than it says."""

from __future__ import annotations

import math

import numpy as np

from advmdp.claims.lemmas.implicit_exploration import (
    SETTINGS,
    Effort,
    Measurement,
    ScaledSums,
    judge,
    measure,
    moments_and_tails,
)
from tests.claims.broken import LyingExploration
from tests.claims.made_up import LemmaLab

TINY = Effort(5, 20)
EFFORT = Effort(60, 100)
N_LAYERS, N_PAIRS = 3, 10


def constant(layer: float = -1.0, pair: float = -1.0, bare: float = 1.0) -> ScaledSums:
    """Fifty runs with the same sums."""
    return ScaledSums([[layer] * N_LAYERS] * 50, [[pair] * N_PAIRS] * 50, [[bare] * N_LAYERS] * 50)


def sums(one: ScaledSums) -> Measurement:
    return Measurement(Effort(50, 100), [constant()] * (len(SETTINGS) - 1) + [one])


MADE_UP = {
    "holds": lambda: sums(constant()),
    "fails": lambda: sums(constant(pair=1.0)),
    "vacuous": lambda: Measurement(Effort(50, 100), [constant(bare=-1.0)] * len(SETTINGS)),
}


def test_each_of_the_tests_can_fail() -> None:
    assert judge(sums(constant(layer=1.0))).verdict == "fails"  # a moment of e
    # A fifth of the runs far above the bound of a pair, and mean exponentials below one otherwise,
    # would also fail the moments; the tails alone are seen in the counts.
    rows = [[3.0 + math.log(100.0)] * N_PAIRS] * 10 + [[-30.0] * N_PAIRS] * 40
    found = moments_and_tails(constant()._replace(pairs=rows))
    assert (found["pair_count"], found["sum_count"]) == (10, 0)
    assert found["pair_excess"] == 0.0  # 10 of 50 at level 0.1 has probability 0.02
    rows = [[3.0 + math.log(100.0)] * N_PAIRS] * 20 + [[-30.0] * N_PAIRS] * 30
    assert moments_and_tails(constant()._replace(pairs=rows))["pair_excess"] == 1.0


def test_moments_are_means_of_exponentials() -> None:
    rng = np.random.default_rng(0)
    layers = rng.normal(-1.0, 0.5, (400, N_LAYERS))
    found = moments_and_tails(
        ScaledSums(layers.tolist(), [[-1.0] * N_PAIRS] * 400, [[0.0] * N_LAYERS] * 400)
    )
    assert np.isclose(found["moment"], np.exp(layers).mean(axis=0).max())
    assert np.isclose(found["pair_moment"], math.exp(-1.0))
    assert np.isclose(found["largest_value"], np.exp(layers).max())
    assert np.isclose(found["bare_log_wealth"], 0.0)  # a bet on a constant one wins nothing


def test_holds() -> None:
    judgement = judge(measure(LemmaLab(), EFFORT))
    assert judgement.verdict == "holds"
    assert any(found["bare_rejected"] for found in judgement.data.values())  # the test has power


def test_too_few_runs_are_vacuous() -> None:
    # they could not even refute the estimator without gamma
    assert judge(measure(LemmaLab(), Effort(3, 20))).verdict == "vacuous"


def test_notices_estimates_without_exploration() -> None:
    assert judge(measure(LemmaLab(), EFFORT, LyingExploration)).verdict == "fails"
