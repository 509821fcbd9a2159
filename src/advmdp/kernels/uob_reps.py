"""One update of Algorithm UOB-REPS, line by line, in three acts.

``begin_update``  upper occupancy bounds, loss estimates, counters, epoch and bounds, re-weighting;
``project``       the mirror-descent projection onto the set of the NEXT episode;
``settle``        the episode is final.  An episode that could not be certified is taken back
                  with ``undo_update`` instead, and the learner is what it was before.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .dual import Measure
from .graph import Floats, Graph
from .projection import Solver, project
from .rows import TransitionSet
from .signed import linear
from .targets import kernel
from .upper_occupancy import Reach, largest_reach
from .visits import Counts, Visits, rebuild, record, settle, undo


class Rates(NamedTuple):
    """The constants of a run."""

    eta: float  # learning rate
    gamma: float  # implicit exploration
    log_term: float  # ln(T |X| |A| / delta) of the widths, times its multiplier
    shape: int  # visits.BERNSTEIN or visits.WEISSMAN


class Path(NamedTuple):
    """What the update knows of the L visited pairs."""

    bound: Floats  # (L,) u_t
    estimate: Floats  # (L,) the estimated losses
    occupancy: Floats  # (L,) q^_t
    old_policy: Floats  # (L,) pi_t before re-weighting


class Learner(NamedTuple):
    """The whole state of the learner, and its work space."""

    rates: Rates
    measure: Measure
    rows: TransitionSet
    visits: Visits
    solver: Solver
    reach: Reach
    path: Path


@kernel
def tilt_policy(policy: Floats, r: int, exponent: float) -> None:
    """Multiply the weight of one row by e^exponent (signed storage)."""
    if policy[r] > 0.0:
        policy[r] *= math.exp(exponent)
    elif policy[r] < 0.0:
        policy[r] += exponent


@kernel
def begin_update(
    graph: Graph, learner: Learner, states: Counts, path: Counts, losses: Floats
) -> bool:
    """Everything before the projection; False when the iterate does not move."""
    measure = learner.measure
    noted = learner.path
    lost = False
    for k in range(path.shape[0]):
        r = path[k]
        reach = largest_reach(graph, states[k], k, measure.policy, learner.rows, learner.reach)
        noted.bound[k] = linear(measure.policy[r]) * reach
        noted.estimate[k] = losses[k] / (noted.bound[k] + learner.rates.gamma)
        noted.occupancy[k] = linear(measure.mass[states[k]]) * linear(measure.policy[r])
        noted.old_policy[k] = measure.policy[r]
        lost = lost or noted.estimate[k] > 0.0
    opens = record(graph, learner.visits, states, path)
    if opens:
        rebuild(graph, learner.visits, learner.rows, learner.rates.log_term, learner.rates.shape)
    if not lost and not opens:
        return False
    for k in range(path.shape[0]):
        tilt_policy(measure.policy, path[k], -learner.rates.eta * noted.estimate[k])
    return True


@kernel
def update(
    graph: Graph,
    learner: Learner,
    wide: bool | None,
    states: Counts,
    path: Counts,
    losses: Floats,
) -> bool:
    """One whole update; False when the projection is pending for the safe path."""
    if begin_update(graph, learner, states, path, losses) and not project(
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
def undo_update(graph: Graph, learner: Learner, states: Counts, path: Counts) -> None:
    """Take back ``begin_update``."""
    for k in range(path.shape[0]):
        learner.measure.policy[path[k]] = learner.path.old_policy[k]
    undo(graph, learner.visits, learner.rows, states, path, learner.rates.shape)
