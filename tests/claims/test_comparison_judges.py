"""Judges of comparisons: each can come out in favour, against, and undecided."""

from __future__ import annotations

import numpy as np
import pytest

from advmdp.claims import estimator, exploration_spread, stochastic_learners, tighter_set
from advmdp.claims.designs import all_specs, grid_of, layout_of
from advmdp.claims.finding import Finding
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import luck, runs_frame

TIGHTER = tighter_set.Effort(1000, (4, 8, 16), 4, 3)


def tighter(regret_power: float, loose_power: float, noise: float = 0.01) -> Finding:
    """The L1 set costs |X|^power times what the box set costs."""
    designs = {
        name: grid_of([[tighter_set._parts(name, n, TIGHTER)] for n in TIGHTER.widths], 4)
        for name in (tighter_set.BOX, tighter_set.BALL)
    }

    def cost(spec: RunSpec, power: float) -> float:
        states = layout_of(spec.mdp.parameters).n_states
        return float(100.0 * states ** (1.0 + power * (spec.learner.name == tighter_set.BALL)))

    looseness = {
        spec.id: cost(spec, loose_power) * (1 + noise * luck(spec))
        for design in designs.values()
        for spec in all_specs(design[: TIGHTER.n_replayed])
    }
    runs = runs_frame(designs.values(), lambda spec: cost(spec, regret_power), noise)
    return tighter_set.judge(designs, runs, looseness)


def test_the_tighter_set() -> None:
    found = tighter(0.3, 0.6)
    assert found.verdict == "holds"
    assert found.data["u - q"]["exponent of the ratio"].estimate == pytest.approx(0.6, abs=0.05)
    assert tighter(-0.2, 0.6).verdict == "fails"
    assert tighter(0.3, -0.2).verdict == "fails"
    assert tighter(0.0, 0.6).verdict == "vacuous"
    assert tighter(0.3, 0.6, noise=0.8).verdict == "vacuous"


ESTIMATOR = estimator.Effort((10**3, 10**4, 10**5), 2, 6)


def estimated(own: float, upper: float, noise: float = 0.01) -> Finding:
    names = (estimator.UPPER, estimator.SAME_SET, estimator.OWN, estimator.TUNED, estimator.SHIFTED)
    designs = {name: estimator._design(name, ESTIMATOR) for name in names}

    def regret(spec: RunSpec) -> float:
        return float(spec.n_episodes ** (own if "alpha" in spec.learner.parameters else upper))

    return estimator.judge(designs, runs_frame(designs.values(), regret, noise))


def test_the_estimator() -> None:
    assert estimated(1.0, 0.5).verdict == "holds"
    assert estimated(0.5, 0.5).verdict == "fails"
    assert estimated(0.5, 0.9).verdict == "fails"
    assert estimated(0.9, 0.5, noise=0.9).verdict == "vacuous"


def test_both_estimators_learn_at_the_same_rate() -> None:
    from advmdp.experiments.build import build

    first = {
        name: build(estimator._design(name, ESTIMATOR)[0, 1, 0]).learner
        for name in (estimator.SAME_SET, estimator.OWN)
    }
    assert first[estimator.OWN].eta == pytest.approx(first[estimator.SAME_SET].eta, rel=1e-12)
    assert first[estimator.OWN].layout == first[estimator.SAME_SET].layout


SPREAD = exploration_spread.Effort(100, 100, 20)


def spread(without) -> Finding:  # type: ignore[no-untyped-def]
    designs = {
        (kind, losses): exploration_spread._design(scale, losses, SPREAD)
        for kind, scale in ((exploration_spread.WITH, 1.0), (exploration_spread.WITHOUT, 0.0))
        for losses in exploration_spread.LOSSES
    }

    def regret(spec: RunSpec) -> float:
        return float(
            without(spec) if spec.learner.parameters["gamma_scale"] == 0 else 100 + luck(spec)
        )

    return exploration_spread.judge(designs, runs_frame(designs.values(), regret, noise=0.0))


def test_the_spread() -> None:
    # Better on average, and now and then a disaster: the mean would hide it, the quantile does not.
    assert spread(lambda s: 300 if s.replicate % 5 == 0 else 20 + luck(s)).verdict == "holds"
    assert spread(lambda s: 50 + luck(s)).verdict == "fails"
    assert spread(lambda s: 100 + luck(s)).verdict == "vacuous"


def test_resampled_quantiles_are_those_of_the_resamples() -> None:
    values = np.random.default_rng(3).exponential(size=40)
    middle = exploration_spread.resampled_quantiles(values, [0.5])[0]
    assert set(middle) <= set(values)
    assert abs(np.mean(middle) - np.median(values)) < 0.1


LEARNERS = stochastic_learners.Effort((10**3, 10**4, 10**5), 5)


def against_adversaries(
    own: float, other: float, constant: float = 2.0, steady: float = 0.5
) -> Finding:
    """Exponents on adaptive losses, and the others' on steady ones."""
    designs = {
        (name, kind): stochastic_learners._design(name, losses, LEARNERS)
        for name in stochastic_learners.NAMES
        for kind, losses in stochastic_learners.LOSSES.items()
    }

    def regret(spec: RunSpec) -> float:
        if spec.learner.name == stochastic_learners.SUBJECT:
            return float(spec.n_episodes**own)
        is_steady = spec.losses.name == "stochastic"
        return float(constant * spec.n_episodes ** (steady if is_steady else other))

    return stochastic_learners.judge(designs, runs_frame(designs.values(), regret))


def test_stochastic_learners() -> None:
    found = against_adversaries(0.5, 1.0)
    assert found.verdict == "holds"
    assert found.margin.startswith("at least 6")  # 632 = 2 T / T^{1/2}, and noise
    assert against_adversaries(0.5, 0.4, constant=0.5, steady=0.2).verdict == "fails"
    assert against_adversaries(0.5, 0.5, steady=0.2).verdict == "vacuous"  # worse, but no steeper
    assert against_adversaries(0.5, 0.5, constant=-1.0).verdict == "fails"


def test_who_never_learns_proves_nothing() -> None:
    """Linear regret against an adversary means little for a learner that has it anywhere."""
    found = against_adversaries(0.5, 1.0, steady=1.0)
    assert found.verdict == "vacuous"
    assert "none at this size" in found.bound
