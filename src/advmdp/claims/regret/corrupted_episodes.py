"""Stochastic losses with C corrupted episodes cost a best-of-both-worlds learner sqrt(C), not C."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, play_grids, run_ids
from advmdp.claims.playing.run_grids import SMALL_MDP, RunGrid, layout_of, run_grid
from advmdp.claims.statistics.worst_gap import interval_text
from advmdp.layout import Floats
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval, mean_band, mean_interval

LEARNER = {"name": "tsallis-ftrl", "log_barrier": 0.1}
GAP = 0.2


class Effort(NamedTuple):
    """How long and how often to play, and how many episodes to corrupt, the least first."""

    n_episodes: int
    corrupted: tuple[int, ...]
    n_replicates: int


class Measurement(NamedTuple):
    """Regrets by the number of corrupted episodes."""

    corrupted: list[int]
    regret: RegretGrid


def grids(effort: Effort) -> dict[str, RunGrid]:
    """One grid, whose points are the numbers of corrupted episodes."""
    losses = {"name": "corrupted", "means": "gap", "gap": GAP}
    points = [
        [
            {
                "learner": LEARNER,
                "mdp": SMALL_MDP,
                "losses": {**losses, "n_corrupted": n},
                "n_episodes": effort.n_episodes,
            }
        ]
        for n in effort.corrupted
    ]
    return {"regret": run_grid(points, effort.n_replicates)}


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play the same worlds with more and more corrupted episodes."""
    return Measurement(list(effort.corrupted), play_grids(lab, grids(effort))["regret"])


def judge(measurement: Measurement) -> Judgement:
    """Compare what corruption adds with sqrt(U C), U the regret with next to none, and with C."""
    corrupted = np.array(measurement.corrupted, dtype=np.float64)
    values = measurement.regret.values[:, :, 0]
    base = float(values[:, 0].mean())
    allowed = np.sqrt(max(base, 0.0) * corrupted)
    shares = [
        mean_interval((values[:, i] - values[:, 0]) / allowed[i]) for i in range(1, len(allowed))
    ]
    n_layers = layout_of(SMALL_MDP).n_layers
    linear = 2.0 * GAP * n_layers * corrupted  # what is at stake in the corrupted episodes alone
    largest = max(shares, key=lambda share: share.estimate)
    return Judgement(
        _verdict(shares, allowed[-1], linear[-1]),
        figures={
            "n_replicates": measurement.regret.n_replicates,
            "n_episodes": measurement.regret.horizons[0],
            "numbers": ", ".join(f"{n:,}" for n in measurement.corrupted),
            "base": base,
            "last": float(values[:, -1].mean()),
            "largest": interval_text(largest),
            "allowed": allowed[-1],
            "linear": linear[-1],
        },
        data={
            "C": measurement.corrupted,
            "mean regret": values.mean(axis=0).tolist(),
            "excess over sqrt(U C)": shares,
        },
        panels=(_panel(corrupted, values, base + allowed),),
        runs=run_ids([measurement.regret]),
    )


CLAIM = Claim(
    "corrupted-episodes",
    Description(
        statement="C corrupted episodes add at most sqrt(U C) to the regret of Tsallis FTRL",
        reference="Jin, Huang, Luo (2021), Section 3: U + sqrt(U C)",
        checked=(
            "the regret on coin flips of which C episodes, at random places, have every preference "
            "reversed, minus that with one such episode (U), against sqrt(U C) with constant 1"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,3,3,1, 2 actions, known transition, gap 0.2, "
            "T = {n_episodes:,}; C = {numbers}; log_barrier 0.1"
        ),
        measured=(
            "regret {base:,.0f} with one corrupted episode, {last:,.0f} with the most; largest "
            "share of sqrt(U C): {largest}"
        ),
        bound="sqrt(U C) = {allowed:,.0f} for the largest C, where {linear:,.0f} are at stake",
        margin="largest share {largest} of 1",
        error_rate="2.5% for each C: one end of a 95% interval",
    ),
    quick=Effort(10**5, (1, 100, 1_000, 10_000), 6),
    full=Effort(10**6, (1, 100, 1_000, 10_000, 100_000), 12),
    measure_at=measure,
    judge=judge,
    grids=grids,
)


def _verdict(shares: list[Interval], allowed: float, linear: float) -> Verdict:
    """Vacuous: too noisy to tell, or a cost of order C would be allowed as well."""
    if any(share.low > 1.0 for share in shares):
        return "fails"
    if allowed >= linear or allowed <= 0.0 or not all(share.high < 1.0 for share in shares):
        return "vacuous"
    return "holds"


def _panel(corrupted: Floats, values: Floats, bound: Floats) -> Panel:
    mean, low, high, n = mean_band(values)
    band = {"low": low, "high": high} if n > 1 else {}
    return Panel(
        "Regret with corrupted episodes",
        "C (corrupted episodes)",
        "regret",
        (
            Series("tsallis-ftrl", "tsallis-ftrl", corrupted, mean, dots=True, **band),
            Series("upper bound", "U + sqrt(U C)", corrupted, bound),
        ),
        x_log=True,
        y_log=True,
    )
