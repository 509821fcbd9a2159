"""Stochastic losses with C corrupted episodes cost a best-of-both-worlds learner sqrt(C), not C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict, verdict_of_all
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, by_pair, play_grids, run_ids
from advmdp.claims.playing.run_grids import SMALL_MDP, RunGrid, layout_of, run_grid
from advmdp.claims.regret.steady_and_worst import with_preset
from advmdp.claims.statistics.worst_gap import exponent, interval_text, worst_over_gaps
from advmdp.layout import Floats
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval, mean_band, mean_interval

LEARNERS = with_preset("tsallis-ftrl", "uob-ftrl", "optimistic-ftrl")
GAP = 0.2
REVERSED, HIDDEN = "reversed", "hidden"
HIDDEN_GAP = 12.0
"""Times C^{-1/2}, near the gap at which C coin flips cost most: it takes about all of the corrupted
episodes to find.  A few reversed preferences at random places hardly change what is best."""
MIDDLE = 0.75  # between the exponents of sqrt(C) and C


class Effort(NamedTuple):
    """How long and how often to play, and how many episodes to corrupt, the least first."""

    n_episodes: int
    reversed: tuple[int, ...]
    hidden: tuple[int, ...]
    """From 4 (HIDDEN_GAP / GAP)^2 on the hidden gap is less than half of the true one."""
    n_replicates: int


class Measurement(NamedTuple):
    """Regrets by the number of corrupted episodes."""

    corrupted: dict[str, list[int]]
    """By the kind of corruption; the first number of reversed ones is next to none."""
    regret: dict[str, dict[str, RegretGrid]]
    """By learner, then by the kind of corruption."""


def grids(effort: Effort) -> dict[tuple[str, str], RunGrid]:
    """Grids whose points are the numbers of corrupted episodes, by learner and kind."""
    losses = {"name": "corrupted", "means": "gap", "gap": GAP}
    kinds = {
        REVERSED: [{**losses, "n_corrupted": n} for n in effort.reversed],
        HIDDEN: [{**losses, "n_corrupted": n, "first_gap": _hidden(n)} for n in effort.hidden],
    }
    world = {"mdp": SMALL_MDP, "n_episodes": effort.n_episodes}
    return {
        (name, kind): run_grid(
            [[{"learner": learner, "losses": point, **world}] for point in points],
            effort.n_replicates,
        )
        for name, learner in LEARNERS.items()
        for kind, points in kinds.items()
    }


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play the same worlds with more and more corrupted episodes."""
    numbers = {REVERSED: list(effort.reversed), HIDDEN: list(effort.hidden)}
    return Measurement(numbers, by_pair(play_grids(lab, grids(effort))))


def judge(measurement: Measurement) -> Judgement:
    """Compare what corruption adds with sqrt(U C), U the regret with next to none, and with C."""
    numbers, regret = measurement.corrupted, measurement.regret
    costs = {name: _cost(numbers, by_kind) for name, by_kind in regret.items()}
    most = max(numbers[REVERSED])
    stake = 2.0 * GAP * layout_of(SMALL_MDP).n_layers * most  # in the corrupted episodes alone
    any_grid = next(iter(regret.values()))[REVERSED]
    return Judgement(
        verdict_of_all([_verdict(cost, most, stake) for cost in costs.values()]),
        figures={
            "n_replicates": any_grid.n_replicates,
            "n_episodes": any_grid.horizons[0],
            "reversed": _listed(numbers[REVERSED]),
            "hidden": _listed(numbers[HIDDEN]),
            "most": most,
            "costs": "; ".join(f"{name} {_cost_text(cost)}" for name, cost in costs.items()),
            "allowed": _listed([float(np.sqrt(cost.base * most)) for cost in costs.values()]),
            "stake": stake,
            "largest": interval_text(max(cost.largest for cost in costs.values())),
        },
        data={"C": numbers} | {name: cost._asdict() for name, cost in costs.items()},
        panels=(
            _panel("Preferences reversed at random places", REVERSED, numbers, regret, costs),
            _panel("Gap hidden in the first C episodes", HIDDEN, numbers, regret, costs),
        ),
        runs=run_ids(grid for by_kind in regret.values() for grid in by_kind.values()),
    )


