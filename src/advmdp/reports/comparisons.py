"""Paired comparisons of the learners of a cell, replicate by replicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from advmdp.reports.sign_flips import sign_flip_p_values
from advmdp.reports.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from advmdp.reports.cells import Group, Replicate


@dataclass(frozen=True)
class Comparison:
    """The regret of ``other`` minus that of ``better``, replicate by replicate."""

    better: str
    other: str
    difference: Interval
    p_value: float
    adjusted: float
    """The p-value adjusted for all pairs of the cell."""


def compare(groups: Sequence[Group]) -> tuple[Comparison, ...]:
    """All pairs of learners that share a replicate, the ones with the least regret first."""
    ordered = sorted(groups, key=lambda group: group.regret.estimate)
    pairs = [
        (first, second, differences)
        for first, second in combinations(ordered, 2)
        if (differences := paired_differences(first, second))
    ]
    if not pairs:
        return ()
    replicates = sorted({replicate for _, _, differences in pairs for replicate in differences})
    table = [[d.get(replicate, 0.0) for _, _, d in pairs] for replicate in replicates]
    p_values, adjusted = sign_flip_p_values(table)
    return tuple(
        Comparison(
            first.learner,
            second.learner,
            mean_interval(list(differences.values())),
            float(p_values[i]),
            float(adjusted[i]),
        )
        for i, (first, second, differences) in enumerate(pairs)
    )


def paired_differences(first: Group, second: Group) -> dict[Replicate, float]:
    """Final regret of ``second`` minus that of ``first``, on the replicates that both have."""
    return {
        replicate: second.regret_of[replicate] - regret
        for replicate, regret in first.regret_of.items()
        if replicate in second.regret_of
    }
