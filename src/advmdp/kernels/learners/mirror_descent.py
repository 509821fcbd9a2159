"""One update of a mirror-descent learner, line by line as in Algorithm UOB-REPS, in three acts.

``begin_update``  loss estimates, counters, epoch and bounds, re-weighting;
``project``       the projection onto the set of the NEXT episode;
``settle``        the episode is final.  An episode that could not be certified is taken back
                  with ``undo_update`` instead, and the learner is what it was before.

The learners of the family differ in what divides the observed losses and in the confidence set:

    UPPER    l / (u + gamma)    UOB-REPS: u the largest occupancy over the set
    PRINTED  l / (u + gamma)    the same, u by the supplement's Comp-Prob-UB as it is printed
    OWN      l / (q^ + gamma)   O-REPS with bandit feedback, Bandit UC-O-REPS; q^(x) at least reach
    FULL     l                  full information: O-REPS, UC-O-REPS
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kl.dual import Measure
from ..kl.merged_rows import UNKNOWN
from ..kl.projection import Solver, project
from ..model.graph import Floats, Graph
from ..model.log_storage import TINY, linear
from ..model.visits import KNOWN, MOVES, OPENS, Counts, Visits, rebuild, record, settle, undo
from ..runtime.indices import int64
from ..runtime.targets import kernel, leaf
from ..runtime.threads import barrier, shared
from ..sets.linear_maximum import Reach
from ..sets.rows import TransitionSet
from ..sets.upper_occupancy import largest_reach

UPPER, PRINTED, OWN, FULL = 0, 1, 2, 3

# The largest eta l^ of one step: a factor of e^-300.  It is at most eta / gamma, which is 1 in the
# theorem and 200 in the preset; larger ratios and estimators without exploration can meet the
# limit.  Without it ten times as many runs at absurd rates end uncertified.
STEEPEST = 300.0


class Rates(NamedTuple):
    """The constants of a run."""

    eta: float  # learning rate
    gamma: float  # implicit exploration
    log_term: float  # ln(T |X| |A| / delta) of the widths, times its multiplier
    floor: float  # alpha of the shifted set: every transition keeps at least this
    reach: float  # alpha of the estimator OWN: no state is taken to be rarer than this
    shape: int  # which set: visits.BERNSTEIN, WEISSMAN or KNOWN
    estimator: int  # UPPER, PRINTED, OWN or FULL


class Path(NamedTuple):
    """What the update knows of the L visited pairs."""

    bound: Floats  # (L,) what divides the losses: u_t or q^_t
    estimate: Floats  # (L,) the estimated losses
    occupancy: Floats  # (L,) q^_t


class Learner(NamedTuple):
    """The whole state of the learner, and its work space."""

    rates: Rates
    measure: Measure
    rows: TransitionSet
    visits: Visits
    solver: Solver
    reach: Reach
    path: Path
    old_policy: Floats  # (R,) pi_t of re-weighted rows


@leaf
def tilt_policy(policy: Floats, r: int, exponent: float) -> None:
    """Multiply the weight of one row by e^exponent (signed storage)."""
    if policy[r] > 0.0:
        tilted = policy[r] * math.exp(exponent)
        policy[r] = tilted if tilted >= TINY else math.log(policy[r]) + exponent
    elif policy[r] < 0.0:
        policy[r] += exponent


@kernel
def estimate_losses(
    graph: Graph, learner: Learner, states: Counts, path: Counts, losses: Floats
) -> None:
    """Bounds and estimates of the visited pairs, with the set of THIS episode."""
    measure = learner.measure
    noted = learner.path
    estimator = learner.rates.estimator
    for k in range(path.shape[0]):
        r = path[k]
        share = linear(measure.policy[r])
        noted.occupancy[k] = linear(measure.mass[states[k]]) * share
        if estimator == FULL:
            noted.bound[k] = 1.0
        elif estimator == OWN:
            noted.bound[k] = max(linear(measure.mass[states[k]]), learner.rates.reach) * share
        else:
            noted.bound[k] = share * largest_reach(
                graph,
                states[k],
                k,
                measure.policy,
                learner.rows,
                learner.reach,
                estimator == PRINTED,
            )
    for k in shared(0, path.shape[0]):
        noted.estimate[k] = losses[k]
        if estimator != FULL:
            noted.estimate[k] /= max(noted.bound[k] + learner.rates.gamma, 1e-300)
    barrier()


@kernel
def begin_update(
    graph: Graph,
    learner: Learner,
    states: Counts,
    path: Counts,
    path_losses: Floats,
    all_losses: Floats,
) -> bool:
    """Everything before the projection; False when the iterate does not move.

    ``all_losses`` is read under full information only, and may be empty otherwise.
    """
    policy = learner.measure.policy
    rates = learner.rates
    noted = learner.path
    estimate_losses(graph, learner, states, path, path_losses)
    opens = False
    if rates.shape == KNOWN:
        learner.visits.clock[OPENS] = 0
    else:
        opens = record(graph, learner.visits, states, path)
        if opens:
            rebuild(graph, learner.visits, learner.rows, rates.log_term, rates.floor, rates.shape)
            forget_tightness(learner)
    lost = False
    if rates.estimator == FULL:
        for r in range(policy.shape[0]):
            lost = lost or all_losses[r] > 0.0
        for r in shared(0, policy.shape[0]):
            learner.old_policy[r] = policy[r]
            tilt_policy(policy, r, -rates.eta * all_losses[r])
    else:
        for k in range(path.shape[0]):
            lost = lost or noted.estimate[k] > 0.0
        for k in shared(0, path.shape[0]):
            learner.old_policy[path[k]] = policy[path[k]]
            tilt_policy(policy, path[k], -min(rates.eta * noted.estimate[k], STEEPEST))
    barrier()
    learner.visits.clock[MOVES] = 1 if lost or opens else 0
    return lost or opens


@kernel
def update(
    graph: Graph,
    learner: Learner,
    wide: bool | None,
    states: Counts,
    path: Counts,
    path_losses: Floats,
    all_losses: Floats,
) -> bool:
    """One whole update; False when the projection is pending for the safe path."""
    if begin_update(graph, learner, states, path, path_losses, all_losses) and not project(
        graph, learner.measure, learner.rows, learner.solver, wide, None
    ):
        return False
    settle(learner.visits)
    return True


@kernel
def finish_safely(graph: Graph, learner: Learner, wide: bool | None) -> bool:
    """The pending projection on the safe path."""
    if not project(graph, learner.measure, learner.rows, learner.solver, wide, True):
        return False
    settle(learner.visits)
    return True


@kernel
def forget_tightness(learner: Learner) -> None:
    """Rows with new bounds have to be looked at: what was known of them is about the old ones."""
    visits = learner.visits
    for r in range(visits.counter.shape[0]):
        if visits.marked[int64(visits.counter[r])] != 0:
            learner.solver.dual.tight[r] = UNKNOWN


@kernel
def undo_update(graph: Graph, learner: Learner, states: Counts, path: Counts) -> None:
    """Take back ``begin_update``."""
    policy = learner.measure.policy
    if learner.rates.estimator == FULL:
        for r in range(policy.shape[0]):
            policy[r] = learner.old_policy[r]
    else:
        for k in range(path.shape[0]):
            policy[path[k]] = learner.old_policy[path[k]]
    if learner.rates.shape != KNOWN:
        undo(graph, learner.visits, learner.rows, states, path, learner.rates.shape)
