"""Lemma 1: made-up errors, and inverses that are wrong on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from advmdp.claims.lemmas import occupancy_measures
from advmdp.claims.lemmas.occupancy_measures import CLAIM, Effort, Measurement, judge, measure
from advmdp.layout import Layout, Table
from tests.claims.made_up import LemmaLab

TINY = Effort(1)
SOUND = Measurement(TINY, 1e-15, 2e-15, 3e-15, 4e-15, control=0.1)
MADE_UP = {
    "holds": lambda: SOUND,
    "fails": lambda: SOUND._replace(relative=1e-9),
    "vacuous": lambda: SOUND._replace(control=1e-13),
}


@pytest.mark.parametrize("error", ["there", "relative", "back", "definition"])
def test_every_error_counts(error: str) -> None:
    assert judge(SOUND._replace(**{error: 1.1e-12})).verdict == "fails"
    assert judge(SOUND._replace(**{error: 0.9e-12})).verdict == "holds"


def test_holds() -> None:
    finding = CLAIM.conclude(measure(LemmaLab(), Effort(2)))
    assert finding.verdict == "holds"
    assert finding.data["control"] > 1e-3


@pytest.mark.parametrize("name", ["transition_of", "policy_of"])
def test_notices_a_wrong_inverse(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    right = getattr(occupancy_measures.steps, name)

    def reversed_rows(table: Any, layout: Layout) -> Table:
        return [part[..., ::-1] for part in right(table, layout)]

    monkeypatch.setattr(occupancy_measures.steps, name, reversed_rows)
    assert judge(measure(LemmaLab(), Effort(2))).verdict == "fails"
