"""The relative-entropy step: q_{t+1} = argmin over the set of eta <q, l> + D(q || q_t).

Losses multiply the policy by e^{-eta l}, the unconstrained minimiser; the projection does the rest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..lanes.passes import HAS_LANES
from ..model.graph import Floats, Graph
from ..model.log_storage import TINY
from ..model.measure import Measure
from ..model.visits import Counts, Visits
from ..runtime.indices import int64
from ..runtime.storage import Scratch
from ..runtime.targets import kernel, leaf
from ..runtime.threads import shared
from ..sets.held import UNKNOWN
from ..steps import interface
from ..steps.interface import COOPERATIVE, Certificate
from .disturbance import forget_disturbance, note_disturbance
from .known.passes import tilt_weights
from .linear.kept_factor import drop_factor
from .logs.geometric_mean import pull_towards
from .merged.carried_lines import forget_line_of
from .projection import Solver, project
from .safe.continuation import project_safely

# The largest eta l of one step: a factor of e^-300.  It is at most eta / gamma, which is 1 in the
# theorem and 200 in the preset; larger ratios and estimators without exploration can meet the
# limit.  Without it ten times as many runs at absurd rates end uncertified.
STEEPEST = 300.0


class KLStep(NamedTuple):
    """The iterate, and the work space of its projection."""

    measure: Measure
    solver: Solver
    old_policy: Scratch[Floats]  # (R,) pi_t of re-weighted rows


COOPERATIVE.add(KLStep)
interface.pull_towards.register(KLStep)(pull_towards)


@leaf
def tilt_policy(policy: Floats, r: int, exponent: float) -> None:
    """Multiply the weight of one row by e^exponent (log storage)."""
    if policy[r] > 0.0:
        tilted = policy[r] * math.exp(exponent)
        policy[r] = tilted if tilted >= TINY else math.log(policy[r]) + exponent
    elif policy[r] < 0.0:
        policy[r] += exponent


@interface.add_path_losses.register(KLStep)
@leaf
def tilt_path(graph: Graph, step: KLStep, path: Counts, losses: Floats, eta: float) -> None:
    policy = step.measure.policy
    for k in shared(0, path.shape[0]):
        step.old_policy[path[k]] = policy[path[k]]
        tilt_policy(policy, path[k], -min(eta * losses[k], STEEPEST))


@interface.note_only_path.register(KLStep)
@leaf
def note_tilted_path(step: KLStep, path: Counts) -> None:
    note_disturbance(step.solver.disturbance, path, step.old_policy, step.measure.policy)


@interface.remove_losses.register(KLStep)
@leaf
def untilt_all(graph: Graph, step: KLStep) -> None:
    for r in range(step.old_policy.shape[0]):
        step.measure.policy[r] = step.old_policy[r]


@interface.add_losses.register(KLStep)
@leaf
def tilt_all(graph: Graph, step: KLStep, losses: Floats, eta: float) -> None:
    policy = step.measure.policy
    forget_disturbance(step.solver.disturbance)
    n_rows = policy.shape[0]
    if HAS_LANES:
        if tilt_weights(policy, 0, losses, 0, step.old_policy, 0, n_rows, eta) == 0.0:
            return
        untilt_all(graph, step)
    for r in shared(0, n_rows):
        step.old_policy[r] = policy[r]
        tilt_policy(policy, r, -eta * losses[r])


@interface.replace_hint.register(KLStep)
@leaf
def tilt_to_hint(graph: Graph, step: KLStep, heard: Floats, coming: Floats, eta: float) -> None:
    policy = step.measure.policy
    forget_disturbance(step.solver.disturbance)
    for r in shared(0, policy.shape[0]):
        tilt_policy(policy, r, eta * (heard[r] - coming[r]))


@interface.remove_path_losses.register(KLStep)
@leaf
def untilt_path(graph: Graph, step: KLStep, path: Counts) -> None:
    forget_disturbance(step.solver.disturbance)
    for k in range(path.shape[0]):
        step.measure.policy[path[k]] = step.old_policy[path[k]]


@interface.solve_step.register(KLStep)
@kernel
def solve_by_projection(graph: Graph, step: KLStep, rows: Any, in_logs: bool | None) -> bool:
    if in_logs is None:
        return project(graph, step.measure, rows, step.solver, None)
    return project_safely(graph, step.measure, rows, step.solver)


@interface.certificate_of.register(KLStep)
@leaf
def certificate_of_projection(step: KLStep) -> Certificate:
    return step.solver.certificate


@interface.forget_bounds.register(KLStep)
@kernel
def forget_tightness(graph: Graph, step: KLStep, rows: Any, visits: Visits) -> None:
    """Rows with new bounds have to be looked at: what was known of them is about the old ones."""
    forget_disturbance(step.solver.disturbance)
    for r in range(visits.counter.shape[0]):
        if visits.marked[int64(visits.counter[r])] != 0:
            step.solver.dual.held.tight[r] = UNKNOWN


@interface.forget_everything.register(KLStep)
@leaf
def forget_all_tightness(step: KLStep) -> None:
    forget_disturbance(step.solver.disturbance)
    for r in range(step.old_policy.shape[0]):
        step.solver.dual.held.tight[r] = UNKNOWN
        forget_line_of(r, step.solver.dual)
    drop_factor(step.solver.kept)
