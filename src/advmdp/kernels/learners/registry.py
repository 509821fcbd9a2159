"""How a compiled loop finds the update of a learner: by the type of its state.

A learner's kernel file declares a NamedTuple of arrays with a field ``policy`` (a vector over
rows), writes its update as a kernel, and registers it:

    @bandit_update(MyState)
    @kernel
    def update(graph, state, states, path, losses): ...

``bandit_step`` and ``full_step`` then stand for that kernel inside the loops of ``episode``, which
are compiled (and cached) once for every type of state.  A bandit update is handed the losses of the
visited pairs only; a full-information update those of all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..runtime.targets import overload_for_target

F = TypeVar("F", bound=Callable[..., Any])

BANDIT_UPDATES: dict[type, Callable[..., Any]] = {}
FULL_UPDATES: dict[type, Callable[..., Any]] = {}


def bandit_update(state: type) -> Callable[[F], F]:
    """Register the update of a learner that sees the losses of its own path."""
    return _registrar(BANDIT_UPDATES, state)


def full_update(state: type) -> Callable[[F], F]:
    """Register the update of a learner that sees the losses of all pairs."""
    return _registrar(FULL_UPDATES, state)


def _registrar(table: dict[type, Callable[..., Any]], state: type) -> Callable[[F], F]:
    def register(update: F) -> F:
        table[state] = update
        return update

    return register


def bandit_step(graph: Any, state: Any, states: Any, path: Any, losses: Any) -> None:
    """One update from the losses of the visited pairs."""
    BANDIT_UPDATES[type(state)](graph, state, states, path, losses)


def full_step(graph: Any, state: Any, states: Any, path: Any, losses: Any) -> None:
    """One update from the losses of all pairs."""
    FULL_UPDATES[type(state)](graph, state, states, path, losses)


def _compile_step(step: Callable[..., Any], table: dict[type, Callable[..., Any]]) -> None:
    """Let compiled code resolve ``step`` by the type of the state."""

    @overload_for_target(step)
    def choose(graph: Any, state: Any, states: Any, path: Any, losses: Any) -> Any:
        update = table[state.instance_class]

        # numba compares the two signatures, annotations included
        def run(graph: Any, state: Any, states: Any, path: Any, losses: Any) -> Any:
            update(graph, state, states, path, losses)

        return run


_compile_step(bandit_step, BANDIT_UPDATES)
_compile_step(full_step, FULL_UPDATES)
