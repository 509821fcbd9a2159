"""What a list of runs would play: how much is left, and about how long it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from advmdp.evaluation.schema import FINISHED
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import first_replicates
from advmdp.store import Store

Rates = dict[tuple[str, str], float]
"""Mean seconds of an episode, by the labels of learner and MDP."""


class PlannedGroup(NamedTuple):
    """Runs that differ in seed and replicate alone."""

    learner: str
    mdp: str
    losses: str
    n_episodes: int
    runs: int
    left: int
    """Those of them that are not finished."""
    seconds: float | None
    """Estimated time for those on one core; None where the store has no such run."""


def plan_runs(specs: Sequence[RunSpec], store: Store | None) -> list[PlannedGroup]:
    """The groups of a sweep in their order; specs that cannot be built are refused.

    Nothing is written: neither a store nor a lock.
    """
    for spec in first_replicates(specs):
        build(spec)
    done = set() if store is None else _finished(store)
    rates = seconds_per_episode(store)
    total: Counter[tuple[str, str, str, int]] = Counter()
    left: Counter[tuple[str, str, str, int]] = Counter()
    for spec in specs:
        key = (spec.learner.label, spec.mdp.label, spec.losses.label, spec.n_episodes)
        total[key] += 1
        left[key] += spec.id not in done
    groups = []
    for key, n_runs in total.items():
        rate = rates.get(key[:2])
        seconds = None if rate is None else rate * key[3] * left[key]
        groups.append(PlannedGroup(*key, n_runs, left[key], seconds))
    return groups


def seconds_per_episode(store: Store | None) -> Rates:
    """Mean time of an episode by learner and MDP, over all finished runs."""
    if store is None:
        return {}
    import polars as pl

    runs = store.runs().filter(pl.col("status") == FINISHED)
    sums = runs.group_by("learner", "mdp").agg(pl.col("seconds").sum(), pl.col("n_episodes").sum())
    return {
        (learner, mdp): seconds / episodes for learner, mdp, seconds, episodes in sums.iter_rows()
    }


def _finished(store: Store) -> set[str]:
    return {one["run"] for one in store.manifests() if one["status"] == FINISHED}
