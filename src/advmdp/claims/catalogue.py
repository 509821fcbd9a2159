"""The claims, in the order of the paper: the only table to edit when one is added."""

from __future__ import annotations

from collections.abc import Callable

from advmdp.claims import (
    confidence,
    estimator,
    exploration_spread,
    four_terms,
    full_information,
    hedge,
    implicit_exploration,
    key_lemma,
    occupancy,
    projection_dual,
    regret_over_episodes,
    regret_over_size,
    stochastic_learners,
    tighter_set,
    upper_bounds,
    visit_sums,
)
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab

CLAIMS: dict[str, Callable[[Lab], Finding]] = {
    "occupancy-measures": occupancy.measure,
    "confidence-sets": confidence.measure,
    "upper-occupancy": upper_bounds.measure,
    "projection-dual": projection_dual.measure,
    "hedge": hedge.measure,
    "implicit-exploration": implicit_exploration.measure,
    "visit-sums": visit_sums.measure,
    "key-lemma": key_lemma.measure,
    "four-terms": four_terms.measure,
    "regret-over-episodes": regret_over_episodes.measure,
    "regret-over-size": regret_over_size.measure,
    "tighter-set": tighter_set.measure,
    "estimator": estimator.measure,
    "exploration-spread": exploration_spread.measure,
    "full-information": full_information.measure,
    "stochastic-learners": stochastic_learners.measure,
}
