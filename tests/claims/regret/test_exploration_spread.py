"""The spread over seeds: made-up regrets, and quantiles of resamples."""

from __future__ import annotations

import numpy as np

from advmdp.claims.playing.regret_grids import by_pair
from advmdp.claims.regret.exploration_spread import (
    CLAIM,
    Effort,
    Measurement,
    grids,
    judge,
    resampled_quantiles,
)
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import Formula, luck, regrets

TINY = Effort(50, 6, 4)
EFFORT = Effort(100, 100, 20)


def without_gamma(formula: Formula) -> Measurement:
    """A regret of about 100 with gamma, and this one without it."""

    def regret(spec: RunSpec) -> float:
        with_gamma = spec.learner.parameters.get("gamma_scale", 1) != 0  # 1 is the default
        return 100.0 + luck(spec) if with_gamma else float(formula(spec))

    return Measurement(by_pair(regrets(grids(EFFORT), regret, noise=0.0)))


def rarely_a_disaster(spec: RunSpec) -> float:
    """Better on average: the mean would hide it, the quantile does not."""
    return 300.0 if spec.replicate % 5 == 0 else 20.0 + luck(spec)


MADE_UP = {
    "holds": lambda: without_gamma(rarely_a_disaster),
    "fails": lambda: without_gamma(lambda spec: 50 + luck(spec)),
    "vacuous": lambda: without_gamma(lambda spec: 100 + luck(spec)),
}


def test_a_rise_within_its_interval_is_vacuous() -> None:
    judgement = judge(without_gamma(lambda spec: 100.05 + luck(spec)))
    rise = judgement.data["rise of the 95% quantile, losses that turn"]
    assert rise.low < 0.0 < rise.estimate
    assert judgement.verdict == "vacuous"


def test_quantiles_are_reported() -> None:
    finding = CLAIM.conclude(without_gamma(rarely_a_disaster))
    assert finding.data["without gamma, losses that turn"]["quantiles"]["0.95"] == 300.0
    assert finding.data["without gamma, losses that turn"]["mean"] < 100.0
    assert finding.measured.startswith("95% quantile 300 without, 10")
    assert "100 seeds (20 for the comparison)" in finding.instances


def test_resampled_quantiles_are_those_of_the_resamples() -> None:
    values = np.random.default_rng(3).exponential(size=40)
    middle = resampled_quantiles(values, [0.5])[0]
    assert set(middle) <= set(values)
    assert abs(np.mean(middle) - np.median(values)) < 0.1
