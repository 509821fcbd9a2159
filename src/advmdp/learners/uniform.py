"""The uniform policy: the baseline that never learns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from advmdp.kernels.episode import play_fixed_policy
from advmdp.layout import Layout, Table
from advmdp.learners.base import CompiledLoop, Trajectory, check_trajectory


class Uniform:
    """Every action with the same probability, whatever happens; regret grows linearly.

    >>> Uniform(Layout(layer_sizes=(1, 2, 1), n_actions=4)).policy()[0]
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._policy = np.full(layout.n_rows, 1.0 / layout.n_actions)

    def policy(self) -> Table:
        """The uniform policy."""
        return self.layout.pairs(self._policy.copy())

    def update(self, trajectory: Trajectory) -> None:
        """Check the trajectory and forget it."""
        check_trajectory(self.layout, trajectory)

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: whole episodes without leaving compiled code."""
        return CompiledLoop(play_fixed_policy, (self._policy,), _nothing_pending)


def _nothing_pending(states: NDArray[np.int64], path: NDArray[np.int64]) -> None:
    """The loop of a fixed policy always finishes."""
