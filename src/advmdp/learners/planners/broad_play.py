"""Play that keeps everything within reach, as the judge of forecasts.

What an error of a forecast is worth depends on who plays.  Of all occupancy measures the one of
largest entropy, uniform weights projected, forgets the fewest decisions.  Uniform play is no such
judge: it has done six units of work after six hours, so that what a forecast says of later hours
would not count.
"""

from __future__ import annotations

import numpy as np

from advmdp.kernels.model.flow import forward
from advmdp.kernels.model.transition import Transition
from advmdp.layout import Floats, Layout
from advmdp.steps.confidence import KnownTransition
from advmdp.steps.mirror_descent import project
from advmdp.steps.occupancy import policy_of


class BroadPlay:
    """The policy of the measure of largest entropy: its visits of pairs, and their advantages.

    With an estimated transition the policy is that of the estimate before the first visit; visits
    and advantages follow the estimate.

    >>> from advmdp.steps.estimates import known_transition
    >>> layout = Layout(layer_sizes=(1, 2, 3, 1), n_actions=2)  # the first action goes to state 0
    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.zeros((2, 2, 3)), np.ones((3, 2, 1))]
    >>> P[1][0, :, 0], P[1][1, 0, 1], P[1][1, 1, 2] = 1.0, 1.0, 1.0
    >>> BroadPlay(layout, known_transition(layout, P)).visits()[:2].round(2)  # more leads right
    array([0.44, 0.56])
    """

    def __init__(self, layout: Layout, transition: Transition) -> None:
        self._layout, self._chance = layout, transition.chance
        self._changes = transition.estimated
        before = KnownTransition(layout, layout.triples(transition.chance.copy()))
        widest = project(layout.triples(np.ones(layout.n_entries)), before).occupancy
        self._policy = layout.flat_pairs(policy_of(widest, layout))
        successors, start = layout.entry_successors(), layout.row_start
        parts = [(layout.layer_rows(k), layout.layer_entries(k)) for k in range(layout.n_layers)]
        self._layers = [
            (rows, entries, successors[entries], start[rows.start : rows.stop] - entries.start)
            for rows, entries in reversed(parts)
        ]
        self._visits: Floats | None = None

    def visits(self) -> Floats:
        """The occupancy measure, over pairs."""
        if self._visits is None or self._changes:
            mass = np.zeros(self._layout.n_states)
            forward(self._layout.graph(), self._chance, self._policy, mass)
            self._visits = self._policy * np.repeat(mass[:-1], self._layout.n_actions)
        return self._visits

    def advantages(self, losses: Floats) -> Floats:
        """Q - V of several tables of losses, (n, R)."""
        n, n_actions = len(losses), self._layout.n_actions
        found, value = np.empty_like(losses), np.zeros((n, self._layout.n_states))
        for rows, entries, successors, starts in self._layers:
            behind = np.add.reduceat(self._chance[entries] * value[:, successors], starts, axis=1)
            total = (losses[:, rows] + behind).reshape(n, -1, n_actions)
            mean = np.einsum("nxa,xa->nx", total, self._policy[rows].reshape(-1, n_actions))
            value[:, rows.start // n_actions : rows.stop // n_actions] = mean
            found[:, rows] = (total - mean[:, :, np.newaxis]).reshape(n, -1)
        return found
