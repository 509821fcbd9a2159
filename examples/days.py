"""What the battery and the job share: days as episodes, rules and learners in fair form, figures.

In fair form: all strategies know the same, all see the same history of four weeks, all are told all
24 hours afterwards, all renew their plan every day.  Some know the transition, the others estimate
it from what they have done themselves.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from prices import HISTORY
from shared import Diary

import advmdp as am
from advmdp.layout import Floats
from advmdp.learners.mixtures.ada_mixture import forecasts, memories
from advmdp.world.loss_streams import Integers

KINDS = 3  # of days: Monday to Friday, Saturday, Sunday
MIXTURE, NOTHING_TO_CHOOSE = "mixture of learners and rules", "mixture of learners alone"
FOUR_WEEKS = "plan for the last four weeks"
BLOCK, RESAMPLES = 28, 2000  # days in a block of the bootstrap; how often it draws


def kinds_of(dates: Sequence[datetime.date]) -> Integers:
    """0 from Monday to Friday, 1 on Saturday, 2 on Sunday.

    >>> kinds_of([datetime.date(2024, 5, 3), datetime.date(2024, 5, 5)])
    array([0, 2])
    """
    return np.array([max(date.weekday() - 4, 0) for date in dates])


# ---------------------------------------------------------------------- the strategies


def rules(layout: am.Layout, transitions: Any = None) -> dict[str, Any]:
    """What practitioners do: plan for the recent past, again every day."""
    window = am.planners.WindowPlanner if transitions is None else am.planners.KnownWindowPlanner
    fading = (
        am.planners.ExponentialPlanner
        if transitions is None
        else am.planners.KnownExponentialPlanner
    )
    known = {} if transitions is None else {"transitions": transitions}
    return {
        "plan for yesterday": window(layout=layout, window=1, **known),
        "plan for the last week": window(layout=layout, window=7, **known),
        FOUR_WEEKS: window(layout=layout, window=28, **known),
        "plan for a fading past": fading(layout=layout, **known),
        "plan for the last 7 days of its kind": am.PerContext(
            window, layout, KINDS, window=7, **known
        ),
    }


def learners(layout: am.Layout, transitions: Any = None) -> dict[str, Any]:
    """AdaFTRL with memories of all lengths, for all days and for each kind; and forecasts."""
    make = am.EstimatedAdaFTRL if transitions is None else am.AdaFTRL
    plan = (
        am.planners.RegressionPlanner if transitions is None else am.planners.KnownRegressionPlanner
    )
    known = {} if transitions is None else {"transitions": transitions}
    grid = memories(make, layout, KINDS, **known)
    return {f"AdaFTRL, {name}": learner for name, learner in grid.items()} | {
        f"plan for a {name}": planner
        for name, planner in forecasts(plan, layout, KINDS, **known).items()
    }


def strategies(layout: am.Layout, transitions: Any = None) -> dict[str, Any]:
    """Rules, learners, and mixtures that choose among them as they go."""
    both = {**rules(layout, transitions), **learners(layout, transitions)}
    return {
        **rules(layout, transitions),
        **learners(layout, transitions),
        NOTHING_TO_CHOOSE: am.Mixture(layout, learners(layout, transitions), transitions),
        MIXTURE: am.Mixture(layout, both, transitions),
    }


def follow(truth: am.LayeredMDP, costs: Floats, kinds: Integers, strategy: Any, seed: int) -> Diary:
    """The history is shown; every day after it is played and then shown."""
    diary, takes_kinds = Diary(strategy), hasattr(strategy, "enter")
    for day in range(HISTORY):
        if takes_kinds:
            strategy.enter(int(kinds[day]))
        strategy.observe(costs[day])
    losses = am.losses.Replayed(costs[HISTORY:], any_losses=True)
    contexts = kinds[HISTORY:] if takes_kinds else None
    am.play(truth, losses, diary, len(costs) - HISTORY, seed, contexts=contexts)
    return diary


# ---------------------------------------------------------------------- the figures


class Interval(NamedTuple):
    mean: float
    low: float
    high: float


def block_bootstrap(daily: Floats, seed: int = 0) -> Interval:
    """The mean of a daily series, and 95% of the means of series made of blocks of four weeks.

    Neighbouring days are alike, so whole blocks are drawn; the series is closed to a ring.

    >>> block_bootstrap(np.full(100, 2.0))
    Interval(mean=2.0, low=2.0, high=2.0)
    """
    n, rng = len(daily), np.random.default_rng(seed)
    block = min(BLOCK, n)
    starts = rng.integers(n, size=(RESAMPLES, -(-n // block)))
    days = (starts[:, :, np.newaxis] + np.arange(block)).reshape(RESAMPLES, -1)[:, :n] % n
    low, high = np.quantile(daily[days].mean(axis=1), [0.025, 0.975])
    return Interval(float(daily.mean()), float(low), float(high))


def best_single(earned: dict[str, Floats]) -> str:
    """The rule or learner that was best in hindsight; mixtures do not count."""
    single = {name: daily.sum() for name, daily in earned.items() if "mixture" not in name}
    return max(single, key=lambda name: float(single[name]))
