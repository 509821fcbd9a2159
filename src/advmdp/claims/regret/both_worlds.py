"""Best of both worlds, known transition: log T where losses are stochastic, else sqrt(T)."""

from __future__ import annotations

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.lab import Lab
from advmdp.claims.playing.run_grids import DECADES, Gaps, RunGrid
from advmdp.claims.regret import steady_and_worst
from advmdp.claims.regret.steady_and_worst import (
    Effort,
    Measurement,
    grids_of,
    measure_grids,
    with_preset,
)

RIVAL = "o-reps-bandit"
LEARNERS = {**with_preset("tsallis-ftrl", "log-barrier-ftrl"), RIVAL: {"name": RIVAL}}


def grids(effort: Effort) -> dict[tuple[str, str], RunGrid]:
    """The runs by learner and losses."""
    return grids_of(LEARNERS, effort)


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play the leaders and O-REPS."""
    return measure_grids(lab, grids(effort))


def judge(measurement: Measurement) -> Judgement:
    """Compare exponents in T."""
    return steady_and_worst.judge(measurement)


CLAIM = Claim(
    "both-worlds",
    Description(
        statement="FTRL with known transition has regret of order log T on coin flips or sqrt(T)",
        reference="Jin, Huang, Luo (2021), Section 3",
        checked=(
            "the exponent in T: of the last decade on coin flips with one gap, where O-REPS grows "
            "like sqrt(T), and of the largest mean regret over a grid of gaps"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,3,3,1, 2 actions, known transition, coin flips "
            "with gap 0.2, T from {first_horizon:,} to {last_horizon:,}; {n_gaps} coin-flip losses "
            "with gaps from 1/2 down to 4 T^{{-1/2}}, T up to {worst_horizon:,}; presets, theory's "
            "rate for O-REPS"
        ),
        measured=(
            "coin flips, exponents {steady}; regrets {regrets} at T = {last_horizon:,}; the last "
            "decade adds {added} times what the one before added; worst case, exponents {worst}"
        ),
        bound=(
            "on coin flips below 1/4 and below O-REPS; at worst below 2/3. A regret a + b ln T "
            "adds the same in every decade, and its exponent falls like 1 / ln T"
        ),
        margin="O-REPS has at least {times:.1f} times the regret on coin flips",
        error_rate="2.5% for each exponent: one end of a 95% interval",
    ),
    quick=Effort(DECADES[:3], DECADES[:3], Gaps(4, 1), 6),
    full=Effort(DECADES[1:], DECADES[1:], Gaps(4, 1), 8),
    measure_at=measure,
    judge=judge,
    grids=grids,
)
