"""States with different numbers of actions, on kernels that know one number for all of them.

Let A(x) be the number of actions of state x and A the largest.  The kernels see A actions
everywhere: the rows of x with a >= A(x) *stand for* its last action A(x) - 1, with the same
transition and the same loss.  Nothing is lost or gained by that.  A policy of the larger MDP has
the same occupancy of states, and the same expected loss, as the policy of the true one that gives
all the probability of these rows to the action for which they stand; and every policy of the true
MDP is one of the larger.  Hence both have the same best policy and the same regret, and what is
proved for a learner holds as it is, with A in place of A(x).

Learners never show the difference.  ``policy`` gives the probability of such rows to the last
action; ``update`` draws from the learner's own conditional distribution for which of them an
action was played, so that its estimates see the law they divide by.  Visits are counted together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import is_sequence
from advmdp.checks.numbers import whole_array, whole_number
from advmdp.errors import InvalidInput

if TYPE_CHECKING:
    from advmdp.layout import Layout

Integers = NDArray[np.int64]


def checked_actions(
    given: Any, sizes: tuple[int, ...], most: int
) -> tuple[int, list[Integers] | None]:
    """The largest number of actions, and the numbers by layers and declared states if they differ.

    >>> checked_actions([[2], [1, 3]], (1, 2, 1), most=100)
    (3, [array([2]), array([1, 3])])
    >>> checked_actions([[2], [2, 2]], (1, 2, 1), most=100)
    (2, None)
    """
    if not is_sequence(given) or isinstance(given, str | bytes):
        return whole_number(given, "n_actions", most=most), None
    if len(given) != len(sizes) - 1:
        raise InvalidInput(
            f"give a whole number, or {len(sizes) - 1} lists with the numbers of every state, "
            "one for each layer but the last",
            field="n_actions",
        )
    counts = [whole_array(layer, f"n_actions: layer {k}") for k, layer in enumerate(given)]
    for k, layer in enumerate(counts):
        if layer.shape != (sizes[k],) or layer.min() < 1 or layer.max() > most:
            raise InvalidInput(
                f"layer {k} needs {sizes[k]} whole numbers of at least 1", field="n_actions"
            )
    largest = max(int(layer.max()) for layer in counts)
    same = all((layer == largest).all() for layer in counts)
    return largest, None if same else counts


def rows_in_place(counts: list[Integers], kept: list[Integers], n_actions: int) -> Integers:
    """For every row the row that is played in its place: itself, or that of the last action."""
    count = np.concatenate([layer[here] for layer, here in zip(counts, kept, strict=False)])
    action = np.minimum(np.arange(n_actions), count[:, np.newaxis] - 1)
    rows: Integers = np.arange(len(count))[:, np.newaxis] * n_actions + action
    return rows.ravel()


def with_last_action(array: NDArray[Any], n_actions: int, *counts: Integers) -> NDArray[Any]:
    """A layer's part of a table, with the values of the last action for those after it.

    ``counts`` are the numbers of actions that its states may have, depending on which states the
    table is about; an array of another shape is returned as it is.
    """
    for numbers in counts:
        if array.ndim > 1 and array.shape[:2] == (len(numbers), n_actions):
            action = np.minimum(np.arange(n_actions), numbers[:, np.newaxis] - 1)
            return np.asarray(array[np.arange(len(numbers))[:, np.newaxis], action])
    return array


def same_rows(one: Integers | None, other: Integers | None) -> bool:
    """Whether the same actions exist."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def merge_rows(layout: Layout, flat: NDArray[np.float64]) -> NDArray[np.float64]:
    """A flat vector over rows with the share of rows in place given to the last action."""
    if layout.stands_for is None:
        return flat
    return np.bincount(layout.stands_for, flat, layout.n_rows).astype(np.float64)


def spread_path(
    layout: Layout, path: Integers, policy: NDArray[np.float64], draws: NDArray[np.float64]
) -> Integers:
    """A played path, each row drawn anew among those that stand for it, by their probabilities.

    ``draws`` are uniform on [0, 1).  The rows that stand for the last action follow it.
    """
    if layout.stands_for is None:
        return path
    found = path.copy()
    for k, row in enumerate(path.tolist()):
        end = (row // layout.n_actions + 1) * layout.n_actions
        if row + 1 == end or layout.stands_for[row + 1] != row:
            continue
        upto = np.cumsum(np.maximum(policy[row:end], 0.0))
        if len(upto) and upto[-1] > 0.0:
            place = int(np.searchsorted(upto, draws[k] * upto[-1], "right"))
            found[k] = min(row + place, end - 1)
    return found
