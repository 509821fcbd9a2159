"""Stock for a demand that an opponent shifts: a chain of yards that rents out pumps by the day.

    python examples/inventory.py [--weeks 9000] [--output inventory.png] [--seed 0]

The problem.  A yard keeps up to four pumps and orders up to two each evening.  Orders do not
always come, pumps break; how often, the papers say only roughly.  A pump that stands there costs
money each day, one that is missing is a rental lost.  On which days customers come is not only
chance: seasons turn, and a competitor places his promotions where they hurt.

The model.  An episode is a week of one yard: seven steps, one for each day.  The state is the stock
in the morning, the action the order.  Every Monday begins with two pumps: the chain levels its
yards on Sundays.  Weeks of many yards follow each other: 175 yards make 9,000 in a year.

Why pumps for rent.  The opponent of the theory chooses losses, not transitions.  Demand that
empties the shelf would change the transition, and the guarantee would be gone.  What is rented
comes back in the evening: here demand decides what is earned and nothing else.

The money.  A day earns  50 min(stock, demand) - 20 stock - 10 order  euros, between LEAST and MOST,
and  loss = (MOST - earned) / (MOST - LEAST),  so that  earned = MOST - (MOST - LEAST) loss.
The yard sees what it rented out, not who went away: bandit feedback.

What one would do otherwise.  Order up to S when the stock falls to s, the two tuned on last season;
plan last season's days with the laws on paper; or plan again every week on the averages so far,
with a memory of some length; or draw one of these planners every week, by what they have earned.

What was learnt.  Rules tuned on last season lose a third when it turns.  UOB-REPS, told nothing,
recovers each time but takes a thousand weeks for it; who has a model on paper and can forget does
better, with a lead that shrinks when the opponent chooses.  How long a memory should be need not
be known: planners learn from every path, whoever took it, so that drawing among them costs little.
"""

from __future__ import annotations

import argparse
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from shared import (
    Diary,
    Drawn,
    Replanner,
    Scripted,
    draw_lines,
    dress,
    natural,
    new_figure,
    run_script,
)

import advmdp as am
from advmdp.evaluation.comparator import best_fixed_policy
from advmdp.layout import Floats, Table
from advmdp.reports.output_path import checked_figure_path

DAYS, ROOM, LARGEST_ORDER, MONDAY = 7, 4, 2, 2
RENT, KEEPING, DELIVERY = 50.0, 20.0, 10.0  # euros for a pump and a day; for a pump ordered
MOST = (RENT - KEEPING) * ROOM
LEAST = -KEEPING * ROOM - DELIVERY * LARGEST_ORDER
SURVIVES, ARRIVES = 0.85, 0.80  # the truth: a pump the day, an order the night
ON_PAPER = 0.90, 0.95
EARLY, MIDDLE, LATE = np.array(
    [[4, 4, 4, 1, 1, 1, 1], [1, 1, 4, 4, 4, 1, 1], [1, 1, 1, 1, 4, 4, 4]]
)
WATCHED = 4  # weeks that the competitor looks back
LAST_SEASON = 50  # weeks of demand that the tuning knows
STRETCHES = 30  # of the run in the figure
SHOWN = (
    *("drawn among the four", "UOB-REPS, baseline", "(s, S) of last season"),
    *("plan for last season", "plan on all averages", "plan on recent averages"),
)


# ---------------------------------------------------------------------- the model


def yard(survives: float, arrives: float) -> am.LayeredMDP:
    """The stock over a week; declared is what can follow a stock and an order, not how often."""
    actions = LARGEST_ORDER + 1
    step = np.zeros((ROOM + 1, actions, ROOM + 1))
    for stock in range(ROOM + 1):
        for order in range(actions):
            pumps = np.convolve(_binomial(stock, survives), _binomial(order, arrives))
            np.add.at(step[stock, order], np.minimum(np.arange(len(pumps)), ROOM), pumps)
    end = np.ones((ROOM + 1, actions, 1))
    steps = [step[MONDAY : MONDAY + 1], *[step] * (DAYS - 2), end]
    sizes = [1, *[ROOM + 1] * (DAYS - 1), 1]
    return am.LayeredMDP(am.Layout(sizes, actions, [step > 0 for step in steps]), steps)


