"""Checks of the arguments of ``Layout``: sizes, declared successors, shared rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import is_iterable, is_sequence
from advmdp.checks.numbers import any_array, shown, whole_array, whole_number
from advmdp.errors import InvalidInput
from advmdp.layout.actions import with_last_action

if TYPE_CHECKING:
    from advmdp.layout import Layout

MAX_ENTRIES = 2**31  # flat indices are stored as 32-bit numbers
MAX_LAYERS, MAX_PAIRS = 100_000, 10**8  # more would fill memory with index arrays alone
MAX_MASK = 2**34  # entries of a declared support; each is a byte while the layout is made


def checked_sizes(layer_sizes: Sequence[int]) -> tuple[int, ...]:
    """The layer sizes; the first and the last layer have one state."""
    if not is_iterable(layer_sizes):
        raise InvalidInput(f"{shown(layer_sizes)} is not a list of sizes", field="layer_sizes")
    sizes = tuple(
        whole_number(n, f"layer_sizes[{k}]", most=MAX_ENTRIES) for k, n in enumerate(layer_sizes)
    )
    if len(sizes) < 2 or sizes[0] != 1 or sizes[-1] != 1:
        raise InvalidInput(
            f"{sizes} must have at least two layers and begin and end with 1 "
            "(add a start or an end state)",
            field="layer_sizes",
        )
    return sizes


def refuse_too_large(sizes: tuple[int, ...], n_actions: int, *, is_dense: bool) -> None:
    """Reject layouts that would not fit into memory, before anything is allocated."""
    if len(sizes) - 1 > MAX_LAYERS:
        raise InvalidInput(
            f"{len(sizes) - 1} layers are too many; use at most {MAX_LAYERS}", field="layer_sizes"
        )
    if sum(sizes) > MAX_PAIRS:
        raise InvalidInput(
            f"{sum(sizes)} states are too many; use at most {MAX_PAIRS}", field="layer_sizes"
        )
    if sum(sizes) * n_actions > MAX_PAIRS:
        raise InvalidInput(
            f"{sum(sizes) * n_actions} pairs of states and actions are too many; "
            f"use at most {MAX_PAIRS}",
            field="n_actions",
        )
    n_triples = sum(n * n_actions * m for n, m in pairwise(sizes))
    if is_dense:
        refuse_too_many(n_triples)
    elif n_triples > MAX_MASK:
        raise InvalidInput(
            f"a support of {n_triples} triples, declared or not, is too large; "
            f"use at most {MAX_MASK}",
            field="layer_sizes",
        )


def refuse_too_many(n_entries: int) -> None:
    """Reject layouts whose flat indices do not fit into 32 bits."""
    if n_entries >= MAX_ENTRIES:
        raise InvalidInput(
            f"{n_entries} triples are too many; declare a sparse support", field="layer_sizes"
        )


def checked_support(
    successors: Sequence[Any],
    sizes: tuple[int, ...],
    n_actions: int,
    counts: list[NDArray[np.int64]] | None = None,
) -> list[NDArray[np.bool_]]:
    """The declared successors of each layer as a boolean mask of shape (n_k, A, n_{k+1}).

    ``counts`` are the numbers of actions of the states, where they differ.
    """
    if not is_sequence(successors) or len(successors) != len(sizes) - 1:
        raise InvalidInput(
            f"successors: give {len(sizes) - 1} arrays, one for each layer but the last"
        )
    masks = []
    for k, given in enumerate(successors):
        mask = _support_mask(given, k, (sizes[k], n_actions, sizes[k + 1]))
        if counts is not None:
            mask = with_last_action(mask, n_actions, counts[k])
        empty = np.argwhere(~mask.any(axis=2))
        if len(empty):
            x, a = empty[0]
            raise InvalidInput(f"successors: layer {k}, state {x}, action {a} has no successor")
        masks.append(mask)
    return masks


def _support_mask(given: Any, k: int, shape: tuple[int, int, int]) -> NDArray[np.bool_]:
    """The mask of layer ``k`` from booleans, or from state numbers padded with -1."""
    array = any_array(given, f"successors: layer {k} (shorter lists are padded with -1)")
    if array.dtype == np.bool_:
        if array.shape != shape:
            raise InvalidInput(f"successors: layer {k} has shape {array.shape}, expected {shape}")
        return array
    lead, n_next = shape[:2], shape[2]
    if array.ndim != 3 or array.shape[:2] != lead or array.dtype.kind not in "iu":
        raise InvalidInput(
            f"successors: layer {k} must hold booleans, or state numbers of shape {lead} + (m,)"
        )
    if array.size and (int(array.max()) >= n_next or int(array.min()) < -1):
        raise InvalidInput(
            f"successors: layer {k} names a state outside 0..{n_next - 1} (-1 is padding)"
        )
    mask = np.zeros((*lead, n_next + 1), dtype=np.bool_)  # the last column takes the padding
    np.put_along_axis(mask, array.astype(np.int64), True, axis=2)
    return mask[:, :, :-1]


def normalised_rows(flat: NDArray[np.float64], row_start: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divide every row by its sum, where that differs from one by more than rounding.

    Other rows are left as they are, so that a stored transition read back gives the same bits.
    Rows of zeros stay zero.
    """
    sizes, sums = np.diff(row_start), np.add.reduceat(flat, row_start[:-1])
    off = (np.abs(sums - 1.0) > sizes * np.finfo(np.float64).eps) & (sums > 0.0)
    normalised: NDArray[np.float64] = flat / np.repeat(np.where(off, sums, 1.0), sizes)
    return normalised


def reachable(masks: list[NDArray[np.bool_]]) -> list[NDArray[np.int64]]:
    """The states of each layer that some policy reaches with positive probability."""
    kept = [np.array([0])]
    for mask in masks:
        kept.append(np.flatnonzero(mask[kept[-1]].any(axis=(0, 1))))
    return kept


def checked_shared_rows(shared: Sequence[Any] | None, layout: Layout) -> NDArray[np.int64] | None:
    """The first row of the pool of every row; None if no rows share their counts.

    Rows that are played by the same action always do.
    """
    if shared is None:
        return layout.stands_for
    declared, row_sizes = layout.declared_sizes, layout.row_sizes()
    if not is_sequence(shared) or len(shared) != len(declared) - 1:
        raise InvalidInput(f"shared_rows: give {len(declared) - 1} arrays, one for each layer")
    names = []
    for k, given in enumerate(shared):
        array = whole_array(given, f"shared_rows: layer {k}")
        shape = (declared[k], layout.n_actions)
        if array.shape != shape:
            raise InvalidInput(f"shared_rows: layer {k} must hold whole numbers of shape {shape}")
        names.append(array[layout.original_state[k]].ravel())
    name = np.concatenate(names).astype(np.int64)
    alone = name < 0
    name[alone] = np.arange(len(name))[alone] + name.max(initial=0) + 1
    if layout.stands_for is not None:
        name = name[layout.stands_for]
    _, first, pool = np.unique(name, return_index=True, return_inverse=True)
    counter_row: NDArray[np.int64] = first[pool]
    wrong = np.flatnonzero(row_sizes != row_sizes[counter_row])
    if len(wrong):
        r = int(wrong[0])
        raise InvalidInput(
            f"shared_rows: pool {name[r]} has rows with {row_sizes[counter_row[r]]} and "
            f"{row_sizes[r]} successors; rows of one pool need equally many"
        )
    return counter_row
