"""Names of states and actions: what tables, exports and messages call them."""

from __future__ import annotations

from typing import Any, NamedTuple

from advmdp.checks.arguments import is_sequence
from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput

LONGEST = 200  # characters of a name

Words = tuple[str, ...]


class Names(NamedTuple):
    """Names by declared numbers; None where the numbers themselves are the names."""

    states: tuple[Words, ...] | None = None
    """A tuple for each layer, with or without the last."""
    actions: Words | tuple[tuple[Words, ...], ...] | None = None
    """One for each action, the same in every state, or a tuple for each state of each layer."""

    def state(self, layer: int, number: int) -> str:
        """The name of the state with this declared number."""
        if self.states is None or layer >= len(self.states):
            return str(number)
        return self.states[layer][number]

    def action(self, layer: int, number: int, action: int) -> str:
        """The name of an action in the state with this declared number."""
        if self.actions is None:
            return str(action)
        first = self.actions[action if isinstance(self.actions[0], str) else layer]
        return first if isinstance(first, str) else first[number][action]


def checked_names(
    states: Any, actions: Any, sizes: tuple[int, ...], n_actions: int, counts: Any = None
) -> Names:
    """The names of a layout with these declared sizes.

    ``counts`` are the numbers of actions of the states of each layer, if they differ.
    """
    layers = None
    if states is not None:
        if not is_sequence(states) or len(states) not in (len(sizes) - 1, len(sizes)):
            raise InvalidInput(
                f"give {len(sizes)} lists of names, one for each layer", field="state_names"
            )
        layers = tuple(
            _words(names, sizes[k], f"state_names: layer {k}") for k, names in enumerate(states)
        )
    if actions is None:
        return Names(layers)
    if is_sequence(actions) and all(isinstance(name, str) for name in actions):
        return Names(layers, _words(actions, n_actions, "action_names"))
    if not is_sequence(actions) or len(actions) != len(sizes) - 1:
        raise InvalidInput(
            f"give {n_actions} names, or for each layer a list with the names of every state",
            field="action_names",
        )
    by_layer = zip(range(len(actions)), actions, sizes, strict=False)
    return Names(layers, tuple(_of_layer(*each, n_actions, counts) for each in by_layer))


def _of_layer(k: int, given: Any, size: int, n_actions: int, counts: Any) -> tuple[Words, ...]:
    """The names of the actions of the states of one layer."""
    if not is_sequence(given) or len(given) != size:
        raise InvalidInput(f"action_names: layer {k} needs {size} lists, one for each state")
    return tuple(
        _words(
            names,
            n_actions if counts is None else int(counts[k][x]),
            f"action_names: layer {k}, state {x}",
        )
        for x, names in enumerate(given)
    )


def _words(given: Any, size: int, where: str) -> Words:
    """Different short texts, each on one line."""
    if not is_sequence(given) or isinstance(given, str | bytes) or len(given) != size:
        raise InvalidInput(f"{where}: give {size} names in a list, not {shown(given)}")
    for name in given:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InvalidInput(f"{where}: {shown(name)} is not a name; give text on one line")
        if len(name) > LONGEST:
            raise InvalidInput(f"{where}: {shown(name)} is longer than {LONGEST} characters")
    words = tuple(str(name) for name in given)
    if len(set(words)) < len(words):
        twice = next(name for name in words if words.count(name) > 1)
        raise InvalidInput(f"{where}: {shown(twice)} names two; give each a name of its own")
    return words
