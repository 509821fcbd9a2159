"""The claim about occupancy measures holds, and notices a wrong inverse."""

from __future__ import annotations

from typing import Any

import pytest

from advmdp.claims import occupancy
from advmdp.layout import Layout, Table
from tests.claims.broken import rng


def test_holds() -> None:
    finding = occupancy.examine(2, rng())
    assert finding.verdict == "holds"
    assert finding.data["control"] > 1e-3


@pytest.mark.parametrize("name", ["transition_of", "policy_of"])
def test_notices_a_wrong_inverse(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    right = getattr(occupancy.steps, name)

    def reversed_rows(measure: Any, layout: Layout) -> Table:
        return [table[..., ::-1] for table in right(measure, layout)]

    monkeypatch.setattr(occupancy.steps, name, reversed_rows)
    assert occupancy.examine(2, rng()).verdict == "fails"


def test_is_vacuous_when_leaks_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occupancy, "_control", lambda layout, rng: 0.0)
    assert occupancy.examine(1, rng()).verdict == "vacuous"
