"""Checks of pair tables of losses; each message names the place and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.checks.arguments import instance, is_sequence
from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout

SAY_ANY = "; rescale them, or say any_losses=True, which play(losses_outside='clip') clips"
"""The remedy of processes that can be told that their losses are in any unit."""


def unit_pairs(
    layout: Layout, table: Any, name: str, *, any_losses: bool = False, remedy: str = ""
) -> Floats:
    """A pair table of losses in [0, 1], or of ``any_losses``, as a new flat vector.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=1)
    >>> unit_pairs(layout, [[[0.5]], [[0.0], [1.5]]], "mean")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: mean: 1.5 at layer 1, state 1, action 0; losses lie in [0, 1]
    """
    refuse_function(table, name)
    flat = instance(layout, Layout, "layout").flat_pairs(table, name, fill=True)
    outside = (flat < 0.0) | (flat > 1.0)
    if outside.any() and not any_losses:
        row = int(outside.argmax())
        raise InvalidInput(
            f"{name}: {flat[row]} at {layout.name_of_row(row)}; losses lie in [0, 1]{remedy}"
        )
    return flat


def refuse_function(table: Any, name: str) -> None:
    """A function in the place of numbers belongs elsewhere."""
    if callable(table):
        raise InvalidInput(
            f"{name}: give numbers, not {shown(table)}; losses that a function chooses are "
            "am.losses.Custom(function)"
        )


def unit_tables(
    layout: Layout, tables: Any, name: str, *, any_losses: bool = False, remedy: str = ""
) -> Floats:
    """A sequence of K such tables as one new array of shape (K, R)."""
    refuse_function(tables, name)
    if not is_sequence(tables) or len(tables) == 0:
        raise InvalidInput(f"{name}: give a sequence of at least one pair table")
    return np.stack(
        [
            unit_pairs(layout, t, f"{name}[{i}]", any_losses=any_losses, remedy=remedy)
            for i, t in enumerate(tables)
        ]
    )
