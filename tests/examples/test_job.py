"""The job scenario: its model, its costs, its figures, and the interval around them."""

from __future__ import annotations

import datetime
import doctest
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.examples.scripts import assert_a_picture, script

job, battery, days, prices = (script(name) for name in ("job", "battery", "days", "prices"))


@cache
def small_run() -> Any:
    return job.compare(prices.made_up_prices(110, seed=1), seed=0)


def test_units_that_are_run_fail_one_by_one() -> None:
    mdp = job.job(0.3)
    step = mdp.transitions[10]
    left = mdp.layout.original_state[10].tolist()
    for i, units in enumerate(left):
        for action in range(3):
            run = min(action, units)
            for j, after in enumerate(mdp.layout.original_state[11].tolist()):
                done = units - after
                chance = (
                    comb(run, done) * 0.7**done * 0.3 ** (run - done) if 0 <= done <= run else 0.0
                )
                assert step[i, action, j] == pytest.approx(chance)


def test_a_path_costs_power_in_its_hours_and_what_is_left() -> None:
    """Run two at noon and one at the end, all works, three are left; by hand."""
    layout = job.job(0.1).layout
    hourly = np.arange(24.0)[np.newaxis] + 10.0
    costs = layout.pairs(job.costs_of(layout, hourly, np.array([100.0]))[0])
    assert costs[0][0].tolist() == [0.0, 10.0, 22.0]
    place = {units: i for i, units in enumerate(layout.original_state[23].tolist())}
    assert costs[23][place[4]].tolist() == pytest.approx([0.0, 33.0, 72.6])
    assert costs[23][place[1]].tolist() == [0.0, 33.0, 33.0]  # there is only one to run
    assert costs[23][place[0]].tolist() == [0.0, 0.0, 0.0]
    place = {units: i for i, units in enumerate(layout.original_state[24].tolist())}
    assert costs[24][place[3]].tolist() == [300.0] * 3


def test_an_episode_is_24_hours_from_noon_of_days_that_follow_each_other() -> None:
    first = datetime.date(2024, 1, 1)
    dates = [first + datetime.timedelta(day) for day in (0, 1, 3, 4)]
    hourly = np.arange(96.0).reshape(4, 24)
    found = job.from_noon(prices.Prices(dates, hourly))
    assert found.dates == [dates[0], dates[2]]
    np.testing.assert_array_equal(found.hourly[0], np.arange(12.0, 36.0))
    np.testing.assert_array_equal(found.hourly[1], np.arange(60.0, 84.0))


def test_too_few_days_that_follow_each_other_are_refused() -> None:
    series = prices.made_up_prices(60, seed=0)
    every_second = prices.Prices(series.dates[::2], series.hourly[::2])
    just_too_few = prices.Prices(series.dates[:29], series.hourly[:29])
    for given, episodes in ((every_second, 0), (just_too_few, 28)):
        with pytest.raises(
            am.InvalidInput, match=rf"^{episodes} days whose next day .* 28 of history"
        ):
            job.compare(given, seed=0)


def test_the_price_of_lateness_knows_only_the_past() -> None:
    hourly = prices.made_up_prices(40, seed=2).hourly
    changed = hourly.copy()
    changed[35] *= 10.0
    before, after = job.late_price(hourly), job.late_price(changed)
    np.testing.assert_array_equal(before[:36], after[:36])
    assert after[36] > before[36]
    assert before[30] == pytest.approx(3.0 * np.quantile(hourly[2:30], 0.95))


def test_who_saves_what() -> None:
    outcome = small_run()
    saved = {name: outcome.saved(daily) for name, daily in outcome.costs.items()}
    assert saved[job.AT_ONCE] == 0.0
    most = saved.pop(job.FORESIGHT)
    assert outcome.saved_share(outcome.costs[job.FORESIGHT]) == "100.0%"
    assert max(saved.values()) < most
    best = max(v for name, v in saved.items() if "mixture" not in name)
    assert saved[days.MIXTURE] > 0.97 * best
    assert outcome.saved(outcome.unknown[days.MIXTURE]) > 0.85 * saved[days.MIXTURE]


def test_running_at_once_is_that() -> None:
    """Monte Carlo: run one unit an hour until all are done; within five standard errors."""
    outcome, rng = small_run(), np.random.default_rng(0)
    works = rng.random((20_000, 24)) >= job.FAILS
    running = np.cumsum(works, axis=1) - works < job.UNITS
    drawn = running @ outcome.hourly[0]
    expected = outcome.costs[job.AT_ONCE][0]
    assert abs(drawn.mean() - expected) < 5 * drawn.std() / np.sqrt(len(drawn))


def test_the_script_writes_a_picture_and_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "job.png"
    job.main(["--days", "45", "--output", str(target)])
    assert_a_picture(target)
    printed = capsys.readouterr().out
    assert "16 days" in printed
    assert "of what the best single one does" in printed
    with pytest.raises(am.InvalidInput, match="--days: more than 29 days"):
        job.main(["--days", "29", "--output", str(target)])


@pytest.mark.parametrize("intensity", [0.0, 50.0])
def test_where_nothing_can_be_saved_no_percentage_is_printed(
    intensity: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All hours alike: what differs is rounding."""
    dates = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(33)]
    rows = [",".join(["date", *prices.HOURS])]
    rows += [",".join([str(date), *[str(intensity)] * 24]) for date in dates]
    alike = tmp_path / "alike.csv"
    alike.write_text("\n".join(rows) + "\n", encoding="utf-8")
    for scenario in (job, battery):
        scenario.main([str(alike), "--output", str(tmp_path / "picture.png")])
        printed = capsys.readouterr().out
        assert printed.count("- %") >= 4
        assert not any(word in printed for word in ("nan", "inf", "-0.0", "%.", "100.0%"))


def test_the_interval_covers_the_mean_of_dependent_days() -> None:
    """Of 60 series with a memory of a week, of which 95% should be covered, at least 46 are."""
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=1207)
        daily = np.convolve(noise, np.ones(7) / 7, mode="valid")
        found = days.block_bootstrap(daily, seed)
        covered += found.low <= 0.0 <= found.high
        assert found.low < found.mean < found.high
    assert covered >= 46


def test_the_docstrings_examples() -> None:
    assert doctest.testmod(days) == (0, 3)


def test_the_verdict_says_what_is_easy_and_what_is_hard() -> None:
    combined = f"plan for {days.COMBINED}"
    gained = {days.MIXTURE: [5.0], days.FOUR_WEEKS: [4.0], "a": [6.0], combined: [8.0]}
    said = days.verdict(gained, "earns", "the best single one", 0.0)
    assert "earns 83.3% of the best single one (a)." in said
    assert f"62.5% ({combined}), and 25.0% of its lead" in said
    for gain in (0.0, 1e-14):
        same = {days.MIXTURE: [gain], days.FOUR_WEEKS: [0.0]}
        assert days.verdict(same, "earns", "the best", 1e-9).count("- %") == 3
