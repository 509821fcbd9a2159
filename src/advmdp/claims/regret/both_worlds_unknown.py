"""Best of both worlds, unknown transition: log T where losses are stochastic, else sqrt(T)."""

from __future__ import annotations

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.lab import Lab
from advmdp.claims.playing.run_grids import DECADES, UOB_REPS, Gaps, RunGrid
from advmdp.claims.regret import steady_and_worst
from advmdp.claims.regret.steady_and_worst import (
    Effort,
    Measurement,
    grids_of,
    measure_grids,
    with_preset,
)

LEARNERS = with_preset("uob-ftrl", "optimistic-ftrl", UOB_REPS)


def grids(effort: Effort) -> dict[tuple[str, str], RunGrid]:
    """The runs by learner and losses."""
    return grids_of(LEARNERS, effort)


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play the leaders and UOB-REPS."""
    return measure_grids(lab, grids(effort))


def judge(measurement: Measurement) -> Judgement:
    """Compare exponents in T."""
    return steady_and_worst.judge(measurement)


CLAIM = Claim(
    "both-worlds-unknown",
    Description(
        statement="FTRL with unknown transition has regret of order log T on coin flips or sqrt(T)",
        reference="Jin, Huang, Luo (2021), Section 4; Jin, Liu, Rouyer, Chang, Wei, Luo (2023)",
        checked=(
            "the exponent in T: of the last decade on coin flips with one gap, where UOB-REPS "
            "grows like sqrt(T), and of the largest mean regret over a grid of gaps"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,3,3,1, 2 actions, coin flips with gap 0.2, T "
            "from {first_horizon:,} to {last_horizon:,}; {n_gaps} coin-flip losses with gaps from "
            "1/2 down to 4 T^{{-1/2}}, T up to {worst_horizon:,}; presets, also for UOB-REPS"
        ),
        measured=(
            "coin flips, exponents {steady}; regrets {regrets} at T = {last_horizon:,}; the last "
            "decade adds {added} times what the one before added; worst case, exponents {worst}"
        ),
        bound=(
            "on coin flips below 1/4 and below UOB-REPS; at worst below 2/3. The theorems have "
            "ln^2 T, of which the decade up to 10^7 adds 1.2 times what the one before adds"
        ),
        margin="UOB-REPS has at least {times:.1f} times the regret on coin flips",
        error_rate="2.5% for each exponent: one end of a 95% interval",
    ),
    quick=Effort(DECADES[1:4], DECADES[:3], Gaps(4, 1), 4),
    full=Effort(DECADES[1:], DECADES[1:], Gaps(4, 1), 8),
    measure_at=measure,
    judge=judge,
    grids=grids,
)
