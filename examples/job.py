"""A compute job that can wait for clean, or cheap, hours.

    python examples/job.py [intensity.csv] [--days N] [--unit ...] [--output job.png] [--seed 0]

The problem.  Every day at noon a job of six units of work arrives; it is due at noon the next day.
In every hour one may pause, run one unit, or run two at once, which takes 2.2 times the power.
Some units fail and have to be run again, how many is unknown.  Power is cleaner in some hours than
in others (or cheaper: any hourly series will do), which hours is known only afterwards.

The model.  An episode is 24 hours from noon; a state is the number of units left.  An hour costs
its carbon intensity times the power taken.  A unit left at the end costs three times an hour that
was bad lately (higher than 95 of 100 in the last four weeks): it has to be bought elsewhere.

The strategies (``days.py``).  Running at once; plans for the recent past, renewed every day, as
practitioners make them; AdaFTRL with memories of all lengths; plans for a forecast by regression;
and mixtures of all these, which choose as they go.  The README says how the forecast was settled.

What was learnt.  No mean of the past sees that wind which blows at noon blows in the afternoon; a
forecast does.  Nobody needs to know that: the mixture finds out which of its twenty members to
follow, with the failures known or not.
"""

from __future__ import annotations

import argparse
import datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from days import (
    FOUR_WEEKS,
    MIXTURE,
    NOTHING_TO_CHOOSE,
    ROUNDING,
    Interval,
    best_single,
    block_bootstrap,
    follow,
    kinds_of,
    percent,
    rules,
    strategies,
    verdict,
)
from prices import HISTORY, Prices, made_up_prices, read_prices
from shared import Diary, draw_lines, dress, natural, new_figure, run_script

import advmdp as am
from advmdp.layout import Floats
from advmdp.reports.figures.line_styles import FAINT
from advmdp.reports.output_path import checked_figure_path

UNITS, HOURS, NOON = 6, 24, 12
POWER = np.array([0.0, 1.0, 2.2])  # of pausing, running one unit, running two
FAILS = 0.1  # the truth: a unit that was run has to be run again
LATE = 3.0  # what a unit left costs, in bad hours
AT_ONCE, FORESIGHT = "run at once", "the day's hours known"
SHOWN = (MIXTURE, "plan for the last 7 days of its kind", FOUR_WEEKS, "plan for yesterday")


# ---------------------------------------------------------------------- the model


def job(fails: float) -> am.LayeredMDP:
    """Units left, hour by hour."""
    step = np.zeros((UNITS + 1, 3, UNITS + 1))
    works = 1.0 - fails
    for left in range(UNITS + 1):
        step[left, 0, left] = 1.0
        for action in (1, 2):
            run = min(action, left)
            for done in range(run + 1):
                ways = 2.0 if (run, done) == (2, 1) else 1.0
                step[left, action, left - done] += ways * works**done * fails ** (run - done)
    tables = [step[UNITS:], *[step] * (HOURS - 1), np.ones((UNITS + 1, 3, 1))]
    return am.LayeredMDP(_layout(step > 0.0), tables)


