"""The dual of the projection: made-up gaps, and projections onto another set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.claims.lemmas import projection_dual
from advmdp.claims.lemmas.projection_dual import (
    CLAIM,
    Effort,
    Measurement,
    ProjectionProblem,
    judge,
    measure,
)
from advmdp.claims.references import oracles
from tests.claims.made_up import LemmaLab

TINY = Effort(1, 300)
EXACT = {"first_order": 1e-12, "infeasible": 1e-16, "clipped": 0.2}
CERTIFIED = {"projections": 10.0, "gap": 1e-16, "residual": 1e-10, "safe_paths": 0.0}


def differences(gap: float = 1e-16, gave_up: int = 0, **largest: float) -> Measurement:
    compared = {"conic": 1e-9, "conic_above": 1e-9, "dual": 1e-15, "entries": 1e-9}
    return Measurement(
        TINY,
        absent={"conic": "", "dual": ""},
        n_problems=3,
        gave_up=gave_up,
        largest={**EXACT, **compared, "printed": 1e-15, **largest},
        runs=[{**CERTIFIED, "gap": gap, "log_scale": 1.0}, {**CERTIFIED, "log_scale": 0.01}],
    )


MADE_UP = {
    "holds": lambda: differences(),
    "fails": lambda: differences(dual=1e-3),
    "vacuous": lambda: differences(clipped=0.0),
}


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("gap", 1e-9),
        ("infeasible", 1e-9),
        ("first_order", 1e-8),
        ("conic", 1e-6),
        ("dual", 1e-6),
        ("printed", 1e-6),
    ],
)
def test_every_difference_has_its_tolerance(name: str, limit: float) -> None:
    assert judge(differences(**{name: 1.01 * limit})).verdict == "fails"
    assert judge(differences(**{name: 0.99 * limit})).verdict == "holds"


def test_a_worse_value_of_the_conic_solver_is_no_failure() -> None:
    assert judge(differences(conic=-1.0, conic_above=1.0)).verdict == "holds"


def test_the_solvers_that_were_compared_are_named() -> None:
    finding = CLAIM.conclude(differences(gave_up=1))
    assert "Clarabel gave up on 1 of 3" in finding.measured
    assert "the paper's dual within 1.0e-15" in finding.measured
    absent = {"conic": "no cvxpy", "dual": "no scipy"}
    finding = CLAIM.conclude(differences()._replace(absent=absent, largest=EXACT))
    assert finding.measured.startswith("no cvxpy; no scipy; up to 20% of the triples")
    assert finding.verdict == "holds"


@pytest.fixture
def one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest on which the set binds: the solvers are slow."""
    monkeypatch.setattr(projection_dual, "SHAPES", (((1, 3, 3, 1), 2),))


def test_holds(one_shape: None) -> None:
    judgement = judge(measure(LemmaLab(), TINY))
    assert judgement.verdict == "holds"
    assert judgement.data["clipped"] > 0.05


def test_notices_a_projection_onto_another_set(one_shape: None) -> None:
    def loose(weights: Any, box: Any) -> am.Projection:
        """Forgets the confidence set."""
        return am.project(weights, am.AnyTransition(box.layout))

    assert judge(measure(LemmaLab(), TINY, solve=loose)).verdict == "fails"


def test_sets_that_bind_nowhere_are_vacuous(
    one_shape: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the projection is a formula, and comparing it says nothing about the set."""
    take = projection_dual.problem_from_run

    def wide(layout: am.Layout, generator: np.random.Generator) -> ProjectionProblem:
        problem, ones = take(layout, generator), np.ones(layout.n_entries)
        return problem._replace(box=am.BoxSet(layout, 0.0 * ones, ones), width=ones)

    monkeypatch.setattr(projection_dual, "problem_from_run", wide)
    judgement = judge(measure(LemmaLab(), TINY))
    assert (judgement.verdict, judgement.data["clipped"]) == ("vacuous", 0.0)


def test_without_solvers_the_first_order_condition_still_notices(
    one_shape: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracles, "missing", lambda *modules: f"no {modules[0]}: {oracles.REMEDY}")
    right = CLAIM.conclude(measure(LemmaLab(), TINY))
    assert right.verdict == "holds"
    assert "install advmdp[oracles]" in right.measured
    assert "conic" not in right.data

    def halfway(weights: Any, box: Any) -> am.Projection:
        """Feasible, but not the nearest."""
        return am.project(np.sqrt(weights), box)

    assert judge(measure(LemmaLab(), TINY, solve=halfway)).verdict == "fails"


def test_says_on_how_many_the_conic_solver_failed(
    one_shape: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracles, "conic_projection", lambda *_: None)
    finding = CLAIM.conclude(measure(LemmaLab(), TINY))
    assert "Clarabel gave up on 1 of 1" in finding.measured
