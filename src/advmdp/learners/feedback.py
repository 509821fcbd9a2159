"""The feedback a learner gets, and its checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import float_array, real_number, shown, whole_array
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout

WHOLE, REAL = np.dtype(np.int64), np.dtype(np.float64)
LARGEST_LOSS = 1e100
"""Of learners that take losses in any unit: sums of many such losses stay finite."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode as the learner sees it (bandit feedback, Protocol 1 of the paper).

    ``states`` are x_0 .. x_L numbered within their layers, ``actions`` a_0 .. a_{L-1}, ``losses``
    the losses of the L visited pairs.
    """

    states: Sequence[int] | NDArray[np.integer[Any]]
    actions: Sequence[int] | NDArray[np.integer[Any]]
    losses: Sequence[float] | Floats


@dataclass(frozen=True, slots=True)
class FullInformation:
    """One episode with the losses of all pairs: ``losses`` is a pair table."""

    states: Sequence[int] | NDArray[np.integer[Any]]
    actions: Sequence[int] | NDArray[np.integer[Any]]
    losses: Any


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One episode of which only the sum of its losses is seen, a number in [0, L]."""

    states: Sequence[int] | NDArray[np.integer[Any]]
    actions: Sequence[int] | NDArray[np.integer[Any]]
    total: float


class FlatEpisode(NamedTuple):
    """A checked episode in flat numbers; ``losses`` of the path, or of all rows.

    The arrays are contiguous, as the compiled updates expect.
    """

    states: NDArray[np.int64]
    path: NDArray[np.int64]
    losses: Floats


class Walk(NamedTuple):
    """A trajectory in arrays as the kernels take them, and room for its flat numbers."""

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    losses: Floats
    flat_states: NDArray[np.int64]
    path: NDArray[np.int64]


def arrays_of_walk(layout: Layout, given: Any) -> Walk | None:
    """The arrays of a trajectory that needs no conversion, as ``play`` makes them; else None."""
    if type(given) is not Trajectory or layout.stands_for is not None:
        return None
    n_layers = layout.n_layers
    states: Any = given.states
    actions: Any = given.actions
    losses: Any = given.losses
    if not (
        _is_vector(states, WHOLE, n_layers + 1)
        and _is_vector(actions, WHOLE, n_layers)
        and _is_vector(losses, REAL, n_layers)
    ):
        return None
    flat = np.empty(2 * n_layers + 1, dtype=np.int64)
    return Walk(states, actions, losses, flat[: n_layers + 1], flat[n_layers + 1 :])


def _is_vector(value: Any, kind: np.dtype[Any], size: int) -> bool:
    """Whether a kernel can read it: no other type, no other length, no gaps."""
    return (
        type(value) is np.ndarray
        and value.dtype is kind
        and value.shape == (size,)
        and value.strides == (8,)
    )


def check_trajectory(layout: Layout, trajectory: Trajectory) -> FlatEpisode:
    """Flat numbers of a trajectory, or a one-line error that names the step."""
    if not isinstance(trajectory, Trajectory):
        raise InvalidInput(
            f"update: this learner takes a Trajectory, got {type(trajectory).__name__}"
        )
    losses = float_array(trajectory.losses, "trajectory: losses")
    if losses.ndim == 1 and 0 < len(losses) < layout.n_layers:
        trajectory = _completed(layout, trajectory, losses)
        losses = np.asarray(trajectory.losses)
    if losses.shape != (layout.n_layers,):
        raise InvalidInput(f"trajectory: {layout.n_layers} losses needed, got shape {losses.shape}")
    for k, loss in enumerate(losses.tolist()):
        if not 0.0 <= loss <= 1.0:
            wrong = (
                "is outside [0, 1]; rescale the losses"
                if math.isfinite(loss)
                else "is not finite; find out where it comes from, or abandon the episode"
            )
            raise InvalidInput(f"trajectory: loss {loss} at step {k} {wrong}")
    return FlatEpisode(*_check_path(layout, trajectory), np.ascontiguousarray(losses))


def _completed(layout: Layout, trajectory: Trajectory, losses: Floats) -> Trajectory:
    """A trajectory that broke off, to its end in the states that are there for it."""
    played, n_layers = len(losses), layout.n_layers
    if layout.rest_loss is None:
        raise InvalidInput(
            f"trajectory: {n_layers} losses needed, got {played}; for episodes that break off make "
            "the layout with advmdp.with_break_off, or abandon them"
        )
    what = (
        f"(of an episode that broke off after {played}, with a state and an action for each loss)"
    )
    states = _numbers(trajectory.states, played, f"states {what}")
    actions = _numbers(trajectory.actions, played, f"actions {what}")
    rest = [n - 1 for n in layout.layer_sizes[played:]]
    return Trajectory(
        np.append(states, rest),
        np.append(actions, [0] * (n_layers - played)),
        np.append(losses, [layout.rest_loss] * (n_layers - played)),
    )


