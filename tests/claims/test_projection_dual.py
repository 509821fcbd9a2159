"""The claim about the dual holds, and notices a projection onto another set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.claims import oracles, projection_dual
from tests.claims.broken import rng
from tests.reference.conic import project_conic
from tests.reference.seed_dual import project_seed_dual

TINY = projection_dual.Size(1, 300)


def loose(weights: Any, box: am.BoxSet) -> am.Projection:
    """Forgets the confidence set."""
    return am.project(weights, am.AnyTransition(box.layout))


@pytest.fixture(autouse=True)
def one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest on which the set bites: the solvers are slow."""
    monkeypatch.setattr(projection_dual, "SHAPES", (((1, 3, 3, 1), 2),))


def test_holds() -> None:
    finding = projection_dual.examine(TINY, rng())
    assert finding.verdict == "holds"
    assert finding.data["clipped"] > 0.05


def test_notices_a_projection_onto_another_set() -> None:
    assert projection_dual.examine(TINY, rng(), solve=loose).verdict == "fails"


def test_sets_that_bind_nowhere_are_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the projection is a formula, and comparing it says nothing about the set."""
    take = projection_dual._from_a_run

    def wide(layout: am.Layout, generator: np.random.Generator) -> projection_dual._Case:
        case, ones = take(layout, generator), np.ones(layout.n_entries)
        return replace(case, box=am.BoxSet(layout, 0.0 * ones, ones), width=ones)

    monkeypatch.setattr(projection_dual, "_from_a_run", wide)
    finding = projection_dual.examine(TINY, rng())
    assert (finding.verdict, finding.data["clipped"]) == ("vacuous", 0.0)


def test_without_solvers_the_first_order_condition_still_notices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oracles, "missing", lambda *modules: f"no {modules[0]}: {oracles.REMEDY}")
    right = projection_dual.examine(TINY, rng())
    assert right.verdict == "holds"
    assert "install advmdp[oracles]" in right.measured
    assert "conic" not in right.data

    def halfway(weights: Any, box: am.BoxSet) -> am.Projection:
        """Feasible, but not the nearest."""
        return am.project(np.sqrt(weights), box)

    assert projection_dual.examine(TINY, rng(), solve=halfway).verdict == "fails"


def test_the_models_agree_with_those_of_the_tests() -> None:
    layout = am.Layout((1, 3, 2, 1), 2)
    case = projection_dual._from_a_run(layout, np.random.default_rng(1))
    weights = layout.triples(case.weights)
    sides = (case.box.lower, case.box.upper)
    conic = layout.flat_triples(project_conic(weights, *sides))
    mine = oracles.conic_projection(layout, case.weights, case.box)
    assert np.allclose(mine, conic, atol=1e-4)
    assert (
        abs(oracles.divergence(mine, case.weights) - oracles.divergence(conic, case.weights)) < 1e-7
    )
    dual = oracles.paper_dual(layout, case.weights, case.centre, case.width, free_beta=True)
    assert abs(dual.value - project_seed_dual(weights, *sides).value) < 1e-8


def test_says_on_how_many_the_conic_solver_gave_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "conic_projection", lambda *_: None)
    finding = projection_dual.examine(TINY, rng())
    total = len(projection_dual.SHAPES) * TINY.n_projections
    assert f"Clarabel gave up on {total} of {total}" in finding.measured
