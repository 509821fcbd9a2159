"""Best of both worlds: made-up regrets with logarithms and powers."""

from __future__ import annotations

import math

from advmdp.claims.playing.regret_grids import by_pair
from advmdp.claims.playing.run_grids import Gaps
from advmdp.claims.regret.both_worlds import (
    BOTH,
    CLAIM,
    GAP,
    Effort,
    Measurement,
    grids,
    judge,
)
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import gap_of, regrets

TINY = Effort((40, 80), Gaps(2, 1), 2)
EFFORT = Effort((10**4, 10**5, 10**6), Gaps(3, 1), 5)


def made_up(steady: float | None, worst: float = 0.5, other: float = 0.5) -> Measurement:
    """Exponents: on coin flips (None for 40 ln T - 200), at worst, and of O-REPS."""

    def regret(spec: RunSpec) -> float:
        n = spec.n_episodes
        if spec.learner.name != BOTH:
            return float(5 * n**other)
        if gap_of(spec) != GAP:
            return float(3 * n**worst)
        return 40 * math.log(n) - 200 if steady is None else float(n**steady)

    return Measurement(by_pair(regrets(grids(EFFORT), regret)))


MADE_UP = {
    "holds": lambda: made_up(None),
    "fails": lambda: made_up(0.5),
    "vacuous": lambda: made_up(None, other=0.1),
}


def test_too_steep_a_worst_case_fails() -> None:
    assert judge(made_up(None, worst=0.8)).verdict == "fails"


def test_an_exponent_that_cannot_be_told_is_vacuous() -> None:
    assert judge(made_up(0.25)).verdict == "vacuous"


def test_the_figures_are_those_of_the_last_decade() -> None:
    finding = CLAIM.conclude(made_up(None))
    slope = finding.data["tsallis-ftrl, steady"]["exponent of the last decade"]
    expected = math.log10((40 * math.log(1e6) - 200) / (40 * math.log(1e5) - 200))
    assert abs(slope.estimate - expected) < 0.02
    assert "15." in finding.margin or "14." in finding.margin  # 5,000 / 353
