"""What a list of runs would play: how much is left, and about how long it takes.

Times come from runs of the same learner and MDP in the store: those of this machine, or else those
of others.  Where there are none, a moment of the run can be played here.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from advmdp.evaluation.schema import FINISHED
from advmdp.experiments.build import build, contexts_of
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import first_replicates
from advmdp.play import play
from advmdp.store import Store

HERE, ELSEWHERE, MEASURED = "this machine's runs", "other machines' runs", "a short measurement"
"""What an estimate is based on."""
MOMENT = 0.2  # seconds of play that are enough for an estimate
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
    """Estimated time for those on one core; None where nothing tells."""
    basis: str | None = None
    """What the estimate is based on: ``HERE``, ``ELSEWHERE`` or ``MEASURED``."""


def plan_runs(
    specs: Sequence[RunSpec], store: Store | None, *, measure: bool = False
) -> list[PlannedGroup]:
    """The groups of a sweep in their order; specs that cannot be built are refused.

    Nothing is written: neither a store nor a lock.  With ``measure``, a moment is played of every
    learner and MDP that the store has no rate of.
    """
    for spec in first_replicates(specs):
        build(spec)
    done = set() if store is None else _finished(store)
    bases = {HERE: seconds_per_episode(store, platform.node())}
    bases |= {ELSEWHERE: seconds_per_episode(store), MEASURED: Rates()}
    total: Counter[tuple[str, str, str, int]] = Counter()
    left: Counter[tuple[str, str, str, int]] = Counter()
    for spec in specs:
        key = (spec.learner.label, spec.mdp.label, spec.losses.label, spec.n_episodes)
        total[key] += 1
        left[key] += spec.id not in done
        if measure and left[key] and not any(key[:2] in rates for rates in bases.values()):
            bases[MEASURED][key[:2]] = measured_rate(spec)
    groups = []
    for key, n_runs in total.items():
        basis = next((name for name, rates in bases.items() if key[:2] in rates), None)
        seconds = None if basis is None else bases[basis][key[:2]] * key[3] * left[key]
        groups.append(PlannedGroup(*key, n_runs, left[key], seconds, basis))
    return groups


def measured_rate(spec: RunSpec) -> float:
    """Seconds of an episode at the beginning of a run, without the time to compile.

    Later episodes of learners whose sets become narrow take longer.
    """
    n, seconds = 1, 0.0
    _seconds_of(spec, n)  # compiles
    while seconds < MOMENT and n < spec.n_episodes:
        n = min(4 * n, spec.n_episodes)
        seconds = _seconds_of(spec, n)
    return (seconds or _seconds_of(spec, n)) / n


def _seconds_of(spec: RunSpec, n_episodes: int) -> float:
    """The time that the first episodes of a run take."""
    made = build(spec)
    contexts = contexts_of(spec, made.learner)
    return play(
        made.mdp, made.losses, made.learner, n_episodes, made.seed, contexts=contexts
    ).seconds


def seconds_per_episode(store: Store | None, machine: str | None = None) -> Rates:
    """Mean time of an episode by learner and MDP, over all finished runs, or those of a machine."""
    if store is None:
        return {}
    import polars as pl

    runs = store.runs().filter(pl.col("status") == FINISHED)
    if machine is not None:
        runs = runs.filter(pl.col("machine") == machine)
    sums = runs.group_by("learner", "mdp").agg(pl.col("seconds").sum(), pl.col("n_episodes").sum())
    return {
        (learner, mdp): seconds / episodes for learner, mdp, seconds, episodes in sums.iter_rows()
    }


def _finished(store: Store) -> set[str]:
    return {one["run"] for one in store.manifests() if one["status"] == FINISHED}
