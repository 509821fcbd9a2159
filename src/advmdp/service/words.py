"""Names in place of numbers: states and actions of a layout that has names."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from advmdp.checks.arguments import is_sequence
from advmdp.checks.numbers import shown, whole_number
from advmdp.errors import InvalidInput
from advmdp.layout import Layout


class Words:
    """The names of a layout, looked up by layer; numbers pass as they are."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._states: dict[int, dict[str, int]] = {}

    def state(self, layer: int, given: Any) -> Any:
        """The number within the layer of a state that is named."""
        if not isinstance(given, str) or not 0 <= layer < len(self._layout.layer_sizes):
            return given
        if layer not in self._states:
            names = (self._layout.state_name(layer, i) for i in range(self._n_states(layer)))
            self._states[layer] = {name: i for i, name in enumerate(names)}
        return _found(given, self._states[layer], f"state of layer {layer}")

    def action(self, layer: int, state: Any, given: Any) -> Any:
        """The number of an action that is named, in a state given by its number."""
        if not isinstance(given, str) or not 0 <= layer < self._layout.n_layers:
            return given
        number = self.checked_state(layer, state)
        count = int(self._layout.action_counts[layer][number])
        names = {self._layout.action_name(layer, number, a): a for a in range(count)}
        return _found(given, names, f"action of layer {layer}, state {number}")

    def checked_layer(self, layer: Any) -> int:
        """A layer in which one acts."""
        number = whole_number(layer, "layer", least=0)
        if number >= self._layout.n_layers:
            raise InvalidInput(f"{number} is not in 0..{self._layout.n_layers - 1}", field="layer")
        return number

    def checked_state(self, layer: int, given: Any) -> int:
        """The number of a state that is named or numbered, within its layer."""
        number = whole_number(self.state(layer, given), "state", least=0)
        if number >= self._n_states(layer):
            raise InvalidInput(
                f"{number} is outside layer {layer}, which has states "
                f"0..{self._n_states(layer) - 1}",
                field="state",
            )
        return number

    def numbered(self, feedback: Mapping[str, Any]) -> dict[str, Any]:
        """A feedback dictionary with numbers where it has names."""
        given = dict(feedback)
        states: Any = given.get("states")
        actions: Any = given.get("actions")
        if is_sequence(states) and any(isinstance(x, str) for x in states):
            given["states"] = [self.state(k, x) for k, x in enumerate(states)]
        if is_sequence(actions) and any(isinstance(a, str) for a in actions):
            visited = given["states"] if is_sequence(states) else ()
            if len(visited) < len(actions):
                raise InvalidInput("feedback: give a state for every action")
            given["actions"] = [self.action(k, visited[k], a) for k, a in enumerate(actions)]
        return given

    def _n_states(self, layer: int) -> int:
        return int(self._layout.layer_sizes[layer])


def _found(name: str, names: Mapping[str, int], what: str) -> int:
    if name in names:
        return names[name]
    near = get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InvalidInput(f"{shown(name)} is no {what}{hint}")
