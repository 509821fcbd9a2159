"""Visit sums: made-up shares of the bounds, and epochs that never open."""

from __future__ import annotations

import pytest

from advmdp.claims.lemmas.visit_sums import CLAIM, DELTA, Effort, Measurement, judge, measure
from advmdp.claims.references.lemma_bounds import visit_sum_bounds
from advmdp.layout import Layout
from tests.claims.broken import NoEpochs
from tests.claims.made_up import LemmaLab

TINY = Effort(2, 30)


def shares(*of_bound: float, n_episodes: int = 20_000, visited: float = 0.8) -> Measurement:
    """One run for each share of both bounds that its sums reach, at every checkpoint."""
    effort = Effort(len(of_bound), n_episodes)
    layout, points = Layout(effort.layers, effort.n_actions), [n_episodes // 2, n_episodes]
    sums = [
        [(share * visit_sum_bounds(layout, t, DELTA)).tolist() for t in points]
        for share in of_bound
    ]
    return Measurement(effort, points, sums, [visited] * len(of_bound))


MADE_UP = {
    "holds": lambda: shares(*[0.5] * 20),
    "fails": lambda: shares(*[1.1] * 20),
    "vacuous": lambda: shares(0.5, n_episodes=30),
}


@pytest.mark.parametrize(("n_over", "verdict"), [(2, "holds"), (7, "holds"), (8, "fails")])
def test_runs_over_a_bound_are_counted_by_an_exact_test(n_over: int, verdict: str) -> None:
    # at 2 delta = 0.1: P(Binomial(20, 0.1) >= 7) = 0.0024, >= 8: 0.0004
    judgement = judge(shares(*[1.1] * n_over, *[0.5] * (20 - n_over)))
    assert (judgement.verdict, judgement.data["runs_over"]) == (verdict, n_over)


def test_the_visited_terms_may_never_exceed_what_is_certain() -> None:
    assert judge(shares(*[0.5] * 20, visited=1.0 + 1e-9)).verdict == "fails"


def test_figures_of_a_made_up_measurement() -> None:
    finding = CLAIM.conclude(shares(0.25, 0.5))
    assert "sum q/N 50%, 50%, 50%, sum q/sqrt(N) 50%, 50%, 50%" in finding.measured
    assert finding.instances.endswith("6 of 6 bounds are below the trivial one")
    series = finding.panels[0].series[0]
    assert series.low is not None
    assert (series.low[-1], series.y[-1]) == (pytest.approx(0.25), pytest.approx(0.375))


def test_holds() -> None:
    judgement = judge(measure(LemmaLab(), Effort(6, 1000, layers=(1, 2, 1))))
    assert judgement.verdict == "holds"
    assert 0.3 < judgement.data["certain_share"] <= 1.0


def test_epochs_that_never_open_are_noticed() -> None:
    effort = Effort(6, 1000, layers=(1, 2, 1))
    assert judge(measure(LemmaLab(), effort, NoEpochs)).verdict == "fails"


def test_bounds_above_the_trivial_one_are_vacuous() -> None:
    assert judge(measure(LemmaLab(), Effort(2, 30))).verdict == "vacuous"
