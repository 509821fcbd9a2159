"""The claims, in the order of the paper: the only table to edit when one is added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

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
from advmdp.claims.designs import Design, all_specs
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.experiments.spec import RunSpec


class Claim(NamedTuple):
    """How a claim is measured, and which stored runs that takes."""

    measure: Callable[[Lab], Finding]
    runs: Callable[[bool], list[RunSpec]] | None = None
    """The runs by effort (whether it is the quick one); None: it plays in its own process only."""


class _Designed(Protocol):
    """A module whose claim rests on stored runs."""

    QUICK: Any
    FULL: Any

    def designs(self, effort: Any) -> Mapping[Any, Design]: ...

    def measure(self, lab: Lab) -> Finding: ...


def _stored(module: Any) -> Claim:
    designed: _Designed = module
    return Claim(
        designed.measure,
        lambda quick: all_specs(
            *designed.designs(designed.QUICK if quick else designed.FULL).values()
        ),
    )


CLAIMS: dict[str, Claim] = {
    "occupancy-measures": Claim(occupancy.measure),
    "confidence-sets": Claim(confidence.measure),
    "upper-occupancy": Claim(upper_bounds.measure),
    "projection-dual": Claim(projection_dual.measure),
    "hedge": Claim(hedge.measure),
    "implicit-exploration": Claim(implicit_exploration.measure),
    "visit-sums": Claim(visit_sums.measure),
    "key-lemma": Claim(key_lemma.measure),
    "four-terms": _stored(four_terms),
    "regret-over-episodes": _stored(regret_over_episodes),
    "regret-over-size": _stored(regret_over_size),
    "tighter-set": _stored(tighter_set),
    "estimator": _stored(estimator),
    "exploration-spread": _stored(exploration_spread),
    "full-information": _stored(full_information),
    "stochastic-learners": _stored(stochastic_learners),
}


def runs_of(claims: Iterable[Claim], *, quick: bool) -> list[RunSpec]:
    """Every stored run of the claims once; many are shared.

    >>> of_terms = runs_of([CLAIMS["four-terms"]], quick=True)
    >>> set(of_terms) <= set(runs_of([CLAIMS["regret-over-episodes"]], quick=True))
    True
    """
    each = (claim.runs(quick) for claim in claims if claim.runs is not None)
    return list(dict.fromkeys(spec for specs in each for spec in specs))