def _binomial(n: int, p: float) -> Floats:
    return np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


class Book:
    """Stock, order and day of every pair, and the money that goes with them."""

    def __init__(self, layout: am.Layout) -> None:
        kept = [np.array([MONDAY]), *layout.original_state[1:-1]]
        self.stock = np.repeat(np.concatenate(kept), layout.n_actions)
        self.order = np.tile(np.arange(layout.n_actions), len(self.stock) // layout.n_actions)
        self.day = layout.row_layer

    def earned(self, demand: Floats) -> Floats:
        """Euros of every pair in a week with this demand on its seven days."""
        rented = np.minimum(self.stock, demand[self.day])
        return np.asarray(RENT * rented - KEEPING * self.stock - DELIVERY * self.order)

    def losses(self, demand: Floats) -> Floats:
        return (MOST - self.earned(demand)) / (MOST - LEAST)


def around(usual: Any, rng: np.random.Generator) -> Floats:
    """The demand of a week: as usual, one more or one less on each day."""
    return np.asarray(np.clip(usual + rng.integers(-1, 2, size=DAYS), 0, ROOM), dtype=np.float64)


class Opponent:
    """A third of the run as last season, a third with the season turned, then the competitor.

    He looks at the stock that the yards had lately on each day, and draws the customers to us in
    the part of the week in which we are worst prepared.
    """

    def __init__(self, layout: am.Layout, weeks: int, seed: int) -> None:
        self._layout, self._book = layout, Book(layout)
        self._weeks, self._seed = weeks, seed

    def usual(self, week: int, history: am.losses.History) -> Any:
        if 3 * week < self._weeks:
            return EARLY
        if 3 * week < 2 * self._weeks:
            return LATE
        seen = [self._stock(past.states) for past in history[-WATCHED:]]
        stock = np.mean(seen, axis=0)
        return min((EARLY, MIDDLE, LATE), key=lambda days: np.minimum(stock, days).sum())

    def _stock(self, states: Any) -> Any:
        rows = (states + self._layout.layer_start[:-2]) * self._layout.n_actions
        return self._book.stock[rows]

    def __call__(self, week: int, history: am.losses.History) -> Floats:
        rng = np.random.default_rng([self._seed, week])
        return self._book.losses(around(self.usual(week, history), rng))


# ---------------------------------------------------------------------- the managers


def order_up_to(low: int, target: int, layout: am.Layout) -> Table:
    """The (s, S) rule: at a stock of s or less, order up to S."""
    stock = Book(layout).stock[:: layout.n_actions]
    order = np.where(stock <= low, np.clip(target - stock, 0, LARGEST_ORDER), 0)
    return layout.pairs(np.eye(layout.n_actions)[order].ravel())


def managers(weeks: int, seed: int) -> dict[str, Any]:
    """UOB-REPS with the presets of the package, and what one would do otherwise."""
    paper = yard(*ON_PAPER)
    layout = paper.layout
    rng = np.random.default_rng([seed, weeks])
    season = [Book(layout).losses(around(EARLY, rng)) for _ in range(LAST_SEASON)]
    usual = np.mean(season, axis=0)

    def loss(policy: Table) -> float:
        triples = layout.flat_triples(am.occupancy_measure(paper.flat, policy, layout))
        return float(np.add.reduceat(triples, layout.row_start[:-1]) @ usual)

    rules = [order_up_to(s, S, layout) for S in range(ROOM + 1) for s in range(S)]

    def planner(memory: float) -> Replanner:
        return Replanner(paper, usual, memory=memory, every=1)

    baseline = am.PRACTICAL["uob-reps-baseline"]
    return {
        "UOB-REPS": am.UOBREPS(layout, weeks, **am.PRACTICAL["uob-reps"]),
        "UOB-REPS, baseline": am.UOBREPSBaseline(layout, weeks, **baseline),
        "(s, S) of last season": Scripted(layout, [min(rules, key=loss)]),
        "plan for last season": Scripted(layout, [best_fixed_policy(paper, usual).policy]),
        "plan on all averages": planner(1.0),
        "plan on slow averages": planner(0.99),
        "plan on recent averages": planner(0.98),
        "plan on quick averages": planner(0.95),
        "drawn among the four": Drawn([planner(m) for m in (1.0, 0.99, 0.98, 0.95)], seed),
    }


class Managed(NamedTuple):
    """What a manager earned, in euros."""

    earned: Floats  # expected, in each stretch of the run, in one week
    total: float  # expected, in all weeks
    realised: float  # with the stocks that were drawn
    diary: Diary


def manage(name: str, weeks: int, seed: int) -> Managed:
    """One run; the opponent starts afresh, since he looks at what the manager does."""
    truth = yard(SURVIVES, ARRIVES)
    losses = am.losses.Custom(Opponent(truth.layout, weeks, seed))
    points = np.unique(np.linspace(0, weeks, STRETCHES + 1).astype(int))[1:]
    diary = Diary(managers(weeks, seed)[name])
    run = am.play(truth, losses, diary, weeks, seed, checkpoints=points)

    def euros(loss: Any, n_weeks: Any) -> Any:
        return MOST * DAYS * n_weeks - (MOST - LEAST) * loss

    length = np.diff(points, prepend=0)
    return Managed(
        earned=euros(np.diff(run.expected_loss, prepend=0.0), length) / length,
        total=float(euros(run.expected_loss[-1], weeks)),
        realised=float(euros(run.realised_loss[-1], weeks)),
        diary=diary,
    )


# ---------------------------------------------------------------------- the outcome


def draw(runs: dict[str, Managed], weeks: int, target: Path) -> None:
    """Earnings over the three parts of the run, and what each manager makes of each part."""
    note = "Shaded: the season has turned; after it the competitor chooses the days."
    figure = new_figure(11.0, 5.2, "Stock for a demand that an opponent shifts", note)
    axes = figure.add_axes((0.075, 0.16, 0.7, 0.65))
    stretches = len(runs["UOB-REPS"].earned)
    middle = (np.arange(stretches) + 0.5) * weeks / stretches
    axes.axvspan(weeks / 3, 2 * weeks / 3, color="#f0ece4", linewidth=0, zorder=0)
    draw_lines(axes, middle, {name: runs[name].earned for name in SHOWN})
    axes.set_xlim(0, weeks)
    dress(axes, "Earned by a yard in a week", "weeks, of all yards together", "EUR per week")
    figure.savefig(target)


def main(arguments: list[str] | None = None) -> dict[str, Managed]:
    parser = argparse.ArgumentParser(description="Stock for a demand that an opponent shifts.")
    parser.add_argument("--weeks", type=int, default=9000)
    parser.add_argument("--output", default="results/inventory.png")
    parser.add_argument("--seed", type=natural, default=0)
    options = parser.parse_args(arguments)
    target = checked_figure_path(options.output, "output")
    if options.weeks < STRETCHES:
        raise am.InvalidInput(f"--weeks: {options.weeks} is too short; at least {STRETCHES}")
    runs = {name: manage(name, options.weeks, options.seed) for name in managers(1, 0)}
    print(f"EUR per week, {options.weeks:,} weeks        in all    as before    turned   opponent")
    for name, run in runs.items():
        thirds = "".join(f"{third.mean():>12.1f}" for third in np.split(run.earned, 3))
        print(f"  {name:<28}{run.total / options.weeks:>10.1f}{thirds}")
    draw(runs, options.weeks, target)
    print(f"Figure: {target}")
    return runs


if __name__ == "__main__":
    run_script(main)
