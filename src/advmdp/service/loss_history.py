"""The losses of all episodes so far in a few hundred numbers.

Episodes are summed up in blocks of equal length.  When there are too many blocks, neighbours are
joined, and blocks become twice as long: the whole history is there at any time, coarser the longer
it is.  What is kept depends on the losses alone, so a service that was killed and loaded again has
the same history as one that was not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.layout import Floats
from advmdp.learners.base import HasLayout, offers
from advmdp.learners.feedback import Aggregate, FullInformation, Trajectory

MOST_BLOCKS = 512  # an even number
SUMS, LENGTH = "history.sums", "history.length"


class LossBlocks(NamedTuple):
    """Blocks of episodes in their order; row i of every array belongs to block i."""

    episodes: Floats
    """Finished episodes up to the end of the block."""
    mean: Floats
    """Of the losses of an episode."""
    deviation: Floats
    """Standard deviation within the block."""
    length: Floats
    """Episodes of the block; the last one may be incomplete."""


class LossHistory:
    """Count, sum and sum of squares by block."""

    def __init__(self) -> None:
        self._length = 1
        self._sums: list[tuple[int, float, float]] = []

    def add(self, loss: float | None) -> None:
        """The total loss of one more episode; None, for one whose losses nobody knows, is skipped.

        >>> history = LossHistory()
        >>> for loss in range(1000):
        ...     history.add(float(loss))
        >>> blocks = history.blocks()
        >>> len(blocks.mean), blocks.mean[:2].tolist(), blocks.episodes[-1:].tolist()
        (500, [0.5, 2.5], [1000.0])
        """
        if loss is None or not math.isfinite(loss):
            return
        if self._sums and self._sums[-1][0] < self._length:
            count, total, squares = self._sums[-1]
            self._sums[-1] = count + 1, total + loss, squares + loss * loss
            return
        if len(self._sums) == MOST_BLOCKS:
            pairs = zip(self._sums[::2], self._sums[1::2], strict=True)
            self._sums = [(a[0] + b[0], a[1] + b[1], a[2] + b[2]) for a, b in pairs]
            self._length *= 2
        self._sums.append((1, loss, loss * loss))

    def blocks(self) -> LossBlocks:
        """The history as arrays."""
        sums = np.array(self._sums, dtype=np.float64).reshape(-1, 3)
        count, total, squares = sums.T
        mean = total / count
        variance = np.maximum(squares / count - mean * mean, 0.0)
        return LossBlocks(np.cumsum(count), mean, np.sqrt(variance), count)

    def contents(self) -> dict[str, NDArray[Any]]:
        """The arrays of a file."""
        sums = np.array(self._sums, dtype=np.float64).reshape(-1, 3)
        return {SUMS: sums, LENGTH: np.array(self._length)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """What ``contents`` returned; ``ValueError`` if it is not such.  Older files have none."""
        if SUMS not in arrays:
            return
        sums, length = arrays[SUMS], int(arrays[LENGTH])
        proper = (
            sums.dtype == np.float64
            and sums.shape == (len(sums), 3)
            and len(sums) <= MOST_BLOCKS
            and length >= 1
            and bool(np.isfinite(sums).all())
            and bool((sums[:, 0] >= 1).all() and (sums[:, 0] <= length).all())
        )
        if not proper:
            raise ValueError("the history of the losses")
        self._length = length
        self._sums = [(int(count), total, squares) for count, total, squares in sums.tolist()]


def total_loss(feedback: Any, learner: Any) -> float | None:
    """The losses of an episode, summed along its path; None for feedback of another form."""
    if isinstance(feedback, Aggregate):
        return float(feedback.total)
    if isinstance(feedback, Trajectory):
        return float(np.sum(feedback.losses))
    if isinstance(feedback, FullInformation) and offers(learner, HasLayout):
        layout = learner.layout
        flat = layout.flat_pairs(feedback.losses, "losses")
        states = np.asarray(feedback.states)[: layout.n_layers] + layout.layer_start[:-2]
        return float(flat[states * layout.n_actions + np.asarray(feedback.actions)].sum())
    return None
