"""UCRL2 on layers: a new optimistic policy every epoch; all episodes count, or the last W."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.empirical import Model, cell_of, count, mean_loss, refresh_row, visits_of
from ..model.graph import Floats, Graph, row_size
from ..model.row_status import BOUND, FREE, is_known
from ..model.visits import Counts
from ..planning.linear_maximum import Reach
from ..planning.optimism import optimistic_response
from ..runtime.indices import int64
from ..runtime.storage import Lasting, Number
from ..runtime.targets import kernel, leaf
from ..sets.ball import BallRows
from .interface import bandit_update, epoch_and_width

# Places in ``clock``.
EPOCH, EPISODES = 0, 1


class Widths(NamedTuple):
    """Parameters of the confidence widths."""

    loss_scale: Number[float]
    transition_scale: Number[float]
    loss_pairs: Number[float]  # 2 |X| |A| / delta
    transition_pairs: Number[float]  # 2 |A| / delta


class Window(NamedTuple):
    """The last W episodes in a ring; no rows when every episode counts."""

    path: Lasting[Counts]  # (W, L)
    entries: Lasting[NDArray[np.int64]]  # (W, L) where the ways are counted
    losses: Lasting[Floats]  # (W, L)


class UCRL2State(NamedTuple):
    """Counters, the confidence set of the epoch, and its optimistic values."""

    policy: Lasting[Floats]  # (R,)
    widths: Widths
    model: Model
    opened: Lasting[Counts]  # (R,) N at the start of the epoch, at the row that counts
    within: Lasting[Counts]  # (R,) visits in this epoch, likewise
    clock: Lasting[Counts]  # (2,) epoch, episodes
    window: Window
    rows: BallRows
    costs: Lasting[Floats]  # (R,) optimistic mean losses
    reach: Reach
    q: Lasting[Floats]  # (R,)
    value: Lasting[Floats]  # (S,)


@kernel
def record(graph: Graph, state: UCRL2State, states: Counts, path: Counts, losses: Floats) -> bool:
    """Count an episode, forget the one that leaves the window; True when the epoch is over."""
    model, window = state.model, state.window
    size = window.path.shape[0]
    place = state.clock[EPISODES] % size if size > 0 else 0
    full = size > 0 and state.clock[EPISODES] >= size
    state.clock[EPISODES] += 1
    over = size > 0 and state.clock[EPISODES] % size == 0
    for k in range(path.shape[0]):
        if full:
            old = window.path[place, k]
            count(model, old, window.entries[place, k], window.losses[place, k], -1)
        r = path[k]
        cell = cell_of(graph, model, r, states[k + 1])
        count(model, r, cell, losses[k], 1)
        if size > 0:
            window.path[place, k] = r
            window.entries[place, k] = cell
            window.losses[place, k] = losses[k]
        counter = int64(model.counter[r])
        state.within[counter] += 1
        over = over or state.within[counter] >= max(1, state.opened[counter])
    return over


@kernel
def rebuild_ball(graph: Graph, model: Model, r: int, log_transition: float, rows: BallRows) -> None:
    """The ball of a row that was visited and is not known."""
    rows.width[r] = math.sqrt(row_size(graph, r) * log_transition / visits_of(model, r))
    if rows.width[r] < 2.0 and row_size(graph, r) > 1:
        refresh_row(graph, model, r, rows.centre)
        rows.status[r] = BOUND


@kernel
def rebuild(graph: Graph, state: UCRL2State) -> None:
    """The confidence set of a new epoch, from the counters."""
    widths, model, rows = state.widths, state.model, state.rows
    steps = (graph.layer_start.shape[0] - 2) * float(state.clock[EPISODES]) + 1.0
    log_loss = widths.loss_scale * 3.5 * math.log(widths.loss_pairs * steps)
    log_transition = widths.transition_scale * 14.0 * math.log(widths.transition_pairs * steps)
    for r in range(state.costs.shape[0]):
        n = visits_of(model, r)
        state.opened[r] = model.pairs[r]
        state.within[r] = 0
        state.costs[r] = 0.0
        if not is_known(rows, r):
            rows.status[r] = FREE
        if n > 0:
            state.costs[r] = max(0.0, mean_loss(model, r) - math.sqrt(log_loss / n))
            if not is_known(rows, r):
                rebuild_ball(graph, model, r, log_transition, rows)


@bandit_update(UCRL2State)
@kernel
def update(graph: Graph, state: UCRL2State, states: Counts, path: Counts, losses: Floats) -> None:
    """Count; when the epoch is over, plan optimistically for the next one."""
    if record(graph, state, states, path, losses):
        state.clock[EPOCH] += 1
        rebuild(graph, state)
        optimistic_response(
            graph, state.rows, state.costs, state.reach, state.q, state.value, state.policy
        )


@epoch_and_width.register(UCRL2State)
@leaf
def epoch_of_ucrl2(state: UCRL2State) -> tuple[int, float]:
    return state.clock[EPOCH], 0.0
