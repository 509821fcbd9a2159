"""Paired comparisons of the learners of a cell, replicate by replicate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from advmdp.reports.learner_names import label_of
from advmdp.reports.sign_flips import sign_flip_p_values
from advmdp.reports.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from advmdp.reports.cells import Group, Replicate

SIGNIFICANT = 0.05
"""Adjusted p-values below it are marked: among the comparisons of one table no difference that is
zero is marked with probability 0.95."""
USUAL_BASELINE = "uob-reps"


@dataclass(frozen=True)
class Comparison:
    """The regret of ``other`` minus that of ``better``, replicate by replicate."""

    better: str
    other: str
    difference: Interval
    p_value: float
    adjusted: float
    """The p-value adjusted for all pairs of the cell."""


@dataclass(frozen=True)
class AgainstBaseline:
    """The regret of a learner minus that of the baseline, replicate by replicate."""

    learner: str
    difference: Interval
    p_value: float
    adjusted: float
    """The p-value adjusted for all comparisons with this baseline."""

    @property
    def significant(self) -> bool:
        """Whether the difference is marked."""
        return self.adjusted < SIGNIFICANT


def compare(groups: Sequence[Group]) -> tuple[Comparison, ...]:
    """All pairs of learners that share a replicate, the ones with the least regret first."""
    pairs = list(combinations(_ordered(groups), 2))
    return tuple(
        Comparison(tested.first, tested.second, *tested.result) for tested in _tested(pairs)
    )


def compare_with(baseline: str, groups: Sequence[Group]) -> tuple[AgainstBaseline, ...]:
    """Every learner that shares a replicate with the baseline, the least regret first."""
    named = {group.learner: group for group in groups}
    chosen = named[label_of(baseline, named, "baseline", " in this cell")]
    pairs = [(chosen, group) for group in _ordered(groups) if group is not chosen]
    return tuple(AgainstBaseline(tested.second, *tested.result) for tested in _tested(pairs))


def usual_baseline(groups: Sequence[Group]) -> str:
    """The baseline where none is chosen: UOB-REPS, or else the learner with the least regret."""
    ordered = _ordered(groups)
    named = (group.learner for group in ordered if group.learner == USUAL_BASELINE)
    return next(named, ordered[0].learner)


def paired_differences(first: Group, second: Group) -> dict[Replicate, float]:
    """Final regret of ``second`` minus that of ``first``, on the replicates that both have."""
    return {
        replicate: second.regret_of[replicate] - regret
        for replicate, regret in first.regret_of.items()
        if replicate in second.regret_of
    }


class _Tested(NamedTuple):
    first: str
    second: str
    result: tuple[Interval, float, float]
    """The difference, its p-value, and that value adjusted for all that were tested together."""


def _tested(pairs: Sequence[tuple[Group, Group]]) -> Iterator[_Tested]:
    """The pairs that share a replicate, with p-values that are adjusted for all of them."""
    shared = [
        (first.learner, second.learner, differences)
        for first, second in pairs
        if (differences := paired_differences(first, second))
    ]
    if not shared:
        return
    replicates = sorted({replicate for _, _, differences in shared for replicate in differences})
    table = [[d.get(replicate, 0.0) for _, _, d in shared] for replicate in replicates]
    p_values, adjusted = sign_flip_p_values(table)
    for i, (first, second, differences) in enumerate(shared):
        interval = mean_interval(list(differences.values()))
        yield _Tested(first, second, (interval, float(p_values[i]), float(adjusted[i])))


def _ordered(groups: Sequence[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: group.regret.estimate)
