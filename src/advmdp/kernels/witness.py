"""Episodes of a mirror-descent learner with a witness: everything that the lemmas sum over.

The witness sees the true transition and the learner's inside.  It notes, before each update, the
bounds u_t and l_t of every pair and the set of the epoch, and after it the estimates; it changes
nothing, so a watched run has the same bits as an unwatched one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .episode import Ledger, World, note_belief, note_estimates, note_projection, open_episode
from .graph import Floats, Graph, layer_begin, layer_end, n_layers, row_begin, row_size
from .greedy import Reach, best_row, sort_layer
from .losses import LossProgram, fill_losses, observe_path
from .mirror import Learner, begin_update
from .projection import project
from .rows import BOX, SIMPLEX
from .signed import linear
from .targets import begin_episode_in_step, kernel
from .upper_occupancy import upper_occupancies
from .visits import BERNSTEIN, EPOCH, Counts, settle

# Places in ``Witness.worst``: largest q^ - u; largest q - u while P is in the set, and while not;
# least factor on the log term with which every set so far would have held P.
ITERATE_ABOVE, TRUTH_ABOVE, LOST_TRUTH_ABOVE, LEAST_SCALE = 0, 1, 2, 3
# Places in ``Witness.hedge``: sums of <q^, l^> and of <q^, l^^2>.
INNER, SQUARE = 0, 1
# Places in ``Witness.counts``: epoch looked at last, epochs whose set misses P, whether this one
# does, episodes in such epochs, rows looked at, those of them whose set says anything.
LOOKED, MISSED, MISSING, LOST_EPISODES, ROWS, TIGHT_ROWS = 0, 1, 2, 3, 4, 5

ROUNDING = 1e-12


class Witness(NamedTuple):
    """Running sums; t runs over episodes, q = q_t(x, a) is the true occupancy."""

    bounds: bool  # whether u_t and l_t of all pairs are wanted: |X| times the work
    upper: Floats  # (R,) u_t
    lower: Floats  # (R,) the least occupancy over the set
    spread: Floats  # (R,) sum of max(u - q, q - l): the key lemma's sum at its worst
    excess: Floats  # (R,) sum of l^ - (q / u) l
    bare: Floats  # (R,) the same for the estimator without gamma, 1{visited} l / u
    fed: Floats  # (R,) sum of l^
    inverse: Floats  # (L,) sum of q / max(1, N), per layer
    root: Floats  # (L,) sum of q / sqrt(max(1, N))
    seen_inverse: Floats  # (L,) the same two with 1{visited} for q
    seen_root: Floats  # (L,)
    low: Floats  # (E,) what all boxes so far have in common
    high: Floats  # (E,)
    hedge: Floats  # (2,)
    worst: Floats  # (4,)
    counts: Counts  # (6,)


@kernel
def least_reach(
    graph: Graph, target: int, k: int, policy: Floats, learner: Learner, reach: Reach
) -> float:
    """min over the set of q(target) = 1 - max of the chance to miss it; see ``largest_reach``."""
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        reach.value[x] = 0.0 if x == target else 1.0
    for back in range(k):
        here = k - 1 - back
        sort_layer(graph, here + 1, reach)
        for y in range(layer_begin(graph, here), layer_end(graph, here)):
            total = 0.0
            for r in range(y * graph.n_actions, (y + 1) * graph.n_actions):
                weight = linear(policy[r])
                if weight > 0.0:
                    total += weight * best_row(graph, r, here, learner.rows, reach)
            reach.value[y] = total
    return max(1.0 - reach.value[0], 0.0)


@kernel
def scale_to_hold(graph: Graph, r: int, transitions: Floats, learner: Learner) -> float:
    """The factor on the log term with which this row's set would just hold the truth."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    n = learner.visits.pairs[learner.visits.counter[r]]
    log_term = learner.rates.log_term
    if n == 0 or size == 1:
        return 0.0
    scale = 0.0
    distance = 0.0
    for j in range(size):
        centre = learner.visits.triples[learner.visits.cell[r] + j] / n
        away = abs(transitions[begin + j] - centre)
        distance += away
        # 2 sqrt(centre s) + 14/3 s = away, with s = scale * log_term / max(1, N - 1), Eq. (width)
        root = (math.sqrt(centre + 14.0 / 3.0 * away) - math.sqrt(centre)) * 3.0 / 14.0
        scale = max(scale, root * root * max(1, n - 1) / log_term)
    if learner.rates.shape == BERNSTEIN:
        return scale
    return distance * distance * n / (2.0 * size * log_term)  # the ball: distance = its radius


@kernel
def holds_truth(graph: Graph, r: int, transitions: Floats, learner: Learner) -> bool:
    """Whether the learner's own set of row r contains P."""
    rows = learner.rows
    begin = row_begin(graph, r)
    if rows.kind[r] == SIMPLEX:
        return True
    distance = 0.0
    for j in range(row_size(graph, r)):
        p = transitions[begin + j]
        if rows.kind[r] == BOX and (
            p < rows.lower[begin + j] - ROUNDING or p > rows.upper[begin + j] + ROUNDING
        ):
            return False
        distance += abs(p - rows.lower[begin + j])
    return rows.kind[r] == BOX or distance <= rows.width[r] + ROUNDING


