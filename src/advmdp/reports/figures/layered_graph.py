"""The part of a layered graph that a picture shows: likely states, their choices, and the flows.

A layer may have thousands of states; shown are those that episodes pass most, in their own order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.layout import Floats, Layout

MOST_STATES, MOST_ACTIONS = 10, 6  # of a layer, of a state: those with the largest chance
LEAST_FLOW = 0.002  # of an episode; thinner lines are left out


class ShownAction(NamedTuple):
    """An action of a state that is shown."""

    row: int
    name: str
    number: int
    """Of the action, which determines its colour."""
    probability: float


class ShownState(NamedTuple):
    """A state that is shown."""

    number: int
    name: str
    chance: float
    """Of an episode to pass it."""
    actions: list[ShownAction]


class Flow(NamedTuple):
    """What goes from an action of a state to a state of the next layer, in an episode."""

    row: int
    target: int
    chance: float


class LayeredGraph(NamedTuple):
    """What a picture shows of a policy."""

    layers: list[list[ShownState]]
    hidden: list[int]
    """States of each layer that are left out."""
    flows: list[Flow]

    def data(self) -> dict[str, Any]:
        """Plain lists, as ``graph.js`` expects them."""
        return {
            "layers": [
                [
                    [s.number, s.name, _rounded(s.chance), [_action(a) for a in s.actions]]
                    for s in layer
                ]
                for layer in self.layers
            ],
            "hidden": self.hidden,
            "flows": [[flow.row, flow.target, _rounded(flow.chance)] for flow in self.flows],
        }


def layered_graph(layout: Layout, flow: Floats | None, policy: Floats) -> LayeredGraph:
    """Choose what is shown; ``flow`` is the chance of every entry (x, a, x') in an episode.

    Without a flow, the states of a layer count as equally likely.
    """
    through: Floats = np.zeros(layout.n_states)
    if flow is None:
        for k, size in enumerate(layout.layer_sizes):
            through[layout.layer_start[k] : layout.layer_start[k + 1]] = 1.0 / size
    else:
        np.add.at(through, layout.entry_successors(), flow)
        through[0] = 1.0
    layers = [_states(layout, k, through, policy) for k in range(layout.n_layers + 1)]
    hidden = [size - len(layer) for size, layer in zip(layout.layer_sizes, layers, strict=True)]
    flows = [] if flow is None else _flows(layout, flow, layers)
    return LayeredGraph(layers, hidden, flows)


def _states(layout: Layout, k: int, through: Floats, policy: Floats) -> list[ShownState]:
    """The states of a layer that are shown, in their own order."""
    numbers = np.arange(layout.layer_start[k], layout.layer_start[k + 1])
    likely = np.argsort(-through[numbers], kind="stable")[:MOST_STATES]
    found = []
    for number in np.sort(numbers[likely]).tolist():
        index = number - int(numbers[0])
        name = _told("state", layout.state_name(k, index))
        actions = _actions(layout, k, index, number, policy) if k < layout.n_layers else []
        found.append(ShownState(number, name, float(through[number]), actions))
    return found


def _actions(layout: Layout, k: int, index: int, number: int, policy: Floats) -> list[ShownAction]:
    first = number * layout.n_actions
    own = policy[first : first + int(layout.action_counts[k][index])]
    chosen = np.sort(np.argsort(-own, kind="stable")[:MOST_ACTIONS]).tolist()
    return [
        ShownAction(
            first + action,
            _told("action", layout.action_name(k, index, action)),
            action,
            float(own[action]),
        )
        for action in chosen
    ]


def _flows(layout: Layout, flow: Floats, layers: list[list[ShownState]]) -> list[Flow]:
    """Every flow between what is shown that is not too thin."""
    shown = {state.number for layer in layers for state in layer}
    successors = layout.entry_successors()
    rows = (a.row for layer in layers for state in layer for a in state.actions)
    return [
        Flow(row, int(successors[entry]), float(flow[entry]))
        for row in rows
        for entry in range(int(layout.row_start[row]), int(layout.row_start[row + 1]))
        if int(successors[entry]) in shown and flow[entry] >= LEAST_FLOW
    ]


def _told(kind: str, name: str) -> str:
    """A name, or the number of what has none."""
    return f"{kind} {name}" if name.isdecimal() else name


def _action(action: ShownAction) -> list[Any]:
    return [action.row, action.name, action.number, _rounded(action.probability)]


def _rounded(chance: float) -> float:
    return round(chance, 4)
