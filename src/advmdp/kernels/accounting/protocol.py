"""What the protocol loop does around ``policy()`` and ``update()``, in a few calls from Python.

A call costs as much as the arrays that it is handed: a whole learner's state takes longer than an
episode of a small world.  So these take the few arrays that they read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats, Graph, layer_begin, n_layers
from ..model.losses import LossProgram, fill_losses, observe_path
from ..model.trajectory import is_policy
from ..model.visits import Counts
from ..runtime.targets import kernel
from ..sets.interface import mean_width
from .episode import open_episode
from .ledger import ESTIMATED, PROJECTIONS, WORST_GAP, WORST_RESIDUAL, Ledger, World


@kernel
def move_of_world(
    graph: Graph,
    world: World,
    program: LossProgram | None,
    policy: Floats,
    episode: int,
    ledger: Ledger,
    within: Counts,
    actions: Counts,
) -> bool:
    """The losses and the trajectory of an episode, also numbered within its layers.

    Without a program the ledger holds the losses.  False, and nothing is done, for what is not a
    policy.
    """
    if not is_policy(policy, graph.n_actions):
        return False
    if program is not None:
        fill_losses(program, world.seed0, world.seed1, episode, ledger.losses)
    open_episode(graph, world, policy, episode, ledger)
    if program is not None:
        observe_path(program, ledger.path)
    for k in range(n_layers(graph)):
        within[k] = ledger.states[k] - layer_begin(graph, k)
        actions[k] = ledger.path[k] % graph.n_actions
    within[n_layers(graph)] = 0
    return True


@kernel
def width_of(rows: Any) -> float:
    """``mean_width`` of any set."""
    width: float = mean_width(rows)
    return width


@kernel
def note_path(path: Counts, estimates: Floats, occupancy: Floats, ledger: Ledger) -> None:
    """Add the estimates of the visited pairs to the account."""
    for k in range(path.shape[0]):
        ledger.estimated[path[k]] += estimates[k]
        ledger.sums[ESTIMATED] += occupancy[k] * estimates[k]


@kernel
def note_step(counts: NDArray[np.int64], figures: Floats, ledger: Ledger) -> None:
    """Add the certificate of a step to the account: its counts, and its two worst figures."""
    for i in range(PROJECTIONS):
        ledger.counts[i] += counts[i]
    ledger.counts[PROJECTIONS] += 1
    for i in (WORST_RESIDUAL, WORST_GAP):
        ledger.worst[i] = max(ledger.worst[i], figures[i])
