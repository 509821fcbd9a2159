"""What the battery and the job share: days as episodes, rules and learners in fair form, figures.

In fair form: all strategies know the same, all see the same history of four weeks, all are told all
24 hours afterwards, all renew their plan every day.  Some know the transition, the others estimate
it from what they have done themselves.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from prices import HISTORY
from shared import Diary

import advmdp as am
from advmdp.layout import Floats
from advmdp.learners.mixtures.ada_mixture import (
    COMBINED,
    WARM_UP,
    experts_of,
    learning_together,
    votes_of,
)
from advmdp.world.loss_streams import Integers

KINDS = 3  # of days: Monday to Friday, Saturday, Sunday
MIXTURE, NOTHING_TO_CHOOSE = "mixture of learners and rules", "mixture of learners alone"
FOUR_WEEKS = "plan for the last four weeks"
BLOCK, RESAMPLES = 28, 2000  # days in a block of the bootstrap; how often it draws
ROUNDING = 1e-9  # a gain that is smaller, relative to what changed hands, is none


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
    known: dict[str, Any] = {} if transitions is None else {"transitions": transitions}
    makers = (
        (am.EstimatedAdaFTRL, am.planners.RegressionPlanner, am.planners.CombinationPlanner)
        if transitions is None
        else (am.AdaFTRL, am.planners.KnownRegressionPlanner, am.planners.KnownCombinationPlanner)
    )
    found = experts_of(*makers, layout, KINDS, **known)
    return {_title(name): learner for name, learner in found.items()}


def _title(name: str) -> str:
    """As the tables call it."""
    if name.startswith("g = "):
        return f"AdaFTRL, {name}"
    return f"plan for {name}" if name == COMBINED else f"plan for a {name}"


def mixture(layout: am.Layout, experts: dict[str, Any], transitions: Any = None) -> am.Mixture:
    """As ``AdaMixture`` weighs its experts, which from now on are played together."""
    experts = learning_together(experts)
    return am.Mixture(layout, experts, transitions, votes=votes_of(experts), warm_up=WARM_UP)


def strategies(layout: am.Layout, transitions: Any = None) -> dict[str, Any]:
    """Rules, learners, and mixtures that choose among them as they go."""
    both = {**rules(layout, transitions), **learners(layout, transitions)}
    return {
        **rules(layout, transitions),
        **learners(layout, transitions),
        NOTHING_TO_CHOOSE: mixture(layout, learners(layout, transitions), transitions),
        MIXTURE: mixture(layout, both, transitions),
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


def best_single(gained: Mapping[str, Any], combined: bool = False) -> str:
    """The rule or learner that was best in hindsight, by its daily gains; mixtures do not count.

    Nor does the plan for combined forecasts, which mixes what all others foresee, unless asked for.
    """
    mixed = ("mixture",) if combined else ("mixture", COMBINED)
    single = {n: np.sum(daily) for n, daily in gained.items() if not any(m in n for m in mixed)}
    return max(single, key=lambda name: float(single[name]))


def verdict(gained: Mapping[str, Any], gains: str, of_best: str, least: float) -> str:
    """What the mixture gains, in percent of the best; with two measures that are harder.

    A gain of at most ``least`` is rounding.
    """
    best, hardest = best_single(gained), best_single(gained, combined=True)
    total = {name: float(np.sum(daily)) for name, daily in gained.items()}
    usual = total[FOUR_WEEKS]
    of_best_single = percent(total[MIXTURE], total[best], least)
    of_hardest = percent(total[MIXTURE], total[hardest], least)
    lead = percent(total[MIXTURE] - usual, total[hardest] - usual, least)
    return (
        f"The {MIXTURE} {gains} {of_best_single} of {of_best} "
        f"({best}).\nWith the {COMBINED} among these: {of_hardest} "
        f"({hardest}), and {lead} of its lead over the {FOUR_WEEKS}."
    )


def percent(part: float, whole: float, least: float = 0.0) -> str:
    """Of something; where there was at most ``least`` of it, no percentage says how much.

    >>> percent(1.0, 8.0), percent(0.0, 0.0), percent(1e-12, 1e-14, least=1e-9)
    ('12.5%', '- %', '- %')
    """
    return f"{100 * part / whole:.1f}%" if whole > least else "- %"