def check_full_information(
    layout: Layout, feedback: FullInformation, *, any_losses: bool = False
) -> FlatEpisode:
    """The same for full information: losses of all rows, in [0, 1] unless ``any_losses``."""
    if not isinstance(feedback, FullInformation):
        raise InvalidInput(
            "update: this learner needs the losses of all pairs; give it a FullInformation, "
            f"not a {type(feedback).__name__}"
        )
    losses = check_losses(layout, feedback.losses, any_losses=any_losses)
    return FlatEpisode(*_check_path(layout, feedback), losses)


def check_aggregate(layout: Layout, feedback: Aggregate) -> FlatEpisode:
    """The same for the sum alone, which takes the place of the first loss."""
    if not isinstance(feedback, Aggregate):
        raise InvalidInput(
            "update: this learner sees the sum of the losses alone; give it an Aggregate, "
            f"not a {type(feedback).__name__}"
        )
    total = real_number(feedback.total, "total")
    if not 0.0 <= total <= layout.n_layers:
        raise InvalidInput(
            f"total: {total} is outside [0, {layout.n_layers}], what {layout.n_layers} losses in "
            "[0, 1] can sum up to; rescale"
        )
    losses = np.zeros(layout.n_layers)
    losses[0] = total
    return FlatEpisode(*_check_path(layout, feedback), losses)


def check_losses(layout: Layout, table: Any, *, any_losses: bool, name: str = "losses") -> Floats:
    """The losses of all rows as a new flat vector."""
    losses = layout.flat_pairs(table, name, fill=True)
    low, high = (-LARGEST_LOSS, LARGEST_LOSS) if any_losses else (0.0, 1.0)
    outside = np.flatnonzero((losses < low) | (losses > high))
    if len(outside):
        row = int(outside[0])
        raise InvalidInput(
            f"{name}: {losses[row]} at {layout.name_of_row(row)} is outside "
            f"[{low:.3g}, {high:.3g}]; rescale"
        )
    return losses


def with_clipped_losses(feedback: Any) -> tuple[Any, int]:
    """Feedback whose losses are moved into [0, 1], and how many were; what is no number stays."""
    if not isinstance(feedback, Trajectory | FullInformation):
        return feedback, 0
    given = feedback.losses
    layers = isinstance(feedback, FullInformation) and isinstance(given, list | tuple)
    parts = [float_array(part, "losses") for part in (given if layers else [given])]
    inside = [np.clip(part, 0.0, 1.0) for part in parts]
    pairs = zip(parts, inside, strict=True)
    outside = sum(int(np.count_nonzero((a != b) & ~np.isnan(a))) for a, b in pairs)
    losses: Any = inside if layers else inside[0]
    return replace(feedback, losses=losses), outside


def _check_path(
    layout: Layout, trajectory: Trajectory | FullInformation | Aggregate
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n_layers = layout.n_layers
    states = _numbers(trajectory.states, n_layers + 1, "states")
    actions = _numbers(trajectory.actions, n_layers, "actions")
    for k, (state, size) in enumerate(zip(states.tolist(), layout.layer_sizes, strict=True)):
        if not 0 <= state < size:
            raise InvalidInput(
                f"trajectory: state {state} at step {k} is outside layer {k}, "
                f"which has states 0..{size - 1}"
            )
    for k, action in enumerate(actions.tolist()):
        if not 0 <= action < layout.n_actions:
            raise InvalidInput(
                f"trajectory: action {action} at step {k} is not in 0..{layout.n_actions - 1}"
            )
    flat_states = states + layout.layer_start[:-1]
    path = flat_states[:-1] * layout.n_actions + actions
    if layout.stands_for is not None and (layout.stands_for[path] != path).any():
        k = int(np.flatnonzero(layout.stands_for[path] != path)[0])
        n_actions, name = layout.action_counts[k][states[k]], layout.state_name(k, int(states[k]))
        raise InvalidInput(
            f"trajectory: action {actions[k]} at step {k} does not exist in state {name}, which "
            f"has actions 0..{n_actions - 1}"
        )
    if not layout.is_dense:
        _check_support(layout, path, flat_states)
    return flat_states, path


def _numbers(values: Any, size: int, name: str) -> NDArray[np.int64]:
    array = whole_array(values, f"trajectory: {name}")
    if array.shape != (size,):
        raise InvalidInput(f"trajectory: {name} needs {size} whole numbers, got {shown(values)}")
    return array


def _check_support(layout: Layout, path: NDArray[np.int64], states: NDArray[np.int64]) -> None:
    for k, row in enumerate(path):
        begin, end = layout.row_start[row], layout.row_start[row + 1]
        if states[k + 1] not in layout.successor[begin:end]:
            raise InvalidInput(
                f"trajectory: step {k} went from {layout.name_of_row(int(row))} to state "
                f"{states[k + 1] - layout.layer_start[k + 1]}, which the layout does not declare"
            )
