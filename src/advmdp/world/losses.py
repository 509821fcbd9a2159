"""The loss processes (``advmdp.losses``).

======================  ==========================================================================
``Stochastic``          Bernoulli losses with fixed means
``Switching``           several tables in turn
``Majority``            usual losses with adverse stretches; one fixed policy stays the best
``Drifting``            a smooth, periodic change from one table to another and back
``Corrupted``           Bernoulli losses with a number of corrupted episodes
``Replayed``            recorded tables
``Adaptive``            raises the losses of pairs that were played often recently
``Custom``              a user-written function
======================  ==========================================================================

Each has ``begin(layout, seed)``, which checks the tables against the layout and returns a
``LossStream``.  A process can be begun any number of times; its streams share no mutable state.

>>> import numpy as np
>>> from advmdp.layout import Layout
>>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
>>> process = Stochastic(np.full(layout.n_rows, 0.5))
>>> first, again = process.begin(layout, seed=3), process.begin(layout, seed=3)
>>> bool((first.table(7) == again.table(7)).all())
True
"""

from __future__ import annotations

from advmdp.world.adaptive_losses import Adaptive, Custom, History, PlayedEpisode
from advmdp.world.loss_streams import LossProcess, LossStream
from advmdp.world.oblivious_losses import (
    Corrupted,
    Drifting,
    Majority,
    Replayed,
    Stochastic,
    Switching,
)

__all__ = [
    "Adaptive",
    "Corrupted",
    "Custom",
    "Drifting",
    "History",
    "LossProcess",
    "LossStream",
    "Majority",
    "PlayedEpisode",
    "Replayed",
    "Stochastic",
    "Switching",
]
