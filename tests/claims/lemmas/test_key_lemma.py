"""The key lemma: made-up spreads, sets that do not shrink, and runs that are too short."""

from __future__ import annotations

import pytest

from advmdp.claims.lemmas.key_lemma import CLAIM, SMALL, Effort, Measurement, judge, measure
from advmdp.claims.lemmas.spread_runs import BALL, BOX, SpreadRun, Sweep
from tests.claims.broken import WideSets
from tests.claims.made_up import LemmaLab

TINY = Effort((20, 40), (2, 3), 20, 1)
EFFORT = Effort((10_000, 40_000), (2, 4), 10_000, 1)
LONG = Effort((50, 30_000), (2, 3), 50, 1, layers=(1, 2, 1), short=(1, 2, 1))


def spreads(share: float, *, covered: bool = True, sums: float = 0.01) -> Measurement:
    """Runs whose K is a share of the bound, except that it doubles along T.

    With small sums of Lemma 10 the bound is far below the trivial one.
    """
    horizons, shapes = EFFORT.horizons, [(1, 2, 2, 1), (1, 4, 4, 1)]

    def run(layers: tuple[int, ...], n_episodes: int) -> SpreadRun:
        of_layers = [sums] * (len(layers) - 1)
        blank = SpreadRun(layers, n_episodes, SMALL, 0.0, of_layers, of_layers, covered)
        return blank._replace(spread=share * blank.bound)

    def in_t(kind: str, scale: float) -> Sweep:
        first = run(EFFORT.layers, horizons[0])
        later = first._replace(n_episodes=horizons[1], spread=2.0 * first.spread)
        return Sweep(kind, scale, [float(t) for t in horizons], [[first, later]])

    def in_x(kind: str) -> Sweep:
        runs = [run(shape, EFFORT.width_horizon) for shape in shapes]
        return Sweep(kind, SMALL, [float(sum(shape)) for shape in shapes], [runs])

    return Measurement(
        EFFORT,
        in_t=[in_t(kind, scale) for scale in (1.0, SMALL) for kind in (BOX, BALL)],
        in_x=[in_x(kind) for kind in (BOX, BALL)],
        short=[run(EFFORT.short, horizons[-1])],
    )


MADE_UP = {
    "holds": lambda: spreads(0.4),
    "fails": lambda: spreads(1.1),
    "vacuous": lambda: spreads(1.1, covered=False),
}


def test_a_run_above_its_bound_fails_only_where_the_bound_says_something() -> None:
    assert judge(spreads(1.1, sums=1e4)).verdict == "vacuous"  # above the trivial bound
    finding = CLAIM.conclude(spreads(0.4))
    assert finding.data["telling_runs"] == 7
    assert finding.data["largest_share"] == pytest.approx(0.8, rel=0.2)
    assert "below the largest possible sum in 7 of 7 runs" in finding.bound


def test_the_exponents_are_those_of_the_last_step() -> None:
    finding = CLAIM.conclude(spreads(0.4))  # K doubles as T grows four times
    assert "K grows like T^0.50 (x 0.1: T^0.50)" in finding.measured
    assert finding.data["in_T"]["L1, log term x 1"]["last_exponent"] == pytest.approx(0.5)


def test_holds() -> None:
    judgement = judge(measure(LemmaLab(), LONG))
    assert judgement.verdict == "holds"
    assert judgement.data["telling_runs"] >= 2


def test_sets_that_do_not_shrink_are_noticed() -> None:
    assert judge(measure(LemmaLab(), LONG, WideSets)).verdict == "fails"


def test_is_vacuous_for_short_runs() -> None:
    assert judge(measure(LemmaLab(), Effort((50, 100), (2, 3), 50, 2))).verdict == "vacuous"
