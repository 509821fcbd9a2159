"""Judges of growth on runs with known exponents: what grows too fast fails."""

from __future__ import annotations

import numpy as np
import pytest

from advmdp.claims import four_terms, full_information, regret_over_episodes, regret_over_size
from advmdp.claims.bounds import bias1_bound, bias2_bound, reg_bound, upper_bound
from advmdp.claims.designs import (
    DELTA,
    SMALL,
    Effort,
    Gaps,
    all_specs,
    gap_grid,
    layout_of,
    over_horizons,
    with_delta,
)
from advmdp.claims.finding import Finding
from advmdp.claims.worst import exponent, worst_over_gaps
from advmdp.experiments.spec import RunSpec
from advmdp.layout import Layout
from tests.claims.made_up import curves_frame, gap_of, luck, runs_frame

EFFORT = Effort((10**3, 10**4, 10**5, 10**6), (10**3, 10**4), Gaps(5, 2), 5, 5)


def power(constant: float, exponent: float):  # type: ignore[no-untyped-def]
    """A regret that is largest at the middle gap and then grows like T^exponent."""
    return lambda spec: constant * spec.n_episodes**exponent * np.sqrt(gap_of(spec))


# ------------------------------------------------------------------ the largest over all gaps


def test_the_worst_gap_is_chosen_anew_at_every_horizon() -> None:
    T = np.array([1e3, 1e4, 1e5])
    values = np.zeros((3, 3, 4))
    for k, gap in enumerate((0, 2, 3)):  # another gap is the worst at every horizon
        values[:, k, gap] = 7.0 * T[k] ** 0.6
    worst = worst_over_gaps(values)
    assert worst.gap.tolist() == [0, 2, 3]
    assert np.allclose(worst.resampled, worst.mean[:, np.newaxis])  # the replicates are all alike
    slope = exponent(T, worst)
    assert slope is not None
    assert slope.estimate == pytest.approx(0.6)
    assert exponent(T, worst._replace(mean=worst.mean - worst.mean[0])) is None  # no logarithm


def test_the_interval_of_an_exponent_covers_it() -> None:
    """95% intervals of 300 samples: below 90% has probability 2e-4 if they are right."""
    rng = np.random.default_rng(0)
    T = np.array([1e3, 1e4, 1e5])
    covered = 0
    for _ in range(300):
        noise = 1.0 + 0.1 * rng.standard_normal((6, 3, 1))
        values = T[:, np.newaxis] ** 0.5 * noise * np.array([1.0, 0.5])  # one gap far ahead
        slope = exponent(T, worst_over_gaps(values))
        assert slope is not None
        covered += slope.low <= 0.5 <= slope.high
    assert covered >= 270


def test_paired_ratios_lose_the_common_noise() -> None:
    T = np.array([1e3, 1e5])
    world = 1.0 + 0.3 * np.random.default_rng(1).standard_normal((8, 2, 1))
    one, other = (worst_over_gaps(T[:, np.newaxis] ** p * world) for p in (0.75, 0.5))
    slope = exponent(T, one, other)
    assert slope is not None
    assert slope.low == pytest.approx(0.25)
    assert slope.high == pytest.approx(0.25)


def test_gaps_go_from_a_constant_to_the_root_of_the_horizon() -> None:
    for T in (10**3, 10**6):
        grid = gap_grid(T, 5)
        assert (grid[0], len(grid)) == (0.5, 5)
        assert grid[-1] == pytest.approx(4.0 * T**-0.5, rel=1e-4)
    parts = [losses["means"] for losses in Gaps(5, 2).losses(1000)]
    assert parts == ["gap"] * 5 + ["place"] * 2


# ------------------------------------------------------------------ Theorem 3 over episodes


def over_episodes(regret, effort: Effort = EFFORT) -> Finding:  # type: ignore[no-untyped-def]
    designs = regret_over_episodes.designs(effort)
    return regret_over_episodes.judge(designs, runs_frame(designs.values(), regret))


def test_a_square_root_holds_and_its_exponent_is_told() -> None:
    found = over_episodes(power(10.0, 0.5))
    assert found.verdict == "holds"
    assert found.data["uob-reps"]["exponent"].estimate == pytest.approx(0.5, abs=0.01)
    assert len(found.runs) == len(set(found.runs)) == 5 * 7 * (4 + 2 * 6)
    assert "0.50 [" in found.measured
    assert "rivals in the first 5 of the MDPs, up to T = 10,000" in found.instances