CLAIM = Claim(
    "corrupted-episodes",
    Description(
        statement="C corrupted episodes add at most sqrt(U C) to the regret of FTRL",
        reference="Jin, Huang, Luo (2021), Sections 3 and 4: U + sqrt(U C)",
        checked=(
            "the regret on coin flips of which C episodes are corrupted, minus that with one such "
            "episode (U), against sqrt(U C) with constant 1: every preference is reversed, at "
            "random places, or the gap is 12 C^{-1/2} in the first C episodes; in the latter case "
            "also its exponent in C"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,3,3,1, 2 actions, gap 0.2, T = {n_episodes:,}; "
            "C = {reversed} reversed, {hidden} with hidden gap; presets; the transition is known "
            "to tsallis-ftrl alone"
        ),
        measured="{costs}",
        bound=(
            "shares below 1, where C = {most:,} would allow {allowed} and {stake:,.0f} are at "
            "stake; exponent below 3/4"
        ),
        margin="largest share {largest} of 1",
        error_rate="2.5% for each C and exponent: one end of a 95% interval",
    ),
    quick=Effort(10**5, (1, 100, 1_000, 10_000), (10_000, 40_000), 6),
    full=Effort(10**6, (1, 100, 1_000, 10_000, 100_000), (10_000, 100_000, 400_000), 12),
    measure_at=measure,
    judge=judge,
    grids=grids,
)


class _Cost(NamedTuple):
    """What corruption costs one learner."""

    base: float
    """Mean regret with next to no corruption, U."""
    means: dict[str, list[float]]
    """Mean regrets by kind and C."""
    shares: dict[str, list[Interval]]
    """What corruption adds, over sqrt(U C); of reversed ones from the second C on."""
    slope: Interval | None
    """The exponent in C of the regret with hidden gap, between the largest two."""

    @property
    def largest(self) -> Interval:
        """The largest share."""
        return max((one for each in self.shares.values() for one in each), key=lambda one: one[0])


def _cost(numbers: dict[str, list[int]], by_kind: Mapping[str, RegretGrid]) -> _Cost:
    values = {kind: grid.values[:, :, 0] for kind, grid in by_kind.items()}
    free = values[REVERSED][:, 0]
    base = max(float(free.mean()), 0.0)
    first = {REVERSED: 1, HIDDEN: 0}
    shares = {
        kind: [
            mean_interval((values[kind][:, i] - free) / max(np.sqrt(base * n), 1e-300))
            for i, n in enumerate(numbers[kind])
            if i >= first[kind]
        ]
        for kind in values
    }
    means = {kind: one.mean(axis=0).tolist() for kind, one in values.items()}
    hidden = worst_over_gaps(by_kind[HIDDEN].values).last(2)
    return _Cost(base, means, shares, exponent(numbers[HIDDEN][-2:], hidden))


def _verdict(cost: _Cost, most: int, stake: float) -> Verdict:
    """Vacuous: too noisy to tell, or a cost of order C would be allowed as well."""
    shares = [share for each in cost.shares.values() for share in each]
    slope = cost.slope
    if any(share.low > 1.0 for share in shares) or (slope and slope.low > MIDDLE):
        return "fails"
    can_fail = 0.0 < np.sqrt(cost.base * most) < stake
    small = all(share.high < 1.0 for share in shares)
    return "holds" if can_fail and small and slope and slope.high < MIDDLE else "vacuous"


def _cost_text(cost: _Cost) -> str:
    reversed_, hidden = (cost.means[kind][-1] for kind in (REVERSED, HIDDEN))
    return (
        f"{cost.base:,.0f} with one, {reversed_:,.0f} with the most reversed, {hidden:,.0f} with "
        f"the most hidden, where the exponent in C is {interval_text(cost.slope)}"
    )


def _listed(numbers: list[Any]) -> str:
    return ", ".join(f"{number:,.0f}" for number in numbers)


def _hidden(n_corrupted: int) -> float:
    """The gap in the first episodes.

    >>> _hidden(10_000)
    0.12
    """
    return min(0.5, float(f"{HIDDEN_GAP * n_corrupted**-0.5:.5g}"))


def _panel(
    title: str,
    kind: str,
    numbers: dict[str, list[int]],
    regret: dict[str, dict[str, RegretGrid]],
    costs: dict[str, _Cost],
) -> Panel:
    at = np.array(numbers[kind], dtype=np.float64)
    series: list[Series] = []
    for name, by_kind in regret.items():
        mean, low, high, n = mean_band(by_kind[kind].values[:, :, 0])
        band: dict[str, Floats] = {"low": low, "high": high} if n > 1 else {}
        series.append(Series(name, name, at, mean, dots=True, **band))
        bound = costs[name].base + np.sqrt(costs[name].base * at)
        series.append(Series(name, f"{name}: U + sqrt(U C)", at, bound))
    return Panel(
        title,
        "C (corrupted episodes)",
        "regret",
        tuple(series),
        x_log=True,
        y_log=True,
        note="Dots: measured; lines: U + sqrt(U C) of each learner.",
    )
