"""Best of both worlds with known transition, on made-up regrets."""

from __future__ import annotations

import math

import pytest

from advmdp.claims.regret.both_worlds import CLAIM, LEARNERS, RIVAL, grids, judge
from advmdp.claims.regret.steady_and_worst import Measurement
from tests.claims.regret.made_up_worlds import TINY as TINY
from tests.claims.regret.made_up_worlds import both_worlds

JUDGED = [name for name in LEARNERS if name != RIVAL]


def made_up(worst: float = 0.5, other: float = 0.5, **steady: float) -> Measurement:
    return both_worlds(
        grids,
        {RIVAL: other, **{name.replace("_", "-"): value for name, value in steady.items()}},
        {"tsallis-ftrl": worst},
    )


MADE_UP = {
    "holds": lambda: made_up(),
    "fails": lambda: made_up(tsallis_ftrl=0.5),
    "vacuous": lambda: made_up(other=0.1),
}


@pytest.mark.parametrize("name", JUDGED)
def test_each_learner_can_fail_alone(name: str) -> None:
    assert judge(made_up(**{name: 0.4})).verdict == "fails"


def test_too_steep_a_worst_case_fails() -> None:
    assert judge(made_up(worst=0.8)).verdict == "fails"


def test_an_exponent_that_cannot_be_told_is_vacuous() -> None:
    assert judge(made_up(tsallis_ftrl=0.25)).verdict == "vacuous"


def test_the_figures_of_coin_flips_are_those_of_the_last_decade() -> None:
    finding = CLAIM.conclude(made_up())
    slope = finding.data["tsallis-ftrl, steady"]["exponent"]
    expected = math.log10((40 * math.log(1e6) - 200) / (40 * math.log(1e5) - 200))
    assert abs(slope.estimate - expected) < 0.02
    assert "2." in finding.margin  # 1,000 / 353


def test_a_logarithm_adds_the_same_in_every_decade_and_a_root_3_times_as_much() -> None:
    data = CLAIM.conclude(made_up()).data
    added = "added by a decade over the one before"
    assert abs(data["tsallis-ftrl, steady"][added] - 1.0) < 0.2
    assert abs(data[f"{RIVAL}, steady"][added] - math.sqrt(10.0)) < 0.2
    assert data[f"{RIVAL}, worst"][added] is None  # of two horizons
