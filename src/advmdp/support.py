"""What a user may declare about a layout: sizes, successors, and what they leave reachable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput

MAX_ENTRIES = 2**31  # flat indices are stored as 32-bit numbers


def checked_count(value: Any, name: str) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{name}: {value!r} is not a whole number of at least 1")
    return int(value)


def checked_sizes(layer_sizes: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(checked_count(n, f"layer_sizes[{k}]") for k, n in enumerate(layer_sizes))
    if len(sizes) < 2 or sizes[0] != 1 or sizes[-1] != 1:
        raise InvalidInput(
            f"layer_sizes: {sizes} must have at least two layers and begin and end with 1 "
            "(add a start or an end state)"
        )
    return sizes


def refuse_too_many(n_entries: int) -> None:
    if n_entries >= MAX_ENTRIES:
        raise InvalidInput(
            f"layer_sizes: {n_entries} triples are too many; declare a sparse support"
        )


def checked_support(
    successors: Sequence[Any], sizes: tuple[int, ...], n_actions: int
) -> list[NDArray[np.bool_]]:
    if len(successors) != len(sizes) - 1:
        raise InvalidInput(
            f"successors: give {len(sizes) - 1} arrays, one for each layer but the last"
        )
    masks = []
    for k, given in enumerate(successors):
        try:
            array = np.asarray(given)
        except ValueError:
            raise InvalidInput(
                f"successors: layer {k} has lists of different lengths; pad them with -1"
            ) from None
        lead = (sizes[k], n_actions)
        if array.dtype == np.bool_:
            if array.shape != (*lead, sizes[k + 1]):
                raise InvalidInput(
                    f"successors: layer {k} has shape {array.shape}, "
                    f"expected {(*lead, sizes[k + 1])}"
                )
            mask = array
        else:
            if array.ndim != 3 or array.shape[:2] != lead or array.dtype.kind not in "iu":
                raise InvalidInput(
                    f"successors: layer {k} must hold booleans, or state numbers "
                    f"of shape {lead} + (m,)"
                )
            if array.max(initial=-1) >= sizes[k + 1] or array.min(initial=0) < -1:
                raise InvalidInput(
                    f"successors: layer {k} names a state outside 0..{sizes[k + 1] - 1} "
                    "(-1 is padding)"
                )
            mask = np.zeros((*lead, sizes[k + 1] + 1), dtype=np.bool_)
            np.put_along_axis(mask, array.astype(np.int64), True, axis=2)
            mask = mask[:, :, :-1]
        empty = np.argwhere(~mask.any(axis=2))
        if len(empty):
            x, a = empty[0]
            raise InvalidInput(f"successors: layer {k}, state {x}, action {a} has no successor")
        masks.append(mask)
    return masks


def reachable(masks: list[NDArray[np.bool_]]) -> list[NDArray[np.int64]]:
    """The states of each layer that some policy can reach."""
    kept = [np.array([0])]
    for mask in masks:
        kept.append(np.flatnonzero(mask[kept[-1]].any(axis=(0, 1))))
    return kept