@pytest.mark.parametrize(("law", "verdict"), [(0.55, "holds"), (0.75, "fails"), (1.0, "fails")])
def test_faster_growth_fails(law: float, verdict: str) -> None:
    assert over_episodes(power(0.1, law)).verdict == verdict


def test_regret_above_the_bound_fails_however_slowly_it_grows() -> None:
    bound = upper_bound(layout_of(SMALL), 10**6, DELTA)
    assert (
        over_episodes(lambda spec: 1.2 * bound * (spec.n_episodes / 1e6) ** 0.5).verdict == "fails"
    )
    assert (
        over_episodes(lambda spec: 0.8 * bound * (spec.n_episodes / 1e6) ** 0.5).verdict == "holds"
    )


def test_short_runs_and_wide_intervals_are_vacuous() -> None:
    short = Effort((100, 1000), (100,), Gaps(2, 1), 3, 3)
    assert over_episodes(power(1.0, 0.5), short).verdict == "vacuous"
    designs = regret_over_episodes.designs(EFFORT)
    noisy = runs_frame(designs.values(), power(10.0, 0.5), noise=0.6)
    assert regret_over_episodes.judge(designs, noisy).verdict == "vacuous"
    negative = over_episodes(lambda spec: -spec.n_episodes)  # a learner that follows the losses
    assert negative.verdict == "vacuous"
    assert negative.data["uob-reps"]["exponent"] is None


# ------------------------------------------------------------------ the four terms


LAYOUT = layout_of(SMALL)
BOUNDS = (upper_bound, bias1_bound, reg_bound, bias2_bound)


def shares(*parts: float):  # type: ignore[no-untyped-def]
    """Terms as shares of the lemmas' bounds."""

    def terms(spec: RunSpec) -> list[float]:
        limits = (bound(LAYOUT, spec.n_episodes, DELTA) for bound in BOUNDS)
        return [part * limit for part, limit in zip(parts, limits, strict=True)]

    return terms


def four(terms, effort: Effort = EFFORT, off: float = 0.0) -> Finding:  # type: ignore[no-untyped-def]
    design = over_horizons(
        with_delta("uob-reps"), effort.horizons, effort.gaps, effort.n_replicates
    )
    runs = runs_frame([design], lambda spec: 1.0)
    return four_terms.judge(design, runs, curves_frame(design, terms, off))


def test_terms_below_their_lemmas_hold() -> None:
    found = four(shares(0.1, 0.3, 0.2, -0.5))
    assert found.verdict == "holds"
    assert "largest residual" in found.measured
    assert found.data["REG"]["runs above"] == 0
    assert found.margin == "largest share of a lemma's bound 30%"


def test_terms_that_do_not_add_up_fail() -> None:
    assert four(shares(0.1, 0.3, 0.2, -0.5), off=1e-3).verdict == "fails"


@pytest.mark.parametrize("which", [2, 3])
def test_explicit_bounds_may_not_be_exceeded(which: int) -> None:
    parts = [0.1, 0.3, 0.2, 0.1]
    parts[which] = 1.05
    assert four(shares(*parts)).verdict == "fails"
    once = shares(*(0.1, 0.3, 0.2, 0.1))

    def unlucky(spec: RunSpec) -> list[float]:
        """A single run above: what a failure probability is for."""
        return shares(*parts)(spec) if spec.id == all_specs(lucky)[0].id else once(spec)

    lucky = over_horizons(with_delta("uob-reps"), EFFORT.horizons, EFFORT.gaps, 5)
    assert four(unlucky).verdict == "holds"


def test_an_order_may_be_exceeded_but_not_outgrown() -> None:
    assert four(shares(3.0, 0.3, 0.2, 0.1)).verdict == "holds"  # O(...) hides a constant

    def linear(spec: RunSpec) -> list[float]:
        return [0.01 * spec.n_episodes * (1 + 0.01 * luck(spec)), 0.0, 0.0, 0.0]

    assert four(linear).verdict == "fails"


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_stored_rows_does_not_matter(seed: int) -> None:
    """A store may hold other runs as well, and hands out its rows in any order."""
    design = over_horizons(with_delta("uob-reps"), EFFORT.horizons, EFFORT.gaps, 5)
    others = over_horizons({"name": "uniform"}, EFFORT.horizons, EFFORT.gaps, 15)
    runs = runs_frame([design, others], lambda spec: 1.0)
    curves = curves_frame(design, shares(0.1, 0.3, 0.2, -0.5))
    shuffled = (frame.sample(fraction=1.0, shuffle=True, seed=seed) for frame in (runs, curves))
    found = four_terms.judge(design, *shuffled)
    assert found.data == four(shares(0.1, 0.3, 0.2, -0.5)).data


