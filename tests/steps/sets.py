"""The three kinds of confidence set over one random instance, for tests that hold for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import advmdp as am
from tests.reference.instances import Instance, Rng, random_box_member, random_l1_member
from tests.reference.tables import Table, box_error, l1_error, permute

KINDS = ("box", "l1", "known")


@dataclass(frozen=True)
class SetOf:
    """A confidence set of the package together with what a test may ask the oracles about it."""

    kind: str
    first: Table  # lower bounds, or centres
    second: Table  # upper bounds, or widths

    def build(self, layout: am.Layout) -> Any:
        if self.kind == "box":
            return am.BoxSet(layout, self.first, self.second)
        if self.kind == "l1":
            return am.L1Set(layout, self.first, self.second)
        return am.KnownTransition(layout, self.first)

    def member(self, rng: Rng) -> Table:
        """A random kernel inside the set."""
        if self.kind == "box":
            return random_box_member(rng, self.first, self.second)
        if self.kind == "l1":
            return random_l1_member(rng, self.first, self.second)
        return self.first

    def error(self, q: Table) -> float:
        """By how much a measure's kernel leaves the set."""
        if self.kind == "l1":
            return l1_error(q, self.first, self.second)
        return box_error(q, self.first, self.second)

    def permuted(self, orders: list[NDArray[np.int64]]) -> SetOf:
        return SetOf(self.kind, permute(self.first, orders), permute(self.second, orders))


def set_of(case: Instance, kind: str, log_term: float | None = None) -> SetOf:
    """The set that the counts of an instance give; for "known", its true kernel."""
    if kind == "box":
        return SetOf(kind, *case.box(log_term))
    if kind == "l1":
        return SetOf(kind, *case.ball(log_term))
    return SetOf(kind, case.kernel, case.kernel)


def layout_of(case: Instance) -> am.Layout:
    return am.Layout(layer_sizes=case.sizes, n_actions=case.n_actions)
