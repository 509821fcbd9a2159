"""Initial arrays of planners: the transition they plan with, and the losses they remember."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.kernels.model.recent import Recent
from advmdp.kernels.model.transition import Transition
from advmdp.layout import Floats, Layout
from advmdp.steps.confidence import KnownTransition

MOST_REMEMBERED = 2**28  # losses in a ring; larger ones are refused before they are allocated


def known_transition(layout: Layout, transitions: Any) -> Transition:
    """The true transition: nothing to count."""
    chance = np.array(KnownTransition(layout, transitions).rows.transition)
    return _transition(layout, chance, estimated=False, prior=0.0)


def estimated_transition(layout: Layout, prior: float) -> Transition:
    """An estimate before the first episode: rows lead everywhere alike, unless they are known."""
    sizes = layout.row_sizes()
    chance = np.repeat(1.0 / sizes, sizes)
    if layout.known is not None:
        rows, distribution = layout.known
        of_known = np.repeat(rows.astype(np.bool_), sizes)
        chance[of_known] = distribution[of_known]
    return _transition(layout, chance, estimated=True, prior=prior)


def _transition(layout: Layout, chance: Any, *, estimated: bool, prior: float) -> Transition:
    n_rows, n_entries = (layout.n_rows, layout.n_entries) if estimated else (0, 0)
    rows = np.arange(layout.n_rows)
    counter = rows if layout.counter_row is None else layout.counter_row
    known = np.zeros(layout.n_rows, dtype=np.uint8)
    if layout.known is not None:
        known[:] = layout.known[0]
    return Transition(
        estimated=estimated,
        prior=prior,
        chance=chance,
        pairs=np.zeros(n_rows, dtype=np.int64),
        triples=np.zeros(n_entries, dtype=np.int64),
        counter=counter.astype(np.uint32),
        known=known,
    )


def mean_transition(layout: Layout, transition: Transition) -> Floats:
    """The estimate that imagines nothing: visits, and ``prior`` more that go everywhere alike."""
    sizes, begin = layout.row_sizes(), layout.row_start[:-1]
    counter = transition.counter.astype(np.int64)
    place = np.arange(layout.n_entries) + np.repeat(begin[counter] - begin, sizes)
    visits = np.repeat(transition.pairs[counter] + transition.prior, sizes)
    share = np.repeat(transition.prior / sizes, sizes)
    known = np.repeat(transition.known == 1, sizes)
    estimate = (transition.triples[place] + share) / visits
    return np.where(known, transition.chance, estimate)


def nothing_remembered(layout: Layout, n_episodes: int, name: str) -> Recent:
    """An empty ring for the losses of so many episodes."""
    if n_episodes * layout.n_rows > MOST_REMEMBERED:
        raise InvalidInput(
            f"{n_episodes} episodes of {layout.n_rows} pairs are too many to remember; "
            f"at most {MOST_REMEMBERED // layout.n_rows}",
            field=name,
        )
    return Recent(np.zeros((n_episodes, layout.n_rows)), np.zeros(layout.n_rows))