def test_terms_of_short_runs_are_vacuous() -> None:
    assert (
        four(shares(0.1, 0.1, 0.1, 0.1), Effort((1, 2), (), Gaps(2, 1), 3, 3)).verdict == "vacuous"
    )


def test_chance_of_the_worst_cell() -> None:
    exceeds = np.zeros((4, 3, 2), dtype=bool)
    assert four_terms.least_chance(exceeds) == 1.0
    exceeds[:, 1, 1] = True
    assert four_terms.least_chance(exceeds) == pytest.approx(6 * 0.05**4)


# ------------------------------------------------------------------ sizes, and full information


def over_size(growth, known=lambda at: 10.0, noise: float = 0.01) -> Finding:  # type: ignore[no-untyped-def]
    designs = regret_over_size.designs(regret_over_size.Effort(10**5, Gaps(2, 1), 4, 6, 16))

    def regret(spec: RunSpec) -> float:
        law = growth if spec.learner.name == "uob-reps" else known
        return float(law(layout_of(spec.mdp.parameters)))

    return regret_over_size.judge(designs, runs_frame(designs.values(), regret, noise))


def test_more_replicates_where_actions_grow() -> None:
    designs = regret_over_size.designs(regret_over_size.Effort(100, Gaps(2, 1), 4, 6, 16))
    assert {name: len(designs["uob-reps", name]) for name in ("|X|", "|A|", "L")} == {
        "|X|": 4,
        "|A|": 6,
        "L": 4,
    }


def test_growth_with_the_size() -> None:
    as_bounded = over_size(lambda at: 100 * (at.n_layers * at.n_states) ** 0.5)
    assert as_bounded.verdict == "holds"
    ratios = {name: one["exponent of the ratio"] for name, one in as_bounded.data.items()}
    assert ratios["|X|"].estimate == pytest.approx(0.5, abs=0.02)
    assert ratios["|A|"].estimate == pytest.approx(0.0, abs=0.02)
    assert ratios["L"].estimate == pytest.approx(0.5, abs=0.05)
    assert over_size(lambda at: at.n_states**1.5).verdict == "fails"
    assert over_size(lambda at: at.n_actions * 10.0).verdict == "fails"
    assert over_size(lambda at: 100 * at.n_actions**0.15).verdict == "holds"  # within the room
    assert over_size(lambda at: 100 * at.n_actions**0.4).verdict == "fails"
    assert over_size(lambda at: 100 * at.n_actions**0.15, noise=0.5).verdict == "vacuous"
    # What O-REPS suffers from as well is not the price of an unknown transition.
    both = over_size(lambda at: at.n_actions * 10.0, known=lambda at: at.n_actions * 5.0)
    assert both.verdict == "holds"
    assert over_size(lambda at: -at.n_states).verdict == "vacuous"
    assert over_size(lambda at: 1e7).verdict == "fails"  # above the bound itself
    for members in regret_over_size.families(16)["L"]:
        assert Layout(members["layer_sizes"], 2).n_states == 14


def with_full_information(own: float, other: float) -> Finding:
    designs = {
        name: over_horizons({"name": name}, EFFORT.horizons, EFFORT.gaps, 5)
        for name in ("uob-reps", "uc-o-reps", "o-reps")
    }

    def regret(spec: RunSpec) -> float:
        return float(spec.n_episodes ** (own if spec.learner.name == "uob-reps" else other))

    return full_information.judge(designs, runs_frame(designs.values(), regret))


def test_ratio_to_full_information() -> None:
    same = with_full_information(0.55, 0.5)
    assert same.verdict == "holds"
    assert same.data["o-reps"]["exponent of the last decade"].estimate == pytest.approx(
        0.05, abs=0.01
    )
    assert with_full_information(0.75, 0.5).verdict == "fails"
