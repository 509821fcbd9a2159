"""COMP-UOB: made-up violations, bounds that are too small, and iterates above them."""

from __future__ import annotations

from typing import Any

import pytest

import advmdp as am
from advmdp.claims.lemmas.upper_occupancy import CLAIM, Effort, Measurement, judge, measure
from advmdp.claims.references import oracles
from advmdp.layout import Table
from tests.claims.broken import HeavyStart, WideSets
from tests.claims.made_up import LemmaLab

TINY = Effort(1, 2, 1, 50)
EFFORT = Effort(1, 10, 1, 300)
SOUND = Measurement(
    EFFORT,
    absent="",
    programmes=1e-15,
    iterate=1e-16,
    truth_covered=0.0,
    truth_lost=0.2,
    covered=600.0,
    lost=300.0,
)
MADE_UP = {
    "holds": lambda: SOUND,
    "fails": lambda: SOUND._replace(truth_covered=1e-6),
    "vacuous": lambda: SOUND._replace(truth_lost=-0.1),
}


@pytest.mark.parametrize(
    ("field", "limit"), [("programmes", 1e-9), ("iterate", 1e-12), ("truth_covered", 1e-12)]
)
def test_every_violation_counts(field: str, limit: float) -> None:
    assert judge(SOUND._replace(**{field: 1.01 * limit})).verdict == "fails"
    assert judge(SOUND._replace(**{field: 0.99 * limit})).verdict == "holds"


def test_without_the_solver_the_runs_decide() -> None:
    absent = SOUND._replace(absent="not compared with scipy", programmes=None)
    finding = CLAIM.conclude(absent)
    assert finding.verdict == "holds"
    assert finding.measured.startswith("not compared with scipy; largest q^_t - u_t 1.0e-16")
    assert judge(absent._replace(iterate=1e-3)).verdict == "fails"


def test_holds() -> None:
    judgement = judge(measure(LemmaLab(), EFFORT))
    assert judgement.verdict == "holds"
    assert judgement.data["truth_lost"] > 1e-3  # without coverage the comparison does fail
    assert judgement.data["covered"] > 0


def test_notices_bounds_that_are_too_small() -> None:
    def shrunk(policy: Any, box: am.BoxSet) -> Table:
        return [0.999 * table for table in am.upper_occupancy(policy, box)]

    assert judge(measure(LemmaLab(), EFFORT, bounds=shrunk)).verdict == "fails"


def test_notices_an_iterate_above_the_bound() -> None:
    assert judge(measure(LemmaLab(), EFFORT, make=HeavyStart)).verdict == "fails"


def test_sets_that_never_lose_the_truth_are_vacuous() -> None:
    """Where P is in every set nothing shows that q_t <= u_t could have failed."""
    judgement = judge(measure(LemmaLab(), EFFORT, make=WideSets))
    assert (judgement.verdict, judgement.data["lost"]) == ("vacuous", 0.0)


def test_says_so_without_the_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "missing", lambda *modules: f"no {modules[0]}: {oracles.REMEDY}")
    finding = CLAIM.conclude(measure(LemmaLab(), EFFORT))
    assert "install advmdp[oracles]" in finding.measured
    assert finding.data["programmes"] is None
    assert finding.verdict == "holds"