@kernel
def look_at_set(graph: Graph, transitions: Floats, learner: Learner, witness: Witness) -> None:
    """Once for every epoch: is P in its set, and how much does the set say."""
    counts = witness.counts
    if counts[LOOKED] == learner.visits.clock[EPOCH]:
        return
    counts[LOOKED] = learner.visits.clock[EPOCH]
    counts[MISSING] = 0
    for r in range(learner.measure.policy.shape[0]):
        if row_size(graph, r) > 1:
            counts[ROWS] += 1
            counts[TIGHT_ROWS] += 1 if learner.rows.kind[r] != SIMPLEX else 0
        scale = scale_to_hold(graph, r, transitions, learner)
        witness.worst[LEAST_SCALE] = max(witness.worst[LEAST_SCALE], scale)
        if not holds_truth(graph, r, transitions, learner):
            counts[MISSING] = 1
    counts[MISSED] += counts[MISSING]
    if learner.rates.shape == BERNSTEIN:
        for e in range(witness.low.shape[0]):
            witness.low[e] = max(witness.low[e], learner.rows.lower[e])
            witness.high[e] = min(witness.high[e], learner.rows.upper[e])


@kernel
def look_at_bounds(graph: Graph, learner: Learner, ledger: Ledger, witness: Witness) -> None:
    """u_t and l_t of every pair, against q_t and q^_t."""
    measure = learner.measure
    reach = learner.reach
    worst = witness.worst
    upper_occupancies(graph, measure.policy, learner.rows, reach, witness.upper)
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            least = least_reach(graph, x, k, measure.policy, learner, reach)
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                weight = linear(measure.policy[r])
                q = ledger.mass[x] * weight
                u = witness.upper[r]
                witness.lower[r] = weight * least
                witness.spread[r] += max(u - q, q - witness.lower[r])
                if u > 0.0:
                    witness.excess[r] -= q / u * ledger.losses[r]
                    witness.bare[r] -= q / u * ledger.losses[r]
                worst[ITERATE_ABOVE] = max(
                    worst[ITERATE_ABOVE], linear(measure.mass[x]) * weight - u
                )
                place = LOST_TRUTH_ABOVE if witness.counts[MISSING] == 1 else TRUTH_ABOVE
                worst[place] = max(worst[place], q - u)


@kernel
def look_before(graph: Graph, world: World, learner: Learner, ledger: Ledger, w: Witness) -> None:
    """Everything of episode t that is known before the update; N is that of the epoch's start."""
    look_at_set(graph, world.transitions, learner, w)
    w.counts[LOST_EPISODES] += w.counts[MISSING]
    if w.bounds:
        look_at_bounds(graph, learner, ledger, w)
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                q = ledger.mass[x] * linear(learner.measure.policy[r])
                n = float(max(1, learner.visits.opened[learner.visits.counter[r]]))
                w.inverse[k] += q / n
                w.root[k] += q / math.sqrt(n)
        n = float(max(1, learner.visits.opened[learner.visits.counter[ledger.path[k]]]))
        w.seen_inverse[k] += 1.0 / n
        w.seen_root[k] += 1.0 / math.sqrt(n)


@kernel
def look_after(learner: Learner, ledger: Ledger, witness: Witness) -> None:
    """The estimates of episode t."""
    noted = learner.path
    for k in range(ledger.path.shape[0]):
        r = ledger.path[k]
        estimate = noted.estimate[k]
        witness.fed[r] += estimate
        witness.excess[r] += estimate
        witness.hedge[INNER] += noted.occupancy[k] * estimate
        witness.hedge[SQUARE] += noted.occupancy[k] * estimate * estimate
        if witness.bounds and witness.upper[r] > 0.0:
            witness.bare[r] += ledger.path_losses[k] / witness.upper[r]


@kernel
def play_watched(
    graph: Graph,
    world: World,
    program: LossProgram,
    ledger: Ledger,
    start: int,
    stop: int,
    learner: Learner,
    wide: bool | None,
    witness: Witness,
) -> int:
    """``play_mirror`` for bandit learners, with a witness."""
    for episode in range(start, stop):
        begin_episode_in_step()
        fill_losses(program, world.seed0, world.seed1, episode, ledger.losses)
        open_episode(graph, world, learner.measure.policy, episode, ledger)
        note_belief(graph, learner.measure, ledger)
        look_before(graph, world, learner, ledger, witness)
        moves = begin_update(
            graph, learner, ledger.states, ledger.path, ledger.path_losses, ledger.losses
        )
        note_estimates(learner.path, ledger)
        look_after(learner, ledger, witness)
        observe_path(program, ledger.path)
        if moves:
            if not project(graph, learner.measure, learner.rows, learner.solver, wide, None):
                return episode
            note_projection(learner.solver, ledger)
        settle(learner.visits)
    # the set of episode T + 1 was used for q_{T+1}: it belongs to the first T updates
    look_at_set(graph, world.transitions, learner, witness)
    return stop
