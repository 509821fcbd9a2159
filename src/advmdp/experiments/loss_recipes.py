"""Loss processes from a few numbers; the tables are drawn at random.

Every recipe takes a ``Draw`` (the MDP, a generator of its own and the length of the run) and
parameters by name.  The mean losses of a table are

* ``means="uniform"``: uniform on [0, 1], independent for every pair;
* ``means="gap"``: 1/2, and 1/2 - ``gap`` for one random action in every state: where the learner is
  does not matter, what it does there does;
* ``means="place"``: 1/2, and 1/2 - ``gap`` for all actions of one random state in every layer: only
  where the actions lead matters;
* ``means="natural"``: the MDP's own loss, for the families that have one.

An opening layer, which draws where an episode begins, has no loss in any of them.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from advmdp.checks.numbers import unit_number, whole_number
from advmdp.errors import InvalidInput
from advmdp.layout import Floats
from advmdp.world import losses
from advmdp.world.mdp import LayeredMDP

PERIODS, SHORTEST_PERIOD = 10, 10  # in a run, unless a period is given
GAP = 0.2  # unless one is given
MOST_LOSSES = 10**8  # numbers in all tables of a process


@dataclass(frozen=True)
class Draw:
    """The source of a recipe's random tables."""

    mdp: LayeredMDP
    rng: np.random.Generator
    n_episodes: int

    def table(self, means: str, gap: float | None, field: str = "gap") -> Floats:
        """Mean losses, a flat vector over pairs; ``field`` is the gap's name in errors."""
        return self._without_opening(self._drawn(means, gap, field))

    def reversed(self, table: Floats) -> Floats:
        """The table with every preference reversed."""
        return self._without_opening(1.0 - table)

    def _without_opening(self, table: Floats) -> Floats:
        if self.mdp.opening:
            table[self.mdp.layout.layer_rows(0)] = 0.0
        return table

    def _drawn(self, means: str, gap: float | None, field: str) -> Floats:
        layout = self.mdp.layout
        if means in ("gap", "place"):
            gap = GAP if gap is None else gap
            if unit_number(gap, field) > 0.5:
                raise InvalidInput(
                    f"{gap} is above 0.5, the mean loss of all that is not best", field=field
                )
            table = np.full((layout.n_rows // layout.n_actions, layout.n_actions), 0.5)
            if means == "gap":
                best = self.rng.integers(layout.n_actions, size=len(table))
                table[np.arange(len(table)), best] -= gap
            else:
                sizes, starts = layout.layer_sizes[:-1], layout.layer_start[:-2]
                table[starts + self.rng.integers(sizes)] -= gap
            return table.ravel()
        if means not in ("uniform", "natural"):
            raise InvalidInput(
                f"{means!r} is none of 'uniform', 'gap', 'place', 'natural'", field="means"
            )
        if gap is not None:  # the label would show a gap that the losses do not have
            raise InvalidInput(
                f"has no effect with means={means!r}; set means='gap' or means='place'", field=field
            )
        if means == "natural":
            if self.mdp.natural_loss is None:
                raise InvalidInput(
                    "this MDP has no natural loss; use means='uniform' or means='gap'",
                    field="means",
                )
            return layout.flat_pairs(self.mdp.natural_loss, "natural_loss")
        return self.rng.random(layout.n_rows)

    def number_of_tables(self, value: int, field: str) -> int:
        """The number of tables, if they fit into memory."""
        return whole_number(value, field, most=max(2, MOST_LOSSES // self.mdp.layout.n_rows))

    def period(self, period: int | None) -> int:
        """The given period, or a tenth of the run."""
        if period is None:
            return max(SHORTEST_PERIOD, self.n_episodes // PERIODS)
        return whole_number(period, "period")


def stochastic(draw: Draw, means: str = "uniform", gap: float | None = None) -> losses.Stochastic:
    """Coin flips with fixed means."""
    return losses.Stochastic(draw.table(means, gap))


def switching(
    draw: Draw,
    period: int | None = None,
    n_tables: int = 2,
    noisy: bool = True,
    means: str = "uniform",
    gap: float | None = None,
) -> losses.Switching:
    """Random tables in turn."""
    tables = [draw.table(means, gap) for _ in range(draw.number_of_tables(n_tables, "n_tables"))]
    return losses.Switching(tables, draw.period(period), noisy=noisy)


def majority(
    draw: Draw,
    period: int | None = None,
    adverse_share: float = 0.3,
    noisy: bool = True,
    means: str = "uniform",
    gap: float | None = None,
) -> losses.Majority:
    """A random table with periods in which every preference is reversed."""
    table = draw.table(means, gap)
    adverse = draw.reversed(table)
    return losses.Majority(table, adverse, draw.period(period), adverse_share, noisy)


def turning(
    draw: Draw,
    adverse_parts: int = 1,
    parts: int = 4,
    noisy: bool = True,
    means: str = "uniform",
    gap: float | None = None,
) -> losses.Switching:
    """A random table; in the first ``adverse_parts`` of ``parts`` of the run all is reversed."""
    parts = draw.number_of_tables(parts, "parts")
    if not 0 < 2 * whole_number(adverse_parts, "adverse_parts") < parts:
        raise InvalidInput(
            f"{adverse_parts} is not less than half of parts = {parts}", field="adverse_parts"
        )
    usual = draw.table(means, gap)
    tables = [draw.reversed(usual)] * adverse_parts + [usual] * (parts - adverse_parts)
    return losses.Switching(tables, -(-draw.n_episodes // parts), noisy=noisy)


def drifting(
    draw: Draw,
    period: int | None = None,
    noisy: bool = True,
    means: str = "uniform",
    gap: float | None = None,
) -> losses.Drifting:
    """A smooth move between two random tables and back."""
    start, end = (draw.table(means, gap) for _ in range(2))
    return losses.Drifting(start, end, draw.period(period), noisy=noisy)


def corrupted(
    draw: Draw,
    n_corrupted: int,
    means: str = "uniform",
    gap: float | None = None,
    first_gap: float | None = None,
) -> losses.Corrupted | losses.Switching:
    """Coin flips; in ``n_corrupted`` episodes every preference is reversed.

    With ``first_gap`` these are the first episodes, which have that gap: what is best stays so.
    """
    twin = replace(draw, rng=deepcopy(draw.rng))  # draws the same best actions again
    mean = draw.table(means, gap)
    if first_gap is not None:
        n_first = whole_number(n_corrupted, "n_corrupted", most=draw.n_episodes)
        n_tables = draw.number_of_tables(-(-draw.n_episodes // n_first), "n_corrupted")
        tables = [twin.table(means, first_gap, "first_gap"), *[mean] * (n_tables - 1)]
        return losses.Switching(tables, n_first, noisy=True)
    seed = int(draw.rng.integers(2**31))
    return losses.Corrupted(mean, draw.reversed(mean), n_corrupted, draw.n_episodes, seed)


def adaptive(
    draw: Draw,
    strength: float = 0.5,
    memory: float = 0.99,
    noisy: bool = True,
    means: str = "uniform",
    gap: float | None = None,
) -> losses.Adaptive:
    """Pairs that were played often recently become expensive."""
    if draw.mdp.opening:
        raise InvalidInput(
            "'adaptive' would charge for the draw of the first state, which nobody chooses; "
            "give the MDP one start",
            field="name",
        )
    return losses.Adaptive(draw.table(means, gap), strength, memory, noisy)
