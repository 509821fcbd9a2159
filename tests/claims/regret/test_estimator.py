"""The two estimators: made-up exponents, and the runs that compare them."""

from __future__ import annotations

import numpy as np
import pytest

from advmdp.claims.regret.estimator import (
    CLAIM,
    OWN,
    SAME_SET,
    Effort,
    Measurement,
    grids,
    judge,
)
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import regrets

TINY = Effort((40, 80), 2, 2)
EFFORT = Effort((10**3, 10**4, 10**5), 2, 6)


def powers(own: float, upper: float, noise: float = 0.01) -> Measurement:
    """Like T^own with the own occupancy, like T^upper with the upper bound."""

    def regret(spec: RunSpec) -> float:
        return float(spec.n_episodes ** (own if "alpha" in spec.learner.parameters else upper))

    return Measurement(regrets(grids(EFFORT), regret, noise))


MADE_UP = {
    "holds": lambda: powers(1.0, 0.5),
    "fails": lambda: powers(0.5, 0.5),
    "vacuous": lambda: powers(0.65, 0.5, noise=0.2),
}


def test_the_difference_of_the_exponents_decides() -> None:
    finding = CLAIM.conclude(powers(1.0, 0.5))
    assert finding.data["difference"].estimate == pytest.approx(0.5, abs=0.01)
    assert finding.margin.endswith("(lower end)")
    assert judge(powers(0.5, 0.9)).verdict == "fails"
    assert judge(powers(0.9, 0.5, noise=0.9)).verdict == "vacuous"  # a resample has no logarithm
    one = Measurement(regrets(grids(EFFORT._replace(n_replicates=1)), lambda spec: 1.0))
    assert judge(one).verdict == "vacuous"  # no interval from one replicate


def test_both_estimators_learn_at_the_same_rate() -> None:
    first = {name: build(grids(EFFORT)[name][0, 1, 0]).learner for name in (SAME_SET, OWN)}
    assert first[OWN].eta == pytest.approx(first[SAME_SET].eta, rel=1e-12)
    assert first[OWN].layout == first[SAME_SET].layout


def test_losses_of_places_that_turn() -> None:
    mdp, losses, *_ = build(grids(Effort((80,), 1, 1))[OWN][0, 0, 0])
    early, late = losses.tables[0], losses.tables[-1]
    assert np.allclose(early, 1.0 - late)
    assert (len(losses.tables), losses.period) == (8, 10)
    by_state = late.reshape(-1, 2)
    assert np.allclose(by_state[:, 0], by_state[:, 1])  # actions do not matter, places do
    begin = 0
    for size in mdp.layout.layer_sizes[:-1]:
        assert (by_state[begin : begin + size, 0] < 0.5).sum() == 1
        begin += size
