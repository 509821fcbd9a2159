"""What ``advmdp verify`` would play: numbers of runs and episodes, and an estimate of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.table import Table

from advmdp.claims.catalogue import CLAIMS
from advmdp.claims.playing.run_grids import workload
from advmdp.claims.verify import Claims
from advmdp.display.durations import duration
from advmdp.experiments.planning import Rates, seconds_per_episode
from advmdp.experiments.spec import RunSpec

if TYPE_CHECKING:
    from advmdp.store import Store

SECONDS, SECONDS_PER_TRIPLE = 2e-6, 3e-8
"""Assumed time of an episode, where the store has no run of the learner on MDPs of the shape."""


class PlannedClaim(NamedTuple):
    """The stored runs of one claim; a run that an earlier claim shares is counted there."""

    runs: int
    finished: int
    """Those of them that are in the store."""
    shared: int
    """Runs of earlier claims that this one uses as well."""
    episodes: int
    """Episodes left to play."""
    seconds: float
    """Estimated time for them on one core."""
    stored: bool
    """Whether the claim rests on stored runs; the others are measured anew each time."""


def plan_claims(
    names: Sequence[str], store: Store | None, *, quick: bool, claims: Claims = CLAIMS
) -> dict[str, PlannedClaim]:
    """The plan, claim by claim; times are those of finished runs in the store, if there are any.

    >>> plan_claims(["four-terms"], None, quick=True)["four-terms"].runs
    80
    """
    rates = seconds_per_episode(store)
    seen: set[RunSpec] = set()
    planned = {}
    for name in names:
        specs = claims[name].runs(quick=quick)
        own = [spec for spec in specs if spec not in seen]
        seen.update(own)
        left = [s for s in own if store is None or not store.is_finished(s.identity())]
        planned[name] = PlannedClaim(
            runs=len(own),
            finished=len(own) - len(left),
            shared=len(specs) - len(own),
            episodes=sum(spec.n_episodes for spec in left),
            seconds=sum(_seconds(spec, rates) for spec in left),
            stored=claims[name].is_stored,
        )
    return planned


def plan_table(planned: dict[str, PlannedClaim]) -> Table:
    """The claims with stored runs, for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("claim", no_wrap=True)
    for name in ("runs", "shared", "in store", "to play", "on one core"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, claim in planned.items():
        if claim.stored:
            counts = (f"{count:,}" for count in (claim.runs, claim.shared, claim.finished))
            left = f"{claim.episodes / 1e6:,.1f} M"
            table.add_row(name, *counts, left, duration(claim.seconds))
    return table


def plan_summary(planned: dict[str, PlannedClaim], workers: int) -> str:
    """The whole plan in one line.

    >>> stored, own = PlannedClaim(2, 1, 0, 100, 60.0, True), PlannedClaim(0, 0, 0, 0, 0.0, False)
    >>> plan_summary({"a": stored, "b": own}, 2)
    '100 episodes in 1 runs, about 30 s on 2 cores; 1 more claims without stored runs'
    """
    claims = planned.values()
    episodes, runs = sum(c.episodes for c in claims), sum(c.runs - c.finished for c in claims)
    time = duration(sum(claim.seconds for claim in claims) / workers)
    more = sum(not claim.stored for claim in claims)
    rest = f"; {more} more claims without stored runs" if more else ""
    return f"{episodes:,} episodes in {runs:,} runs, about {time} on {workers} cores{rest}"


def _seconds(spec: RunSpec, rates: Rates) -> float:
    rate = rates.get((spec.learner.label, spec.mdp.label))
    if rate is None:
        return SECONDS * spec.n_episodes + SECONDS_PER_TRIPLE * workload(spec)
    return rate * spec.n_episodes
