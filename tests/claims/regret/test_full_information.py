"""The ratio to full information, on made-up regrets with known exponents."""

from __future__ import annotations

import pytest

from advmdp.claims.playing.run_grids import UOB_REPS, Gaps, HorizonEffort
from advmdp.claims.regret.full_information import CLAIM, Measurement, grids, judge
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import regrets

TINY = HorizonEffort((40, 80), (40, 80), Gaps(2, 1), 2, 2)
EFFORT = HorizonEffort((10**3, 10**4, 10**5, 10**6), (), Gaps(5, 2), 5, 5)


def powers(own: float, other: float, noise: float = 0.01) -> Measurement:
    """UOB-REPS like T^own, the others like T^other."""

    def regret(spec: RunSpec) -> float:
        return float(spec.n_episodes ** (own if spec.learner.name == UOB_REPS else other))

    return Measurement(regrets(grids(EFFORT), regret, noise))


MADE_UP = {
    "holds": lambda: powers(0.55, 0.5),
    "fails": lambda: powers(0.75, 0.5),
    "vacuous": lambda: powers(0.65, 0.5, noise=0.5),
}


def test_the_exponent_of_the_ratio_is_the_difference() -> None:
    finding = CLAIM.conclude(powers(0.55, 0.5))
    slope = finding.data["o-reps"]["exponent of the last decade"]
    assert slope.estimate == pytest.approx(0.05, abs=0.01)
    assert finding.data["o-reps"]["ratio"][-1] == pytest.approx(10**0.3, rel=0.02)
    assert finding.measured.startswith("uc-o-reps: ratio 1.4 to 2.0, exponent of the last decade")


def test_a_ratio_without_a_logarithm_is_vacuous() -> None:
    measurement = powers(0.5, 0.5)
    own = measurement.regret[UOB_REPS]
    negative = own._replace(regret=(-own.values).tolist())
    assert judge(Measurement({**measurement.regret, UOB_REPS: negative})).verdict == "vacuous"
