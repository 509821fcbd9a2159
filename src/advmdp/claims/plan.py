"""What ``advmdp verify`` would play: how many runs, how many episodes, about how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.table import Table

from advmdp.claims.catalogue import CLAIMS, Claim
from advmdp.claims.designs import size_of
from advmdp.claims.verify import Claims
from advmdp.experiments.spec import RunSpec
from advmdp.reports.durations import duration

if TYPE_CHECKING:
    from advmdp.store import Store

SECONDS, SECONDS_PER_TRIPLE = 2e-6, 3e-8
"""Of an episode, where the store has no run of this learner in worlds of this shape."""


class Part(NamedTuple):
    """What one claim adds to the list; runs that an earlier claim shares are counted there."""

    runs: int
    finished: int
    """Of these, in the store already."""
    shared: int
    """Runs of earlier claims that this one uses as well."""
    episodes: int
    """Left to play."""
    seconds: float
    """Of one core, for them."""
    stored: bool
    """Whether it rests on stored runs; the others are measured anew each time."""


def plan(
    names: Sequence[str], store: Store | None, *, quick: bool, claims: Claims = CLAIMS
) -> dict[str, Part]:
    """Claim by claim; the time of an episode is that of finished runs in the store, if any.

    >>> plan(["four-terms"], None, quick=True)["four-terms"].runs
    80
    """
    rates = _rates(store)
    seen: set[RunSpec] = set()
    planned = {}
    for name in names:
        specs = _runs(claims[name], quick)
        own = [spec for spec in specs if spec not in seen]
        seen.update(own)
        left = [s for s in own if store is None or not store.is_finished(s.identity())]
        planned[name] = Part(
            runs=len(own),
            finished=len(own) - len(left),
            shared=len(specs) - len(own),
            episodes=sum(spec.n_episodes for spec in left),
            seconds=sum(_seconds(spec, rates) for spec in left),
            stored=claims[name].runs is not None,
        )
    return planned


def plan_table(planned: dict[str, Part]) -> Table:
    """The claims with stored runs, for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("claim", no_wrap=True)
    for name in ("runs", "shared", "in store", "to play", "on one core"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, part in planned.items():
        if part.stored:
            counts = (f"{count:,}" for count in (part.runs, part.shared, part.finished))
            left = f"{part.episodes / 1e6:,.1f} M"
            table.add_row(name, *counts, left, duration(part.seconds))
    return table


def plan_summary(planned: dict[str, Part], workers: int) -> str:
    """All together in a few words.

    >>> plan_summary({"a": Part(2, 1, 0, 100, 60.0, True), "b": Part(0, 0, 0, 0, 0.0, False)}, 2)
    '100 episodes in 1 runs, about 30 s on 2 cores; 1 more claims without stored runs'
    """
    parts = planned.values()
    episodes, runs = sum(p.episodes for p in parts), sum(p.runs - p.finished for p in parts)
    time = duration(sum(part.seconds for part in parts) / workers)
    more = sum(not part.stored for part in parts)
    rest = f"; {more} more claims without stored runs" if more else ""
    return f"{episodes:,} episodes in {runs:,} runs, about {time} on {workers} cores{rest}"


def _runs(claim: Claim, quick: bool) -> list[RunSpec]:
    return [] if claim.runs is None else claim.runs(quick)


def _rates(store: Store | None) -> dict[tuple[str, str], float]:
    """Seconds an episode by learner and MDP, over all finished runs."""
    if store is None:
        return {}
    import polars as pl

    runs = store.runs().filter(pl.col("status") == "finished")
    sums = runs.group_by("learner", "mdp").agg(pl.col("seconds").sum(), pl.col("n_episodes").sum())
    return {
        (learner, mdp): seconds / episodes for learner, mdp, seconds, episodes in sums.iter_rows()
    }


def _seconds(spec: RunSpec, rates: dict[tuple[str, str], float]) -> float:
    rate = rates.get((spec.learner.label, spec.mdp.label))
    if rate is None:
        return SECONDS * spec.n_episodes + SECONDS_PER_TRIPLE * size_of(spec)
    return rate * spec.n_episodes
