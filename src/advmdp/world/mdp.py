"""A layered MDP: a layout with its true transition, validated and immutable."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.checks.arguments import instance, is_sequence
from advmdp.checks.numbers import any_array, whole_number
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout, Table
from advmdp.layout.checks import normalised_rows
from advmdp.world.checks import unit_pairs

ROW_SUM_TOLERANCE = 1e-9


class LayeredMDP(Shown):
    """A layout together with its transition ``P(x' | x, a)``.

    Parameters
    ----------
    layout
        Layers, actions and declared successors.
    transitions
        A triple table, arrays of shape ``(n_k, A, n_{k+1})`` for ``k = 0 .. L - 1``, or a flat
        vector over entries.  Every row is a probability distribution; rows whose sum differs from
        one by at most 1e-9 are normalised.
    natural_loss
        Optional pair table of mean losses in [0, 1] that makes the MDP a known benchmark; the
        constructors of ``advmdp.world.families`` provide it.  It is used only where it is passed
        to a loss process, for instance ``Stochastic(mdp.natural_loss)``.
    opening
        1 if layer 0 only draws where an episode begins (see ``time_expand``), else 0.  An opening
        layer has loss zero and earns no reward.

    Attributes
    ----------
    flat
        The transition as a read-only flat vector over entries.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> mdp = LayeredMDP(layout, [[[[0.9, 0.1], [0.2, 0.8]]], [[[1.0], [1.0]], [[1.0], [1.0]]]])
    >>> mdp
    LayeredMDP(Layout(layer_sizes=(1, 2, 1), n_actions=2))
    >>> mdp.transitions[0][0, 1]
    array([0.2, 0.8])
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        *,
        natural_loss: Any | None = None,
        opening: int = 0,
    ) -> None:
        self.layout = instance(layout, Layout, "layout")
        self.opening = whole_number(opening, "opening", least=0, most=min(1, layout.n_layers - 1))
        self.flat = _checked_rows(layout, transitions)
        self.flat.flags.writeable = False
        _check_known_rows(layout, self.flat)
        self.natural_loss: Table | None = None
        if natural_loss is not None:
            flat_loss = unit_pairs(layout, natural_loss, "natural_loss")
            flat_loss.flags.writeable = False
            self.natural_loss = layout.pairs(flat_loss)

    def with_known_rows(self, rows: Any) -> LayeredMDP:
        """The same MDP on a layout that declares some rows of the transition known.

        ``rows`` is a pair table of truth values.  ``deterministic_rows`` is one; another marks
        layer 0, for an opening whose start distribution is known.

        >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
        >>> P = [[[[1.0, 0.0], [0.2, 0.8]]], [[[1.0], [1.0]], [[1.0], [1.0]]]]
        >>> mdp = LayeredMDP(layout, P)
        >>> known, _ = mdp.with_known_rows(mdp.deterministic_rows).layout.known
        >>> known
        array([ True, False,  True,  True,  True,  True])
        """
        mask = self.layout.flat_pairs(_as_numbers(rows), "rows", fill=True) != 0.0
        tables = [np.array(table) for table in self.transitions]
        for table, here in zip(tables, self.layout.pairs(mask.astype(np.float64)), strict=True):
            table[here == 0.0] = np.nan
        layout = self.layout.knowing(tables)
        return LayeredMDP(layout, self.flat, natural_loss=self.natural_loss, opening=self.opening)

    @property
    def deterministic_rows(self) -> Table:
        """A pair table with 1 where a pair has one possible successor."""
        sizes = self.layout.row_sizes()
        largest = np.maximum.reduceat(self.flat, self.layout.row_start[:-1])
        return self.layout.pairs(((largest == 1.0) | (sizes == 1)).astype(np.float64))

    @property
    def n_steps(self) -> int:
        """The number of steps of an episode that have a loss: all but an opening layer."""
        return self.layout.n_layers - self.opening

    @property
    def transitions(self) -> Table:
        """The transition as a triple table; zero outside the declared support."""
        return self.layout.triples(self.flat)

    def __repr__(self) -> str:
        loss = "" if self.natural_loss is None else ", with a natural loss"
        return f"LayeredMDP({self.layout!r}{loss})"

    def _facts(self) -> dict[str, Any]:
        has = "none" if self.natural_loss is None else "yes"
        return {**self.layout._facts(), "steps of an episode": self.n_steps, "natural loss": has}

    def _picture(self) -> str:
        return self.layout._picture()


def _as_numbers(marks: Any) -> Any:
    """A pair table of truth values with 0 and 1 in their place; other tables as they are."""
    if isinstance(marks, np.ndarray):
        return marks.astype(np.float64) if marks.dtype == np.bool_ else marks
    if not is_sequence(marks):
        return marks
    layers = [any_array(layer, f"rows: layer {k}") for k, layer in enumerate(marks)]
    return [layer.astype(np.float64) if layer.dtype == np.bool_ else layer for layer in layers]


def _check_known_rows(layout: Layout, flat: Floats) -> None:
    """What the layout declares known must be true."""
    if layout.known is None:
        return
    known, transition = layout.known
    off = np.repeat(known, layout.row_sizes()) & (abs(flat - transition) > ROW_SUM_TOLERANCE)
    if off.any():
        row = int(layout.entry_rows()[np.flatnonzero(off)[0]])
        raise InvalidInput(
            f"transitions: {layout.name_of_row(row)} is not what known_rows of the layout says; "
            "make the two agree"
        )


def _checked_rows(layout: Layout, transitions: Any) -> Floats:
    flat = layout.flat_triples(transitions, "transitions", fill=True)
    if flat.min() < 0.0:
        entry = int(flat.argmin())
        row = int(np.searchsorted(layout.row_start, entry, "right")) - 1
        raise InvalidInput(
            f"transitions: negative probability {flat[entry]} at {layout.name_of_row(row)}; "
            "use values of at least zero"
        )
    sums = np.add.reduceat(flat, layout.row_start[:-1])
    wrong = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            f"transitions: probabilities sum to {sums[row]} at {layout.name_of_row(row)}; "
            "divide the row by its sum, in float64"
        )
    return normalised_rows(flat, layout.row_start)
