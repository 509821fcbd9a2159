"""Regularisers of ``advmdp.minimise``, as a user states them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from advmdp.checks.arguments import is_sequence
from advmdp.checks.numbers import real_number, shown
from advmdp.errors import InvalidInput
from advmdp.kernels.ftrl.regulariser import ENTROPY, HYBRID, Regulariser
from advmdp.layout import Floats, Layout


def _checked_weight(value: Any, name: str, *, zero_allowed: bool = False) -> float:
    """A finite positive number."""
    number = real_number(value, name)
    if number < 0.0 or (number == 0.0 and not zero_allowed):
        raise InvalidInput(f"{shown(value)} must be finite and positive", field=name)
    return number


def _check_on(on: Any) -> None:
    """On what a regulariser acts."""
    if not isinstance(on, str) or on not in ("pairs", "triples"):
        raise InvalidInput(f'{shown(on)} is neither "pairs" nor "triples"', field="on")


@dataclass(frozen=True)
class Entropy:
    """R(q) = sum of (q ln q - q) / eta over the pairs (x, a), or over the triples (x, a, x')."""

    eta: float
    on: str = field(default="pairs", kw_only=True)

    def __post_init__(self) -> None:
        _checked_weight(self.eta, "eta")
        _check_on(self.on)

    def record(self, layout: Layout) -> Regulariser:
        """As the kernels take it."""
        return Regulariser(ENTROPY, 1.0 / float(self.eta), np.zeros(layout.n_rows))


@dataclass(frozen=True)
class Tsallis:
    """R(q) = -sum sqrt(q) / eta - log_barrier * sum ln q, over the pairs or over the triples."""

    eta: float
    log_barrier: float = 0.0
    on: str = field(default="pairs", kw_only=True)

    def __post_init__(self) -> None:
        _checked_weight(self.eta, "eta")
        _checked_weight(self.log_barrier, "log_barrier", zero_allowed=True)
        _check_on(self.on)

    def record(self, layout: Layout) -> Regulariser:
        """As the kernels take it."""
        barrier = np.full(layout.n_rows, float(self.log_barrier))
        return Regulariser(HYBRID, 1.0 / float(self.eta), barrier)


@dataclass(frozen=True)
class LogBarrier:
    """R(q) = -sum over (x, a) of weights(x, a) ln q(x, a); a number, or a pair table.

    With ``on="triples"`` it is -sum of weights(x, a) ln q(x, a, x'), over all triples that the
    layout declares.
    """

    weights: Any
    on: str = field(default="pairs", kw_only=True)

    def __post_init__(self) -> None:
        if not is_sequence(self.weights):
            _checked_weight(self.weights, "weights")
        _check_on(self.on)

    def record(self, layout: Layout) -> Regulariser:
        """As the kernels take it."""
        return Regulariser(HYBRID, 0.0, self.barrier(layout))

    def barrier(self, layout: Layout) -> Floats:
        """The weights over rows."""
        if not is_sequence(self.weights):
            return np.full(layout.n_rows, float(self.weights))
        barrier = layout.flat_pairs(self.weights, "weights")
        if not barrier.min() > 0.0:
            row = int(np.flatnonzero(barrier <= 0.0)[0])
            raise InvalidInput(
                f"not positive at {layout.name_of_row(row)}; use positive weights", field="weights"
            )
        return barrier


AnyRegulariser = Entropy | Tsallis | LogBarrier


def checked_regulariser(regulariser: Any) -> AnyRegulariser:
    """One of the three."""
    if not isinstance(regulariser, AnyRegulariser):
        raise InvalidInput(
            f"give an Entropy, a Tsallis or a LogBarrier, not {shown(regulariser)}",
            field="regulariser",
        )
    return regulariser
