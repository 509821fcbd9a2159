"""Episodes that break off: a state for it in every layer, in which the rest of the episode passes.

Whether an episode breaks off may depend on where it is and what is done there, as a customer leaves
or a machine fails.  That is a transition like any other, into a state *broken off* that nothing
leaves before the end, with one action and a loss of the caller's choice.  The MDP with these
states is an ordinary one, so that every guarantee holds in it as it stands, against policies whose
episodes break off too; its price is one state more in each layer, and rows that were known are no
longer known, since nobody said how often they break off.

If what broke off has nothing to do with the episode (a lost message, a restart), the episode tells
nothing about the world and is better given up (``Service.abandon``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.checks.arguments import instance
from advmdp.checks.numbers import unit_number
from advmdp.layout import Layout
from advmdp.layout.io import declared_successors, shared_row_tables

NAME = "broken off"


def with_break_off(layout: Layout, rest_loss: float = 0.0) -> Layout:
    """The layout with a state more in every layer but the first and the last, where episodes end.

    Learners on it take trajectories of fewer than L steps: the m states that were acted in, the m
    actions and their losses.  They are completed by the state *broken off*, the last of each layer.

    Parameters
    ----------
    layout
        Layers, actions and declared successors of episodes that do not break off.
    rest_loss
        The loss of every step that is missing, in [0, 1].  With 0 breaking off is as good as it
        gets, and a learner will seek it where it spares losses; with 1 it is as bad.

    >>> layout = with_break_off(Layout(layer_sizes=(1, 2, 2, 1), n_actions=2), rest_loss=1.0)
    >>> layout.layer_sizes
    (1, 3, 3, 1)
    >>> from advmdp.learners.feedback import Trajectory
    >>> from advmdp.learners.mirror.uob_reps import UOBREPS
    >>> learner = UOBREPS(layout, n_episodes=100)
    >>> learner.update(Trajectory(states=[0, 1], actions=[1, 0], losses=[0.25, 0.5]))
    >>> learner.visits[2][:, 0]                                 # the third step broke off
    array([0., 0., 1.])
    """
    instance(layout, Layout, "layout")
    loss = unit_number(rest_loss, "rest_loss")
    sizes = layout.declared_sizes
    counts = layout.declared_counts or [np.full(n, layout.n_actions) for n in sizes[:-1]]
    more = [0, *[1] * (layout.n_layers - 1), 0]  # new states by layers
    declared = declared_successors(layout)
    supports, known = [], []
    for k in range(layout.n_layers):
        shape = (sizes[k], layout.n_actions, sizes[k + 1])
        mask = np.ones(shape, np.bool_) if declared is None else _mask(declared[k], shape)
        mask = np.pad(mask, ((0, more[k]), (0, 0), (0, more[k + 1])))
        row = np.full(mask.shape, np.nan)
        mask[:, :, -1] |= more[k + 1] > 0
        if more[k]:
            mask[-1] = row[-1] = 0
            mask[-1, :, -1] = row[-1, :, -1] = 1
        supports.append(mask)
        known.append(row)
    larger = Layout(
        [n + m for n, m in zip(sizes, more, strict=True)],
        [[*n.tolist(), *[1] * m] for n, m in zip(counts, more, strict=False)],
        supports,
        _with_rows(shared_row_tables(layout), more),
        known if layout.n_layers > 1 else None,
        **_names(layout, more),
    )
    larger.rest_loss = loss
    return larger


def _mask(numbers: Any, shape: tuple[int, int, int]) -> Any:
    """Declared successors, in numbers padded with -1, as booleans."""
    mask = np.zeros((*shape[:2], shape[2] + 1), np.bool_)
    np.put_along_axis(mask, numbers, True, axis=2)
    return mask[:, :, :-1]


def _with_rows(tables: Any, more: list[int]) -> Any:
    """Pools of rows, of which the new ones are none."""
    if tables is None:
        return None
    return [
        np.pad(table, ((0, m), (0, 0)), constant_values=-1)
        for table, m in zip(tables, more, strict=False)
    ]


def _names(layout: Layout, more: list[int]) -> dict[str, Any]:
    states, actions = layout.names
    found: dict[str, Any] = {"state_names": None, "action_names": actions}
    if states is not None:
        pairs = zip(states, more, strict=False)
        found["state_names"] = [[*names, *[NAME] * m] for names, m in pairs]
    if actions is not None and not isinstance(actions[0], str):
        found["action_names"] = [[*a, *[["wait"]] * m] for a, m in zip(actions, more, strict=False)]
    return found
