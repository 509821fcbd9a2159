"""Lemma IX holds, and a learner that explores less than it says is noticed."""

from __future__ import annotations

from advmdp.claims import implicit_exploration
from tests.claims.broken import LyingExploration, rng

TINY = implicit_exploration.Size(60, 100)


def test_holds() -> None:
    finding = implicit_exploration.examine(TINY, rng())
    assert finding.verdict == "holds"
    assert any(found["bare_rejected"] for found in finding.data.values())  # the test has power


def test_too_few_runs_are_vacuous() -> None:
    tiny = implicit_exploration.Size(3, 20)  # could not even refute the estimator without gamma
    assert implicit_exploration.examine(tiny, rng()).verdict == "vacuous"


def test_notices_estimates_without_exploration() -> None:
    assert implicit_exploration.examine(TINY, rng(), LyingExploration).verdict == "fails"
