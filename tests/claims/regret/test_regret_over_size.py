"""Theorem 3 over sizes, on made-up regrets with known exponents."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from advmdp.claims.finding import Finding
from advmdp.claims.playing.regret_grids import by_pair
from advmdp.claims.playing.run_grids import UOB_REPS, Gaps, layout_of
from advmdp.claims.regret.regret_over_size import CLAIM, Effort, Measurement, families, grids
from advmdp.experiments.spec import RunSpec
from advmdp.layout import Layout
from tests.claims.made_up import regrets

TINY = Effort(40, Gaps(1, 1), 2, 3, 4)
EFFORT = Effort(10**5, Gaps(2, 1), 4, 6, 16)
Law = Callable[[Layout], float]


def ten(at: Layout) -> float:
    return 10.0


def growth(own: Law, known: Law = ten, noise: float = 0.01) -> Measurement:
    """Regrets of UOB-REPS and of O-REPS as functions of the layout."""

    def regret(spec: RunSpec) -> float:
        law = own if spec.learner.name == UOB_REPS else known
        return float(law(layout_of(spec.mdp.parameters)))

    return Measurement(by_pair(regrets(grids(EFFORT), regret, noise)))


def found(own: Law, known: Law = ten, noise: float = 0.01) -> Finding:
    return CLAIM.conclude(growth(own, known, noise))


def as_bounded(at: Layout) -> float:
    return float(100 * (at.n_layers * at.n_states) ** 0.5)


MADE_UP = {
    "holds": lambda: growth(as_bounded),
    "fails": lambda: growth(lambda at: at.n_states**1.5),
    "vacuous": lambda: growth(lambda at: 100 * at.n_actions**0.15, noise=0.5),
}


def test_growth_as_the_bounds_say_holds() -> None:
    finding = found(as_bounded)
    assert finding.verdict == "holds"
    ratios = {axis: one["exponent of the ratio"] for axis, one in finding.data.items()}
    assert ratios["|X|"].estimate == pytest.approx(0.5, abs=0.02)
    assert ratios["|A|"].estimate == pytest.approx(0.0, abs=0.02)
    assert ratios["L"].estimate == pytest.approx(0.5, abs=0.05)


def test_growth_in_one_size_is_enough_to_fail() -> None:
    assert found(lambda at: at.n_actions * 10.0).verdict == "fails"
    assert found(lambda at: 100 * at.n_actions**0.15).verdict == "holds"  # within the room
    assert found(lambda at: 100 * at.n_actions**0.4).verdict == "fails"
    assert found(lambda at: 1e7).verdict == "fails"  # above the bound itself


def test_growth_that_o_reps_shares_is_not_the_price_of_an_unknown_transition() -> None:
    both = found(lambda at: at.n_actions * 10.0, known=lambda at: at.n_actions * 5.0)
    assert both.verdict == "holds"


def test_a_regret_without_a_logarithm_is_vacuous() -> None:
    finding = found(lambda at: -at.n_states)
    assert finding.verdict == "vacuous"
    assert finding.margin == "|X|: vacuous; |A|: vacuous; L: vacuous"


def test_more_replicates_where_actions_grow() -> None:
    numbers = {axis: len(grids(EFFORT)[UOB_REPS, axis]) for axis in ("|X|", "|A|", "L")}
    assert numbers == {"|X|": 4, "|A|": 6, "L": 4}
    for members in families(16)["L"]:
        assert Layout(members["layer_sizes"], 2).n_states == 14
