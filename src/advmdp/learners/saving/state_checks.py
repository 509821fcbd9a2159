"""Checks of a saved state before it is restored.

A file may have the right names, shapes and checksums and still hold values that no run produces,
and compiled code indexes arrays with some of them.  Every record of the kernels therefore has a
function in ``state_invariants`` that checks its lasting arrays against the layout and against each
other; a record without one (a step or set of one's own) is left to its author, except for the
records inside it.  Work space is in no file, and is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.kernels.runtime.storage import Storage, storage_of
from advmdp.layout import Layout

TOLERANCE = 1e-6  # of sums of probabilities; rounding stays far below
LARGEST_CLOCK = 2**62  # counts of episodes go on from here without overflow


class Scope(NamedTuple):
    """What a record is checked against."""

    layout: Layout
    horizon: int | None
    """The number of episodes the learner is made for, if any."""
    place: str
    """The dotted name of the record, for messages."""
    fresh: Any
    """The record of the learner that is restored: it holds what never changes."""

    def require(self, holds: Any, name: str, problem: str) -> None:
        """Reject the saved state unless the condition holds."""
        if not holds:
            raise InvalidInput(
                f"restore: {self.place}{name} {problem}; the saved state is damaged or was "
                "altered, restore it from a copy"
            )


Check = Callable[[Any, Scope], None]
CHECKS: dict[type, Check] = {}


def checks(*records: type) -> Callable[[Check], Check]:
    """Register a function as the check of these records."""

    def register(check: Check) -> Check:
        CHECKS.update(dict.fromkeys(records, check))
        return check

    return register


def check_state(
    state: Any, saved: Mapping[str, NDArray[Any]], layout: Layout, horizon: int | None
) -> None:
    """Reject arrays that cannot be the state of a learner with the record ``state``.

    Names, shapes and types of ``saved`` must be those of ``state``; nothing is changed.
    """
    _check_record(state, saved, Scope(layout, horizon, "", state))


def _check_record(record: Any, saved: Mapping[str, NDArray[Any]], scope: Scope) -> None:
    check = CHECKS.get(type(record))
    if check is not None:
        with np.errstate(all="ignore"):
            check(_with_saved(record, saved, scope.place), scope)
    kind: type = type(record)
    declared = storage_of(kind)
    for name, part in zip(record._fields, record, strict=True):
        if hasattr(part, "_fields") and declared[name] in (None, Storage.LASTING):
            _check_record(part, saved, scope._replace(place=f"{scope.place}{name}.", fresh=part))


def _with_saved(record: Any, saved: Mapping[str, NDArray[Any]], place: str) -> Any:
    """The record with the saved arrays in place of its own."""
    parts = [
        _with_saved(part, saved, f"{place}{name}.")
        if hasattr(part, "_fields")
        else saved.get(place + name, part)
        for name, part in zip(record._fields, record, strict=True)
    ]
    return type(record)(*parts)


# ---------------------------------------------------------------------- what several records need


def require_finite(scope: Scope, record: Any, *names: str, least: float = -np.inf) -> None:
    """Reject arrays with values that are not finite, or below ``least``."""
    for name in names:
        array = getattr(record, name)
        scope.require(np.isfinite(array).all(), name, "is not finite")
        scope.require((array >= least).all(), name, f"has values below {least:g}")


def is_distribution(values: NDArray[Any], sizes: NDArray[np.int64]) -> bool:
    """Whether consecutive groups of these sizes are probabilities that sum to one."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums = np.add.reduceat(values, starts)
    proper = (values >= 0.0).all() and bool((np.abs(sums - 1.0) <= TOLERANCE).all())
    return bool(proper)


def actions_per_state(scope: Scope) -> NDArray[np.int64]:
    """The number of actions of every state but the last."""
    return np.full(scope.layout.n_states - 1, scope.layout.n_actions)


def require_policy(scope: Scope, policy: NDArray[Any]) -> None:
    """Reject what is not a distribution over actions in every state."""
    scope.require(is_distribution(policy, actions_per_state(scope)), "policy", "is not a policy")


def require_clock(scope: Scope, clock: NDArray[np.int64], episodes: int) -> None:
    """Reject negative numbers, and more episodes (at this place) than the learner is made for."""
    most = LARGEST_CLOCK if scope.horizon is None else scope.horizon
    scope.require((clock >= 0).all(), "clock", "has negative numbers")
    scope.require(clock[episodes] <= most, "clock", f"has more than {most} episodes")


def require_sums(
    scope: Scope, pairs: NDArray[Any], triples: NDArray[Any], cells: NDArray[np.int64]
) -> None:
    """Counts of successors add up to the counts of their rows; row r has them at ``cells[r]``."""
    scope.require((pairs >= 0).all(), "pairs", "has negative counts")
    scope.require((triples >= 0).all(), "triples", "has negative counts")
    size = scope.layout.row_sizes()
    begin = scope.layout.row_start[:-1]
    place = np.arange(scope.layout.n_entries) + np.repeat(cells - begin, size)
    sums = np.add.reduceat(triples[place].astype(np.int64), begin)
    scope.require(np.array_equal(sums, pairs), "triples", "do not add up to pairs")
