"""A battery that trades day by day against hourly electricity prices.

    python examples/battery.py [prices.csv] [--days N] [--output battery.png] [--seed 0]

The problem.  A battery of 1 MW and 4 MWh buys and sells at the hourly prices of a power exchange.
Orders are placed before the prices are known.  Charging loses energy, standing loses a little more,
and how much this very battery loses is not in its papers.  What should it do in each hour?

The model.  An episode is a day: 24 steps, one for each hour.  The state is the charge, 0 to 4 MWh;
the actions are to charge, to hold, to discharge one MWh.  Each day begins empty at midnight, and
what is left at the next midnight is worth nothing: days stand by themselves.

The prices.  Of a CSV file in the format of ``prices.py``, or made up.  They are public after the
day, so learners and rules are told all 24 (full information), in money: no unit to choose.
UOB-REPS is told less, only what its own trades cost (bandit feedback), and needs losses in [0, 1].

The strategies (``days.py``).  Plans for the recent past, renewed every day, as practitioners make
them; AdaFTRL with memories of all lengths; mixtures of all these, which choose as they go.  Once
they know the battery, once they learn it from their own trades.

What was learnt.  Prices drift, so memory must be short, and Sundays are not Mondays; how short
nobody knows before.  The mixture finds out, and earns what the best of its members does.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from days import (
    FOUR_WEEKS,
    MIXTURE,
    ROUNDING,
    Interval,
    block_bootstrap,
    follow,
    kinds_of,
    percent,
    strategies,
    verdict,
)
from prices import HISTORY, Prices, made_up_prices, read_prices
from shared import Diary, draw_lines, dress, natural, new_figure, run_script

import advmdp as am
from advmdp.layout import Floats
from advmdp.reports.figures.line_styles import FAINT
from advmdp.reports.output_path import checked_figure_path

FULL = 4  # MWh; one MWh is charged or discharged in an hour
CHARGE, HOLD, DISCHARGE = range(3)
CHARGE_WORKS, LEAK = 0.88, 0.01  # the truth: a bought MWh arrives, a stored MWh is lost in an hour

# For full information in [0, 1] there is no preset: the rate of UC-O-REPS was chosen among 1, 4 and
# 16 times the theory's on the made-up series.
IN_THE_UNIT_INTERVAL = {"eta_scale": 16.0, "log_scale": am.PRACTICAL["uob-reps"]["log_scale"]}
SHOWN = (MIXTURE, "plan for the last 7 days of its kind", FOUR_WEEKS, "plan for yesterday")


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
    # One MWh charges like another, and leaks like another, at any hour: their visits are shared.
    alike = np.full((FULL + 1, 3), -1)
    alike[:FULL, CHARGE], alike[1:, HOLD], alike[FULL, CHARGE] = 0, 1, 1
    return am.Layout(
        sizes,
        n_actions=3,
        successors=[follow[:1], *[follow] * 22, end],
        shared_rows=[alike[:1], *[alike] * 22, np.full_like(alike, -1)],
    )


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


def in_the_unit_interval(layout: am.Layout, n_days: int) -> dict[str, Any]:
    """Learners of the theory: they need a horizon and losses in [0, 1], and have no history."""
    return {
        "UOB-REPS, own trades only": am.UOBREPS(layout, n_days, **am.PRACTICAL["uob-reps"]),
        "UC-O-REPS": am.UCOREPSBox(layout, n_days, **IN_THE_UNIT_INTERVAL),
        "random actions": am.Uniform(layout),
    }


class Trading(NamedTuple):
    """What came of a series of days: expected earnings of every day, in money."""

    prices: Prices  # the days traded
    expected: dict[str, Floats]
    unknown: dict[str, Floats]  # of those that do not know the battery
    realised: dict[str, Floats]
    diaries: dict[str, Diary]
    blind: dict[str, Diary]  # of those that do not know the battery
    best_fixed: Floats
    foresight: Floats


def trade(prices: Prices, seed: int) -> Trading:
    """Every strategy on the same days, with the same luck."""
    truth = battery(CHARGE_WORKS, LEAK)
    layout, kinds = truth.layout, kinds_of(prices.dates)
    costs = prices.hourly[:, layout.row_layer] * bought(layout)
    traded, n_days = costs[HISTORY:], len(costs) - HISTORY
    losses = np.clip(0.5 + traded / (2 * scale_of(prices)[:, np.newaxis]), 0.0, 1.0)

    def diaries_of(transitions: Any) -> dict[str, Diary]:
        found = strategies(layout, transitions)
        return {name: follow(truth, costs, kinds, each, seed) for name, each in found.items()}

    diaries, blind = diaries_of(truth.flat), diaries_of(None)
    for name, learner in in_the_unit_interval(layout, n_days).items():
        diaries[name] = blind[name] = Diary(learner)
        am.play(truth, am.losses.Replayed(losses), diaries[name], n_days, seed)
    return Trading(
        prices=Prices(prices.dates[HISTORY:], prices.hourly[HISTORY:]),
        expected={name: -diary.expected(truth, traded) for name, diary in diaries.items()},
        unknown={name: -diary.expected(truth, traded) for name, diary in blind.items()},
        realised={name: -diary.realised(traded) for name, diary in diaries.items()},
        diaries=diaries,
        blind=blind,
        best_fixed=-traded @ am.best_fixed_policy(truth, traded.sum(axis=0)).occupancy,
        foresight=-np.array([am.best_fixed_policy(truth, day).loss for day in traded]),
    )


# ---------------------------------------------------------------------- the outcome


def lead_over(trading: Trading, name: str) -> Interval:
    """How much more than another strategy the mixture earns in a year, in thousands."""
    daily = trading.expected[MIXTURE] - trading.expected[name]
    return Interval(*(365.25 * figure / 1000.0 for figure in block_bootstrap(daily)))


def report(trading: Trading, currency: str) -> None:
    """A table in thousands a year, and what it says about the mixture."""
    n_days, everything = len(trading.prices.hourly), {**trading.expected}
    everything["best fixed policy, in hindsight"] = trading.best_fixed
    everything["prices known the day before"] = trading.foresight
    print(f"{n_days:,} days, thousand {currency} a year{'battery known':>22}{'unknown':>12}")
    for name, daily in {"do nothing": np.zeros(n_days), **everything}.items():
        other = trading.unknown.get(name)
        shown = "" if other is None else f"{_yearly(other):z.1f}"
        print(f"  {name:<42}{_yearly(daily):>z10.1f}{shown:>12}")
    least = ROUNDING * float(np.abs(trading.prices.hourly).sum())
    print(verdict(trading.expected, "earns", "the best single one", least))
    lead = lead_over(trading, FOUR_WEEKS)
    print(
        f"It earns {lead.mean:z.2f} thousand {currency} a year more than the {FOUR_WEEKS} "
        f"(95% interval {lead.low:z.2f} to {lead.high:z.2f}, blocks of four weeks)."
    )
    blind, sighted = (float(each[MIXTURE].sum()) for each in (trading.unknown, trading.expected))
    print(f"Without knowing the battery it earns {percent(blind, sighted, least)} of that.")


def _yearly(daily: Floats) -> float:
    return float(365.25 * daily.mean() / 1000.0)


def draw(trading: Trading, currency: str, target: Path) -> None:
    """The lead over the usual plan; and by hour what was paid and what each strategy did."""
    usual = trading.unknown[FOUR_WEEKS]
    shown = {name: (trading.unknown[name] - usual).cumsum() / 1000 for name in SHOWN}
    note = (
        f"{trading.prices.dates[0]} to {trading.prices.dates[-1]}; 1 MW, 4 MWh, losses unknown. "
        "All learn the battery as they go. Right: the last 90 days, same colours."
    )
    figure = new_figure(13.0, 5.2, "A battery against hourly prices", note)
    left = figure.add_axes((0.065, 0.16, 0.37, 0.65))
    top = figure.add_axes((0.70, 0.58, 0.27, 0.23))
    bottom = figure.add_axes((0.70, 0.16, 0.27, 0.28))
    days = np.arange(1, len(trading.prices.hourly) + 1)
    draw_lines(left, days, shown)
    dress(left, f"Earned beyond the {FOUR_WEEKS}", "days traded", f"thousand {currency}")
    top.plot(range(24), trading.prices.hourly[-90:].mean(axis=0), color=FAINT, linewidth=1.9)
    dress(top, "Mean price", "", f"{currency} per MWh")
    truth = battery(CHARGE_WORKS, LEAK)
    flow, starts = bought(truth.layout), truth.layout.layer_start[:-2] * 3
    traded = {
        name: np.add.reduceat(trading.blind[name].occupancy(truth)[-90:].mean(0) * flow, starts)
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
    parser.add_argument("--days", type=int, help="use the first N days (made up: 1000)")
    parser.add_argument("--currency", default="EUR", help="only a label")
    parser.add_argument("--output", default="results/battery.png")
    parser.add_argument("--seed", type=natural, default=0)
    options = parser.parse_args(arguments)
    target = checked_figure_path(options.output, "output")
    days = options.days
    if days is not None and days <= HISTORY:
        raise am.InvalidInput(f"--days: more than {HISTORY} days")
    if options.prices is None:
        prices = made_up_prices(days or 1000, options.seed)
    else:
        everything = read_prices(options.prices)
        prices = Prices(everything.dates[:days], everything.hourly[:days])
    trading = trade(prices, options.seed)
    report(trading, options.currency)
    draw(trading, options.currency, target)
    print(f"Figure: {target}")
    return trading


if __name__ == "__main__":
    run_script(main)