def _layout(follow: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> am.Layout:
    """Layers are the hours, and one more in which what is left is paid for.

    One unit fails like another, at any hour: rows that run equally many share their visits.
    """
    sizes = [1, *[UNITS + 1] * HOURS, 1]
    rows = np.minimum(np.arange(3), np.arange(UNITS + 1)[:, np.newaxis])
    end = np.ones((UNITS + 1, 3, 1), dtype=np.bool_)
    return am.Layout(
        sizes,
        n_actions=3,
        successors=[follow[UNITS:], *[follow] * (HOURS - 1), end],
        shared_rows=[rows[UNITS:], *[rows] * (HOURS - 1), np.full_like(rows, -1)],
    )


def costs_of(layout: am.Layout, hourly: Floats, late: Floats) -> Floats:
    """What every pair costs on every day, (days, pairs): intensity times power, and lateness."""
    left = np.concatenate([[UNITS], *layout.original_state[1:-1]])  # the first hour has one state
    run = np.minimum(np.arange(3), np.repeat(left, 3).reshape(-1, 3)).ravel()
    power, hour = POWER[run], layout.row_layer
    in_hours = hourly[:, np.minimum(hour, HOURS - 1)] * power
    at_the_end = late[:, np.newaxis] * np.repeat(left, 3)
    return np.asarray(np.where(hour < HOURS, in_hours, at_the_end))


def from_noon(series: Prices) -> Prices:
    """Episodes of 24 hours from noon, where the next day is in the series as well."""
    follows = [b - a == datetime.timedelta(1) for a, b in pairwise(series.dates)]
    hourly = np.hstack([series.hourly[:-1, NOON:], series.hourly[1:, :NOON]])
    dates = [date for date, whole in zip(series.dates, follows, strict=False) if whole]
    return Prices(dates, hourly[np.array(follows)])


def late_price(hourly: Floats) -> Floats:
    """Three times the 95% quantile of the 28 days before; in the history, of the history."""
    windows = [hourly[max(0, day - HISTORY) : max(day, HISTORY)] for day in range(len(hourly))]
    return LATE * np.array([np.quantile(window, 0.95) for window in windows])


# ---------------------------------------------------------------------- the outcome


class Outcome(NamedTuple):
    dates: list[datetime.date]  # the days played
    hourly: Floats
    costs: dict[str, Floats]  # expected, of every day
    unknown: dict[str, Floats]  # the same when the failures are unknown
    diaries: dict[str, Diary]

    def saved(self, daily: Floats) -> float:
        """Against running at once."""
        return float((self.costs[AT_ONCE] - daily).sum())

    def saved_share(self, daily: Floats) -> str:
        """Of what foresight could save, in percent."""
        return percent(self.saved(daily), self.saved(self.costs[FORESIGHT]), self.least)

    @property
    def least(self) -> float:
        """What is saved by rounding only."""
        return ROUNDING * float(np.abs(self.costs[AT_ONCE]).sum())


def compare(series: Prices, seed: int) -> Outcome:
    """All strategies on the same days, once with the failures known and once without."""
    truth, days = job(FAILS), from_noon(series)
    if len(days.dates) <= HISTORY:
        raise am.InvalidInput(
            f"{len(days.dates)} days whose next day is there as well; "
            f"{HISTORY} of history and more are needed"
        )
    layout, kinds = truth.layout, kinds_of(days.dates)
    table = costs_of(layout, days.hourly, late_price(days.hourly))
    traded = table[HISTORY:]
    always_run = layout.pairs(np.tile([0.0, 1.0, 0.0], layout.n_states - 1))
    measure = am.occupancy_measure(truth.transitions, always_run, layout)
    costs = {
        AT_ONCE: traded @ layout.flat_pairs([part.sum(axis=2) for part in measure]),
        FORESIGHT: np.array([am.best_fixed_policy(truth, day).loss for day in traded]),
    }
    diaries = {
        name: follow(truth, table, kinds, strategy, seed)
        for name, strategy in strategies(layout, truth.flat).items()
    }
    costs |= {name: diary.expected(truth, traded) for name, diary in diaries.items()}
    blind = {
        name: follow(truth, table, kinds, strategy, seed).expected(truth, traded)
        for name, strategy in strategies(layout).items()
        if name in (MIXTURE, NOTHING_TO_CHOOSE, *rules(layout))
    }
    return Outcome(days.dates[HISTORY:], days.hourly[HISTORY:], costs, blind, diaries)


def report(outcome: Outcome, unit: str) -> None:
    """A table: the cost of a day, what was saved, and how sure the mixture's lead is."""
    print(f"{len(outcome.dates):,} days{f'{unit} a day':>48}{'saved':>10}{'failures unknown':>20}")
    for name, daily in outcome.costs.items():
        blind = outcome.unknown.get(name)
        other = "" if blind is None else outcome.saved_share(blind)
        saved = outcome.saved_share(daily)
        print(f"  {name:<44}{daily.mean():>10,.1f}{saved:>12}{other:>14}")
    at_once = outcome.costs[AT_ONCE]
    known = {n: at_once - d for n, d in outcome.costs.items() if n not in (AT_ONCE, FORESIGHT)}
    print(verdict(known, "saves", "what the best single one does", outcome.least))
    lead = lead_over(outcome, FOUR_WEEKS)
    print(
        f"It saves {lead.mean:z.1f} {unit} a day more than the {FOUR_WEEKS} "
        f"(95% interval {lead.low:z.1f} to {lead.high:z.1f}, blocks of four weeks)."
    )
    means = best_single({n: -d for n, d in outcome.costs.items() if n.startswith("AdaFTRL")})
    lead = lead_over(outcome, FOUR_WEEKS, means)
    interval = f"{lead.mean:z.1f} ({lead.low:z.1f} to {lead.high:z.1f})"
    print(f"The best of those that remember means ({means}) saves {interval} more than that plan.")
    blind, sighted = outcome.unknown[MIXTURE], outcome.costs[MIXTURE]
    share = percent(outcome.saved(blind), outcome.saved(sighted), outcome.least)
    print(f"Without knowing how often units fail it saves {share} of that.")


def lead_over(outcome: Outcome, name: str, leader: str = MIXTURE) -> Interval:
    """How much less than another strategy the mixture, or a strategy, costs in a day."""
    return block_bootstrap(outcome.costs[name] - outcome.costs[leader])


def draw(outcome: Outcome, unit: str, target: Path) -> None:
    """What was saved over the days; and by hour how clean power was, and when it was taken."""
    at_once = outcome.costs[AT_ONCE]
    note = (
        f"{outcome.dates[0]} to {outcome.dates[-1]}; six units of work from noon to noon. "
        "Dashed: the day's hours known in advance. Right: the last 90 days, same colours."
    )
    figure = new_figure(13.0, 5.2, "A job that waits for clean hours", note)
    left = figure.add_axes((0.065, 0.16, 0.37, 0.65))
    top = figure.add_axes((0.70, 0.58, 0.27, 0.23))
    bottom = figure.add_axes((0.70, 0.16, 0.27, 0.28))
    days = np.arange(1, len(outcome.dates) + 1)
    later = slice(min(HISTORY, len(days) // 2), None)  # the first few days say nothing

    def shares(name: str) -> Floats:
        saved, spent = (at_once - outcome.costs[name]).cumsum(), np.abs(at_once).cumsum()
        share = np.divide(100.0 * saved, spent, out=np.zeros_like(spent), where=spent > 0.0)
        return np.asarray(share[later])

    left.plot(days[later], shares(FORESIGHT), color=FAINT, linestyle="--")
    draw_lines(left, days[later], {name: shares(name) for name in SHOWN})
    dress(left, "Saved since the beginning, against running at once", "days", "percent")
    top.plot(range(HOURS), outcome.hourly[-90:].mean(axis=0), color=FAINT, linewidth=1.9)
    dress(top, "Mean intensity", "", unit)
    truth = job(FAILS)
    layout = truth.layout
    taken = costs_of(layout, np.ones((1, HOURS)), np.zeros(1))[0]
    starts = layout.layer_start[:HOURS] * 3
    power = {
        name: np.add.reduceat(
            outcome.diaries[name].occupancy(truth)[-90:].mean(axis=0) * taken, starts
        )
        for name in SHOWN
    }
    draw_lines(bottom, range(HOURS), power, named=False)
    dress(bottom, "Power taken", "hour of the day", "units")
    for axes in (top, bottom):
        axes.set_xlim(0, HOURS - 1)
        axes.set_xticks(range(0, HOURS, 6), labels=["12", "18", "0", "6"])
    figure.savefig(target)


def main(arguments: list[str] | None = None) -> Outcome:
    parser = argparse.ArgumentParser(description="A job that waits for clean hours.")
    parser.add_argument("intensity", nargs="?", type=Path, help="CSV: date,h00,...,h23")
    parser.add_argument("--days", type=int, help="use the first N days (made up: 800)")
    parser.add_argument("--unit", default="g", help="of intensity times power; only a label")
    parser.add_argument("--output", default="results/job.png")
    parser.add_argument("--seed", type=natural, default=0)
    options = parser.parse_args(arguments)
    target = checked_figure_path(options.output, "output")
    days = options.days
    if days is not None and days <= HISTORY + 1:
        raise am.InvalidInput(f"--days: more than {HISTORY + 1} days")
    if options.intensity is None:
        series = made_up_prices(days or 800, options.seed)
    else:
        everything = read_prices(options.intensity)
        series = Prices(everything.dates[:days], everything.hourly[:days])
    outcome = compare(series, options.seed)
    report(outcome, options.unit)
    draw(outcome, options.unit, target)
    print(f"Figure: {target}")
    return outcome


if __name__ == "__main__":
    run_script(main)
