"""The growth rate of the regret: the exponent of T.

The theorems bound the regret after T episodes of a learner whose parameters were set for T.  The
rate is therefore fitted over runs of several lengths, one point for each.  If all runs have one
length, the slope of the curve over its last decade is reported instead; that is a property of the
run, not the rate of the theorem, and it is labelled as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from advmdp.reports.cells import Cell, Group
from advmdp.reports.statistics import Band, Floats, PowerLaw, mean_band, power_law
from advmdp.reports.units import Units

WITHIN_RUN = "within the run, last decade"
ACROSS = "over T"


@dataclass(frozen=True, eq=False)
class Rate:
    """The regret of one learner against T, and the power law through it if there is one."""

    learner: str
    kind: str
    """``ACROSS`` or ``WITHIN_RUN``."""
    n_episodes: Floats
    regret: Band
    law: PowerLaw | None
    reason: str = ""
    """Why there is no power law."""


@dataclass(frozen=True, eq=False)
class Family:
    """Cells that differ only in the number of episodes."""

    mdp: str
    losses: str
    units: Units
    cells: tuple[Cell, ...]
    rates: tuple[Rate, ...]

    @property
    def name(self) -> str:
        """A readable name."""
        units = f" | {self.units.name}" if self.units.in_rewards else ""
        return f"{self.mdp} | {self.losses}{units}"


def families_of(cells: Sequence[Cell]) -> list[Family]:
    """Cells grouped by MDP, losses and units, with the rate of every learner."""

    def family_of(cell: Cell) -> tuple[str, str, Units]:
        return cell.mdp, cell.losses, cell.units

    families = []
    ordered = sorted(cells, key=lambda cell: (*family_of(cell), cell.n_episodes))
    for (mdp, losses, units), members in groupby(ordered, key=family_of):
        family = tuple(members)
        learners = sorted({group.learner for cell in family for group in cell.groups})
        rates = tuple(_rate(learner, family) for learner in learners)
        families.append(Family(mdp, losses, units, family, rates))
    return families


def _rate(learner: str, cells: tuple[Cell, ...]) -> Rate:
    groups = [group for cell in cells for group in cell.groups if group.learner == learner]
    if len(cells) == 1:
        return within_run(groups[0])
    return across(groups)


def across(groups: Sequence[Group]) -> Rate:
    """The rate over runs of several lengths, on the replicates that all lengths share."""
    lengths = np.array([group.runs["n_episodes"][0] for group in groups], dtype=np.float64)
    shared = [
        replicate
        for replicate in groups[0].regret_of
        if all(replicate in group.regret_of for group in groups)
    ]
    learner = groups[0].learner
    if not shared:
        means = np.array([group.regret.estimate for group in groups])
        points = Band(means, np.full_like(means, np.nan), np.full_like(means, np.nan), 0)
        reason = "no replicate has runs of every length"
        return Rate(learner, ACROSS, lengths, points, None, reason)
    values = np.array([[group.regret_of[replicate] for group in groups] for replicate in shared])
    law = power_law(lengths, values) if len(groups) > 1 else None
    reason = "runs of one length only" if len(groups) == 1 else _not_positive(law)
    return Rate(learner, ACROSS, lengths, mean_band(values), law, reason)


def within_run(group: Group) -> Rate:
    """The slope of the mean curve over its last decade."""
    episodes, values = group.episodes.astype(np.float64), group.curves["regret"]
    begin = int(np.searchsorted(episodes, episodes[-1] / 10.0))
    enough = len(episodes) - begin > 1
    law = power_law(episodes[begin:], values[:, begin:]) if enough else None
    reason = _not_positive(law) if enough else "one checkpoint only"
    return Rate(group.learner, WITHIN_RUN, episodes, mean_band(values), law, reason)


def _not_positive(law: PowerLaw | None) -> str:
    return "" if law else "no exponent: a mean regret is not positive"
