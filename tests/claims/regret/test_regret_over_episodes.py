"""Theorem 3 over episodes, on made-up regrets with known exponents."""

from __future__ import annotations

import numpy as np
import pytest

from advmdp.claims.finding import Finding
from advmdp.claims.playing.run_grids import DELTA, SMALL_MDP, Gaps, HorizonEffort, layout_of
from advmdp.claims.references.regret_bounds import upper_bound
from advmdp.claims.regret.regret_over_episodes import CLAIM, Measurement, grids
from tests.claims.made_up import Formula, gap_of, regrets

TINY = HorizonEffort((40, 80), (40, 80), Gaps(2, 1), 2, 2)
EFFORT = HorizonEffort((10**3, 10**4, 10**5, 10**6), (10**3, 10**4), Gaps(5, 2), 5, 5)


def power(constant: float, exponent: float) -> Formula:
    """A regret that is largest at the largest gap and then grows like T^exponent."""
    return lambda spec: float(constant * spec.n_episodes**exponent * np.sqrt(gap_of(spec)))


def regret(formula: Formula, effort: HorizonEffort = EFFORT, noise: float = 0.01) -> Measurement:
    return Measurement(regrets(grids(effort), formula, noise))


def found(formula: Formula, effort: HorizonEffort = EFFORT, noise: float = 0.01) -> Finding:
    return CLAIM.conclude(regret(formula, effort, noise))


MADE_UP = {
    "holds": lambda: regret(power(10.0, 0.5)),
    "fails": lambda: regret(power(0.1, 0.75)),
    "vacuous": lambda: regret(power(10.0, 0.5), noise=0.6),
}


def test_a_square_root_holds_and_its_exponent_is_reported() -> None:
    finding = found(power(10.0, 0.5))
    assert finding.verdict == "holds"
    assert finding.data["uob-reps"]["exponent"].estimate == pytest.approx(0.5, abs=0.01)
    assert len(finding.runs) == len(set(finding.runs)) == 5 * 7 * (4 + 2 * 6)
    assert "0.50 [" in finding.measured
    assert "rivals in the first 5 of the MDPs, up to T = 10,000" in finding.instances


@pytest.mark.parametrize(("law", "verdict"), [(0.55, "holds"), (0.75, "fails"), (1.0, "fails")])
def test_faster_growth_fails(law: float, verdict: str) -> None:
    assert found(power(0.1, law)).verdict == verdict


@pytest.mark.parametrize(("share", "verdict"), [(1.2, "fails"), (0.8, "holds")])
def test_regret_above_the_bound_fails_however_slowly_it_grows(share: float, verdict: str) -> None:
    bound = share * upper_bound(layout_of(SMALL_MDP), 10**6, DELTA)
    assert found(lambda spec: bound * (spec.n_episodes / 1e6) ** 0.5).verdict == verdict


def test_short_runs_and_regrets_without_a_logarithm_are_vacuous() -> None:
    short = HorizonEffort((100, 1000), (100,), Gaps(2, 1), 3, 3)
    assert found(power(1.0, 0.5), short).verdict == "vacuous"
    negative = found(lambda spec: -spec.n_episodes)  # a learner that follows the losses
    assert negative.verdict == "vacuous"
    assert negative.data["uob-reps"]["exponent"] is None
