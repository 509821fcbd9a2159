"""A compiled observer of a mirror-descent run: everything that the lemmas sum over.

It sees the true transition and the learner's inside.  It notes, before each update, the bounds u_t
and l_t of every pair and the set of the epoch, and after it the estimates
(``advmdp.kernels.accounting.observers``).  An observed run has the same bits as any other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from advmdp.kernels.accounting.ledger import Ledger, World
from advmdp.kernels.accounting.observers import observe_after, observe_before, observe_end
from advmdp.kernels.learners.mirror.mirror_descent import MirrorState
from advmdp.kernels.model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_size
from advmdp.kernels.model.log_storage import linear
from advmdp.kernels.model.row_status import is_free, is_known
from advmdp.kernels.model.visits import EPOCH, Counts
from advmdp.kernels.planning.upper_occupancy import least_state_occupancy, upper_occupancies
from advmdp.kernels.runtime.indices import int64
from advmdp.kernels.runtime.storage import Choice, Lasting, Scratch
from advmdp.kernels.runtime.targets import kernel
from advmdp.kernels.sets.interface import common_bounds, contains_row, log_scale_to_contain

# Places in ``LemmaObserver.worst``: largest q^ - u; largest q - u while P is in the set, and while
# not; least factor on the log term with which every set so far would have held P.
ITERATE_ABOVE, TRUTH_ABOVE, LOST_TRUTH_ABOVE, LEAST_SCALE = 0, 1, 2, 3
# Places in ``LemmaObserver.hedge``: sums of <q^, l^> and of <q^, l^^2>.
INNER, SQUARE = 0, 1
# Places in ``LemmaObserver.counts``: epoch looked at last, epochs whose set misses P, whether this
# one does, episodes in such epochs, rows looked at, those of them whose set says anything.
LOOKED, MISSED, MISSING, LOST_EPISODES, ROWS, TIGHT_ROWS = 0, 1, 2, 3, 4, 5

ROW_ROUNDING = 1e-12  # of a probability


class LemmaObserver(NamedTuple):
    """Running sums; t runs over episodes, q = q_t(x, a) is the true occupancy."""

    bounds: Choice[bool]  # whether u_t and l_t of all pairs are wanted: |X| times the work
    upper: Scratch[Floats]  # (R,) u_t
    lower: Scratch[Floats]  # (R,) the least occupancy over the set
    spread: Lasting[Floats]  # (R,) sum of max(u - q, q - l): the key lemma's sum at its worst
    excess: Lasting[Floats]  # (R,) sum of l^ - (q / u) l
    bare: Lasting[Floats]  # (R,) the same for the estimator without gamma, 1{visited} l / u
    estimated: Lasting[Floats]  # (R,) sum of l^
    inverse: Lasting[Floats]  # (L,) sum of q / max(1, N), per layer
    root: Lasting[Floats]  # (L,) sum of q / sqrt(max(1, N))
    seen_inverse: Lasting[Floats]  # (L,) the same two with 1{visited} for q
    seen_root: Lasting[Floats]  # (L,)
    low: Lasting[Floats]  # (E,) what all boxes so far have in common
    high: Lasting[Floats]  # (E,)
    hedge: Lasting[Floats]  # (2,)
    worst: Lasting[Floats]  # (4,)
    counts: Lasting[Counts]  # (6,)


@kernel
def visits_before_epoch(state: MirrorState, r: int) -> float:
    """max(1, N) of row r at the start of the epoch."""
    return float(max(1, state.visits.opened[int64(state.visits.counter[r])]))


@kernel
def look_at_set(
    graph: Graph, transitions: Floats, state: MirrorState, observer: LemmaObserver
) -> None:
    """Once for every epoch: is P in its set, and how much does the set say."""
    counts = observer.counts
    visits = state.visits
    if counts[LOOKED] == visits.clock[EPOCH]:
        return
    counts[LOOKED] = visits.clock[EPOCH]
    counts[MISSING] = 0
    for r in range(visits.counter.shape[0]):
        if row_size(graph, r) > 1 and not is_known(state.rows, r):
            counts[ROWS] += 1
            counts[TIGHT_ROWS] += 0 if is_free(state.rows, r) else 1
            if visits.pairs[int64(visits.counter[r])] > 0:
                scale = log_scale_to_contain(
                    graph, r, transitions, visits, state.settings.log_term, state.rows
                )
                observer.worst[LEAST_SCALE] = max(observer.worst[LEAST_SCALE], scale)
        if not contains_row(graph, r, transitions, state.rows, ROW_ROUNDING):
            counts[MISSING] = 1
    counts[MISSED] += counts[MISSING]
    common_bounds(state.rows, observer.low, observer.high)


@kernel
def look_at_bounds(
    graph: Graph, state: MirrorState, ledger: Ledger, observer: LemmaObserver
) -> None:
    """u_t and l_t of every pair, against q_t and q^_t."""
    measure = state.step.measure
    reach = state.reach
    worst = observer.worst
    upper_occupancies(graph, measure.policy, state.rows, reach, observer.upper)
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            least = least_state_occupancy(graph, x, k, measure.policy, state.rows, reach)
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                weight = linear(measure.policy[r])
                q = ledger.mass[x] * weight
                u = observer.upper[r]
                observer.lower[r] = weight * least
                observer.spread[r] += max(u - q, q - observer.lower[r])
                if u > 0.0:
                    observer.excess[r] -= q / u * ledger.losses[r]
                    observer.bare[r] -= q / u * ledger.losses[r]
                worst[ITERATE_ABOVE] = max(
                    worst[ITERATE_ABOVE], linear(measure.mass[x]) * weight - u
                )
                place = LOST_TRUTH_ABOVE if observer.counts[MISSING] == 1 else TRUTH_ABOVE
                worst[place] = max(worst[place], q - u)


@observe_before.register(LemmaObserver)
@kernel
def look_before(
    graph: Graph, world: World, state: MirrorState, ledger: Ledger, observer: LemmaObserver
) -> None:
    """Everything of episode t that is known before the update; N is that of the epoch's start."""
    look_at_set(graph, world.transitions, state, observer)
    observer.counts[LOST_EPISODES] += observer.counts[MISSING]
    if observer.bounds:
        look_at_bounds(graph, state, ledger, observer)
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                q = ledger.mass[x] * linear(state.step.measure.policy[r])
                n = visits_before_epoch(state, r)
                observer.inverse[k] += q / n
                observer.root[k] += q / math.sqrt(n)
        n = visits_before_epoch(state, ledger.path[k])
        observer.seen_inverse[k] += 1.0 / n
        observer.seen_root[k] += 1.0 / math.sqrt(n)


@observe_after.register(LemmaObserver)
@kernel
def look_after(
    graph: Graph, world: World, state: MirrorState, ledger: Ledger, observer: LemmaObserver
) -> None:
    """The estimates of episode t."""
    visited = state.visited
    for k in range(ledger.path.shape[0]):
        r = ledger.path[k]
        estimate = visited.estimate[k]
        observer.estimated[r] += estimate
        observer.excess[r] += estimate
        observer.hedge[INNER] += visited.occupancy[k] * estimate
        observer.hedge[SQUARE] += visited.occupancy[k] * estimate * estimate
        if observer.bounds and observer.upper[r] > 0.0:
            observer.bare[r] += ledger.path_losses[k] / observer.upper[r]


@observe_end.register(LemmaObserver)
@kernel
def look_at_last_set(
    graph: Graph, world: World, state: MirrorState, ledger: Ledger, observer: LemmaObserver
) -> None:
    """The set of episode T + 1 was used for q_{T+1}: it belongs to the first T updates."""
    look_at_set(graph, world.transitions, state, observer)
