"""The loss processes, in one place (``advmdp.losses``).

======================  ==========================================================================
``Stochastic``          coin flips with fixed means
``Switching``           one table after the other
``Majority``            usual losses with adverse stretches; one fixed policy stays the best
``Drifting``            a smooth move between two tables and back
``Corrupted``           coin flips with a number of corrupted episodes
``Replayed``            recorded tables
``Adaptive``            raises the losses of what was played much lately
``Custom``              a function of the user's
======================  ==========================================================================

Each has ``begin(layout, seed)``, which checks the tables against the layout and returns a
``LossStream``.  A process can be begun any number of times; its streams share nothing that changes.

>>> import numpy as np
>>> from advmdp.layout import Layout
>>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
>>> process = Stochastic(np.full(layout.n_rows, 0.5))
>>> first, again = process.begin(layout, seed=3), process.begin(layout, seed=3)
>>> bool((first.table(7) == again.table(7)).all())
True
"""

from __future__ import annotations

from advmdp.world.loss_streams import LossProcess, LossStream
from advmdp.world.oblivious_losses import (
    Corrupted,
    Drifting,
    Majority,
    Replayed,
    Stochastic,
    Switching,
)
from advmdp.world.reactive_losses import Adaptive, Custom, History, PlayedEpisode

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
