"""The four terms: made-up shares of the lemmas' bounds, and rows of a store in any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from advmdp.claims.finding import Finding
from advmdp.claims.playing.run_grids import (
    DELTA,
    SMALL_MDP,
    Gaps,
    HorizonEffort,
    RunGrid,
    horizon_grid,
    layout_of,
    specs_of,
)
from advmdp.claims.regret.four_terms import CLAIM, Measurement, grids, measured_terms
from advmdp.claims.regret.term_bounds import BOUNDS, least_chance
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import curves_frame, luck, runs_frame

TINY = HorizonEffort((40, 80), (40, 80), Gaps(2, 1), 2, 2)
EFFORT = HorizonEffort((10**3, 10**4, 10**5, 10**6), (10**3, 10**4), Gaps(5, 2), 5, 5)
TOO_SHORT = HorizonEffort((1, 2), (), Gaps(2, 1), 3, 3)
Terms = Callable[[RunSpec], list[float]]
LAYOUT = layout_of(SMALL_MDP)


def grid(effort: HorizonEffort = EFFORT) -> RunGrid:
    (only,) = grids(effort).values()
    return only


def shares(*parts: float) -> Terms:
    """Terms as shares of the lemmas' bounds."""

    def terms(spec: RunSpec) -> list[float]:
        limits = (bound(LAYOUT, spec.n_episodes, DELTA) for bound in BOUNDS.values())
        return [part * limit for part, limit in zip(parts, limits, strict=True)]

    return terms


def measured(terms: Terms, effort: HorizonEffort = EFFORT, off: float = 0.0) -> Measurement:
    of_effort = grid(effort)
    return measured_terms(of_effort, runs_frame([of_effort]), curves_frame(of_effort, terms, off))


def found(terms: Terms, effort: HorizonEffort = EFFORT, off: float = 0.0) -> Finding:
    return CLAIM.conclude(measured(terms, effort, off))


SOUND = shares(0.1, 0.3, 0.2, -0.5)
MADE_UP = {
    "holds": lambda: measured(SOUND),
    "fails": lambda: measured(shares(0.1, 0.3, 1.05, 0.1)),
    "vacuous": lambda: measured(shares(0.1, 0.1, 0.1, 0.1), TOO_SHORT),
}


def test_terms_below_their_lemmas_hold() -> None:
    finding = found(SOUND)
    assert finding.verdict == "holds"
    assert "largest residual" in finding.measured
    assert finding.data["REG"]["runs above"] == 0
    assert finding.margin == "largest share of a lemma's bound 30%"


def test_terms_that_do_not_add_up_fail() -> None:
    finding = found(SOUND, off=1e-3)
    assert finding.verdict == "fails"
    assert finding.data["residual"] > 1e-9


@pytest.mark.parametrize("which", [2, 3])
def test_explicit_bounds_may_not_be_exceeded(which: int) -> None:
    parts = [0.1, 0.3, 0.2, 0.1]
    below, parts[which] = shares(*parts), 1.05
    above = shares(*parts)
    assert found(above).verdict == "fails"
    unlucky = specs_of(grid())[0].id  # a single run above: what a failure probability is for
    assert found(lambda spec: (above if spec.id == unlucky else below)(spec)).verdict == "holds"


def test_an_order_may_be_exceeded_but_not_outgrown() -> None:
    assert found(shares(3.0, 0.3, 0.2, 0.1)).verdict == "holds"  # O(...) hides a constant

    def linear(spec: RunSpec) -> list[float]:
        return [0.01 * spec.n_episodes * (1 + 0.01 * luck(spec)), 0.0, 0.0, 0.0]

    assert found(linear).verdict == "fails"


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_stored_rows_does_not_matter(seed: int) -> None:
    """A store may hold other runs as well, and returns its rows in any order."""
    others = horizon_grid({"name": "uniform"}, EFFORT.horizons, EFFORT.gaps, 15)
    frames = (runs_frame([grid(), others]), curves_frame(grid(), SOUND))
    shuffled = (frame.sample(fraction=1.0, shuffle=True, seed=seed) for frame in frames)
    assert measured_terms(grid(), *shuffled) == measured(SOUND)


def test_chance_of_the_worst_cell() -> None:
    exceeds = np.zeros((4, 3, 2), dtype=bool)
    assert least_chance(exceeds) == 1.0
    exceeds[:, 1, 1] = True
    assert least_chance(exceeds) == pytest.approx(6 * 0.05**4)
