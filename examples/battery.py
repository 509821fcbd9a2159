"""A battery that trades day by day against hourly electricity prices.

    python examples/battery.py [prices.csv] [--days N] [--laps 1] [--output battery.png] [--seed 0]

The problem.  A battery of 1 MW and 4 MWh buys and sells at the hourly prices of a power exchange.
Orders are placed before the prices are known.  Charging loses energy, standing loses a little more,
and how much this very battery loses is not in its papers.  What should it do in each hour?

The model.  An episode is a day: 24 steps, one for each hour.  The state is the charge, 0 to 4 MWh;
the actions are to charge, to hold, to discharge one MWh.  Each day begins empty at midnight, and
what is left at the next midnight is worth nothing: days stand by themselves.

The prices.  Of a CSV file in the format of ``prices.py``, or made up.  They are public after the
day, so a learner may be told all 24 (full information).  UOB-REPS is told less, only what its own
trades cost (bandit feedback), as in a market that shows nobody else's trades.

What was learnt.  Five years of days are too few for bandit feedback: UOB-REPS finds the shape of
the day but has paid for it by then.  Use what is public.  And where prices drift, a plan for the
last week earns more than any fixed policy, the standard that regret is measured by.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from prices import HISTORY, Prices, made_up_prices, read_prices
from shared import Diary, Scripted, draw_lines, dress, natural, new_figure, run_script

import advmdp as am
from advmdp.evaluation.comparator import best_fixed_policy
from advmdp.layout import Floats, Table
from advmdp.reports.figures.line_styles import FAINT
from advmdp.reports.output_path import checked_figure_path
from advmdp.world.loss_streams import Integers

FULL = 4  # MWh; one MWh is charged or discharged in an hour
CHARGE, HOLD, DISCHARGE = range(3)
CHARGE_WORKS, LEAK = 0.88, 0.01  # the truth: a bought MWh arrives, a stored MWh is lost in an hour
SHEET_WORKS, SHEET_LEAK = 0.95, 0.0  # what the data sheet promises

# Parameters.  UOB-REPS takes the preset of the package.  For full information there is none: its
# rate was chosen among 1, 4 and 16 times the theory's on the made-up series.
FULL_INFORMATION = {"eta_scale": 16.0, "log_scale": am.PRACTICAL["uob-reps"]["log_scale"]}
SHOWN = (
    *("UOB-REPS", "UC-O-REPS, sees all prices"),
    *("plan for the first month", "plan for the last week"),
)


# ---------------------------------------------------------------------- the model


def battery(works: float, leak: float) -> am.LayeredMDP:
    """The charge over a day; the layout declares what can follow, not how often it does."""
    step = np.zeros((FULL + 1, 3, FULL + 1))
    for charge in range(FULL + 1):
        lower = max(charge - 1, 0)
        step[charge, DISCHARGE, lower] = 1.0
        step[charge, HOLD, charge] += 1.0 - leak
        step[charge, HOLD, lower] += leak
        if charge < FULL:
            step[charge, CHARGE, [charge, charge + 1]] = 1.0 - works, works
        else:
            step[charge, CHARGE] = step[charge, HOLD]
    end = np.ones((FULL + 1, 3, 1))
    return am.LayeredMDP(layout(), [step[:1], *[step] * 22, end])


def layout() -> am.Layout:
    """Layers are hours.  Possible: up or not by charging, down or not by holding, down by selling.

    >>> layout().n_layers, layout().layer_sizes[:6]
    (24, (1, 2, 3, 4, 5, 5))
    """
    follow = np.zeros((FULL + 1, 3, FULL + 1), dtype=np.bool_)
    for charge in range(FULL + 1):
        lower = max(charge - 1, 0)
        follow[charge, CHARGE, [charge, min(charge + 1, FULL)]] = True
        follow[charge, HOLD, [charge, lower]] = True
        follow[charge, DISCHARGE, lower] = True
    follow[FULL, CHARGE, FULL - 1] = True  # nothing to charge: the same as holding
    end = np.ones((FULL + 1, 3, 1), dtype=np.bool_)
    sizes = [1, *[FULL + 1] * 23, 1]
    return am.Layout(sizes, n_actions=3, successors=[follow[:1], *[follow] * 22, end])


def bought(layout: am.Layout) -> Floats:
    """MWh bought (or, below zero, sold) by each pair; full and empty batteries let nothing flow."""
    flow = np.zeros((FULL + 1, 3))
    flow[:FULL, CHARGE], flow[1:, DISCHARGE] = 1.0, -1.0
    return layout.flat_pairs([flow[:1], *[flow] * 23])


def scale_of(prices: Prices) -> Floats:
    """For each day after the history the price that counts as large: 95 of 100 lately were lower.

    Money becomes loss by  loss = 1/2 + cost / (2 scale),  cut to [0, 1], and loss becomes money by
    cost = (2 loss - 1) scale.  The scale is known the evening before.  Only what a learner is told
    is cut, in the few hours with higher prices; the money below is counted in full.
    """
    recent = np.lib.stride_tricks.sliding_window_view(np.abs(prices.hourly), HISTORY, axis=0)[:-1]
    return np.asarray(np.maximum(np.quantile(recent, 0.95, axis=(1, 2)), 1.0))


# ---------------------------------------------------------------------- the strategies


def rules_of_thumb(prices: Prices, flow: Floats, hour: Integers) -> dict[str, list[Table]]:
    """What one would do without a learner: one policy for good, or one for each day."""
    sheet = battery(SHEET_WORKS, SHEET_LEAK)

    def plan(profile: Floats) -> Table:
        """The best policy if the day had these prices and the data sheet were right."""
        return best_fixed_policy(sheet, profile[hour] * flow).policy

    first_month = prices.hourly[:HISTORY].mean(axis=0)
    cheap, dear = np.quantile(first_month, [0.25, 0.75])
    action = np.where(first_month <= cheap, CHARGE, np.where(first_month >= dear, DISCHARGE, HOLD))
    threshold = np.eye(3)[action[hour[::3]]].ravel()  # three pairs to a state
    days = range(HISTORY, len(prices.hourly))
    return {
        "thresholds of the first month": [sheet.layout.pairs(threshold)],
        "plan for the first month": [plan(first_month)],
        "plan for yesterday": [plan(prices.hourly[day - 1]) for day in days],
        "plan for the last week": [plan(prices.hourly[day - 7 : day].mean(axis=0)) for day in days],
    }


class Trading(NamedTuple):
    """What came of a series of days: earnings of every day, in money."""

    prices: Prices  # the days traded
    expected: dict[str, Floats]
    realised: dict[str, Floats]
    diaries: dict[str, Diary]
    best_fixed: Floats
    foresight: float


def trade(prices: Prices, laps: int, seed: int) -> Trading:
    """Every strategy on the same days, with the same luck."""
    truth = battery(CHARGE_WORKS, LEAK)
    layout, flow = truth.layout, bought(truth.layout)
    hour = layout.row_layer
    scale = scale_of(prices)
    traded = Prices(prices.dates[HISTORY:] * laps, np.tile(prices.hourly[HISTORY:], (laps, 1)))
    costs = traded.hourly[:, hour] * flow
    losses = np.clip(0.5 + costs / (2 * np.tile(scale, laps)[:, np.newaxis]), 0.0, 1.0)
    n_days = len(costs)
    rules = rules_of_thumb(prices, flow, hour)
    strategies = {name: Scripted(layout, policies * laps) for name, policies in rules.items()} | {
        "UOB-REPS": am.UOBREPS(layout, n_days, **am.PRACTICAL["uob-reps"]),
        "UOB-REPS, parameters of theory": am.UOBREPS(layout, n_days),
        "UC-O-REPS, sees all prices": am.UCOREPSBox(layout, n_days, **FULL_INFORMATION),
        "random actions": am.Uniform(layout),
    }
    diaries = {name: Diary(strategy) for name, strategy in strategies.items()}
    for diary in diaries.values():
        am.play(truth, am.losses.Replayed(losses), diary, n_days, seed)
    return Trading(
        prices=traded,
        expected={name: -diary.expected(truth, costs) for name, diary in diaries.items()},
        realised={name: -diary.realised(costs) for name, diary in diaries.items()},
        diaries=diaries,
        best_fixed=-costs @ best_fixed_policy(truth, costs.sum(axis=0)).occupancy,
        foresight=-sum(best_fixed_policy(truth, day).loss for day in costs),
    )


# ---------------------------------------------------------------------- the outcome


def report(trading: Trading, currency: str) -> None:
    """A table: earnings in all, and a day in the first and in the last year."""
    n_days, year = len(trading.prices.hourly), min(365, len(trading.prices.hourly))
    print(f"{n_days:,} days, {currency}:{'in all':>24}{'a day, first year':>20}{'last year':>12}")
    for name, daily in {"do nothing": np.zeros(n_days), **trading.expected}.items():
        first, last = daily[:year].mean(), daily[-year:].mean()
        print(f"  {name:<31}{daily.sum():>12,.0f}{first:>18,.1f}{last:>14,.1f}")
    print(f"  {'best fixed policy, in hindsight':<31}{trading.best_fixed.sum():>12,.0f}")
    print(f"  {'prices known the day before':<31}{trading.foresight:>12,.0f}")


def draw(trading: Trading, currency: str, target: Path) -> None:
    """Earnings over the days; and by hour what was paid and what each strategy did at the end."""
    shown = {name: trading.expected[name] for name in SHOWN}
    note = (
        f"{trading.prices.dates[0]} to {trading.prices.dates[-1]}; 1 MW, 4 MWh. "
        "Dashed: the best fixed policy in hindsight. Right: the last 90 days, same colours."
    )
    figure = new_figure(13.0, 5.2, "A battery against hourly prices", note)
    left = figure.add_axes((0.065, 0.16, 0.40, 0.65))
    top = figure.add_axes((0.68, 0.58, 0.29, 0.23))
    bottom = figure.add_axes((0.68, 0.16, 0.29, 0.28))
    days = np.arange(1, len(trading.prices.hourly) + 1)
    left.plot(days, trading.best_fixed.cumsum() / 1000, color=FAINT, linestyle="--")
    draw_lines(left, days, {name: daily.cumsum() / 1000 for name, daily in shown.items()})
    left.axhline(0, color=FAINT, linewidth=0.8)
    dress(left, "Earned since the beginning", "days traded", f"thousand {currency}")
    top.plot(range(24), trading.prices.hourly[-90:].mean(axis=0), color=FAINT, linewidth=1.9)
    dress(top, "Mean price", "", f"{currency} per MWh")
    truth = battery(CHARGE_WORKS, LEAK)
    flow, starts = bought(truth.layout), truth.layout.layer_start[:-2] * 3
    traded = {
        name: np.add.reduceat(trading.diaries[name].occupancy(truth)[-90:].mean(0) * flow, starts)
        for name in SHOWN
    }
    draw_lines(bottom, range(24), traded, named=False)
    bottom.axhline(0, color=FAINT, linewidth=0.8)
    dress(bottom, "Bought (above zero) or sold", "hour of the day", "MWh")
    for axes in (top, bottom):
        axes.set_xlim(0, 23)
        axes.set_xticks(range(0, 24, 6))
    figure.savefig(target)


def main(arguments: list[str] | None = None) -> Trading:
    parser = argparse.ArgumentParser(description="A battery against hourly electricity prices.")
    parser.add_argument("prices", nargs="?", type=Path, help="CSV: date,h00,...,h23")
    parser.add_argument("--days", type=int, help="use the first N days (made up: 1800)")
    parser.add_argument("--laps", type=int, default=1, help="go through the series this often")
    parser.add_argument("--currency", default="EUR", help="only a label")
    parser.add_argument("--output", default="results/battery.png")
    parser.add_argument("--seed", type=natural, default=0)
    options = parser.parse_args(arguments)
    target = checked_figure_path(options.output, "output")
    days = options.days
    if (days is not None and days <= HISTORY) or options.laps < 1:
        raise am.InvalidInput(f"--days, --laps: more than {HISTORY} days and at least one lap")
    if options.prices is None:
        prices = made_up_prices(days or 1800, options.seed)
    else:
        everything = read_prices(options.prices)
        prices = Prices(everything.dates[:days], everything.hourly[:days])
    trading = trade(prices, options.laps, options.seed)
    report(trading, options.currency)
    draw(trading, options.currency, target)
    print(f"Figure: {target}")
    return trading


if __name__ == "__main__":
    run_script(main)
