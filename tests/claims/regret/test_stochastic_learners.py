"""Learners for stochastic losses: made-up exponents on adaptive and on steady losses."""

from __future__ import annotations

from advmdp.claims.playing.regret_grids import by_pair
from advmdp.claims.playing.run_grids import UOB_REPS
from advmdp.claims.regret.stochastic_learners import CLAIM, Effort, Measurement, grids, judge
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import regrets

TINY = Effort((40, 80), 2)
EFFORT = Effort((10**3, 10**4, 10**5), 5)


def powers(own: float, other: float, constant: float = 2.0, steady: float = 0.5) -> Measurement:
    """Exponents on adaptive losses, and the others' on steady ones."""

    def regret(spec: RunSpec) -> float:
        if spec.learner.name == UOB_REPS:
            return float(spec.n_episodes**own)
        is_steady = spec.losses.name == "stochastic"
        return float(constant * spec.n_episodes ** (steady if is_steady else other))

    return Measurement(by_pair(regrets(grids(EFFORT), regret)))


MADE_UP = {
    "holds": lambda: powers(0.5, 1.0),
    "fails": lambda: powers(0.5, 0.4, constant=0.5, steady=0.2),
    "vacuous": lambda: powers(0.5, 0.5, steady=0.2),  # worse, but no steeper
}


def test_the_margin_is_the_least_ratio() -> None:
    finding = CLAIM.conclude(powers(0.5, 1.0))
    assert finding.margin.startswith("at least 6")  # 632 = 2 T / T^{1/2}, and noise
    assert finding.data["uob-reps, adaptive"]["more than uob-reps"] is None
    assert finding.data["ucrl2, adaptive"]["more than uob-reps"].low > 1e5


def test_steeper_but_no_larger_is_vacuous() -> None:
    """Regrets that meet that of UOB-REPS at the largest T."""
    judgement = judge(powers(0.5, 1.0, constant=1.01 * 10**-2.5))
    excess = judgement.data["ucrl2, adaptive"]["more than uob-reps"]
    assert excess.low < 0.0 < excess.high
    assert judgement.verdict == "vacuous"


def test_a_smaller_regret_than_that_of_uob_reps_fails() -> None:
    assert judge(powers(0.5, 0.5, constant=-1.0)).verdict == "fails"


def test_who_never_learns_proves_nothing() -> None:
    """Linear regret against an adversary means little for a learner that has it anywhere."""
    finding = CLAIM.conclude(powers(0.5, 1.0, steady=1.0))
    assert finding.verdict == "vacuous"
    assert "none at this size" in finding.bound
