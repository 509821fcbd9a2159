"""The claims in the order of the paper: the only list to edit when one is added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from advmdp.claims.claim import Claim
from advmdp.claims.lemmas import (
    confidence_sets,
    hedge,
    implicit_exploration,
    key_lemma,
    occupancy_measures,
    projection_dual,
    upper_occupancy,
    visit_sums,
)
from advmdp.claims.regret import (
    both_worlds,
    both_worlds_unknown,
    corrupted_episodes,
    estimator,
    exploration_spread,
    four_terms,
    full_information,
    regret_over_episodes,
    regret_over_size,
    stochastic_learners,
    tighter_set,
)
from advmdp.experiments.spec import RunSpec

AnyClaim = Claim[Any, Any]
CLAIMS: dict[str, AnyClaim] = {
    claim.name: claim
    for claim in (
        occupancy_measures.CLAIM,
        confidence_sets.CLAIM,
        upper_occupancy.CLAIM,
        projection_dual.CLAIM,
        hedge.CLAIM,
        implicit_exploration.CLAIM,
        visit_sums.CLAIM,
        key_lemma.CLAIM,
        four_terms.CLAIM,
        regret_over_episodes.CLAIM,
        regret_over_size.CLAIM,
        tighter_set.CLAIM,
        estimator.CLAIM,
        exploration_spread.CLAIM,
        full_information.CLAIM,
        stochastic_learners.CLAIM,
        both_worlds.CLAIM,
        both_worlds_unknown.CLAIM,
        corrupted_episodes.CLAIM,
    )
}


def runs_of(claims: Iterable[AnyClaim], *, quick: bool) -> list[RunSpec]:
    """The stored runs of the claims, each once; claims share many of them.

    >>> of_terms = runs_of([CLAIMS["four-terms"]], quick=True)
    >>> set(of_terms) <= set(runs_of([CLAIMS["regret-over-episodes"]], quick=True))
    True
    """
    each = (claim.runs(quick=quick) for claim in claims)
    return list(dict.fromkeys(spec for specs in each for spec in specs))
