"""One update of a mirror-descent learner, line by line as in Algorithm UOB-REPS.

    bound_visits      what divides the losses, from the record of the episode
    estimate_losses   the estimates
    take_in           counters, epoch and bounds, losses into the step's objective
    solve_pending     the step onto the set of the NEXT episode

The learners of the family differ in the set (its type), in the step (its type) and in what divides
the observed losses:

    UPPER    l / (u + gamma)    UOB-REPS: u the largest occupancy over the set
    PRINTED  l / (u + gamma)    the same, u by the supplement's Comp-Prob-UB as it is printed
    OWN      l / (q^ + gamma)   O-REPS with bandit feedback, Bandit UC-O-REPS; q^(x) >= a floor
    FULL     l                  full information: O-REPS, UC-O-REPS

With a baseline (``baseline``), and where only the sum of the losses is seen (``aggregate``), there
are estimates for pairs off the path as well.  With a hint (``hint``) the step is optimistic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.flow import expected_loss
from ...model.graph import Floats, Graph
from ...model.log_storage import linear
from ...model.visits import EPISODES, EPOCH, MOVES, OPENS, Counts, Visits, record, settle
from ...planning.linear_maximum import Reach
from ...planning.path_bounds import bounds_of_path
from ...runtime.dispatch import Borrowed
from ...runtime.storage import Choice, Lasting, Number, Scratch
from ...runtime.targets import kernel, leaf
from ...runtime.threads import barrier, shared
from ...sets.confidence import open_epoch, undo_counts
from ...sets.interface import learns_from_counts, mean_width
from ...steps.interface import (
    COOPERATIVE,
    GAP,
    RESIDUAL,
    add_losses,
    add_path_losses,
    certificate_of,
    forget_bounds,
    moves_without_losses,
    note_only_path,
    observe_episode,
    remove_losses,
    remove_path_losses,
    solve_step,
)
from .. import interface
from .aggregate import estimate_from_sum, is_aggregate
from .baseline import (
    NO_BASELINE,
    Baseline,
    estimate_everywhere,
    forget_losses,
    remember_losses,
)
from .hint import NO_HINT, Hint, hear_next, take_back_hint

UPPER, PRINTED, OWN, FULL = 0, 1, 2, 3


class Settings(NamedTuple):
    """The constants of a run."""

    eta: Number[float]  # learning rate
    gamma: Number[float]  # implicit exploration
    log_term: Number[float]  # ln(T |X| |A| / delta) of the widths, times its multiplier
    least_visit: Number[float]  # alpha of OWN: no state is taken to be rarer than this
    estimator: Choice[int]  # UPPER, PRINTED, OWN or FULL


class VisitedPairs(NamedTuple):
    """What the update found out about the L visited pairs."""

    bound: Lasting[Floats]  # (L,) what divides the losses: u_t or q^_t
    estimate: Lasting[Floats]  # (L,) the estimated losses
    occupancy: Lasting[Floats]  # (L,) q^_t


class MirrorState(NamedTuple):
    """The whole state of the learner, and its work space."""

    settings: Settings
    step: Any  # the iterate, and how it moves
    rows: Any  # the confidence set of the coming episode
    old_rows: Scratch[Any]  # what an episode that is not final has overwritten of it
    visits: Visits
    reach: Reach
    visited: VisitedPairs
    baseline: Baseline
    hint: Hint


class IssuedEpisode(NamedTuple):
    """What is fixed when a policy is issued, and divides the losses when they come.

    For an episode that is played at once these are the learner's live arrays; for feedback that
    comes later, copies.
    """

    policy: Any  # (R,) pi_t
    mass: Any  # (S,) q^_t(x)
    rows: Any  # the confidence set


COOPERATIVE.add(MirrorState)


@interface.current_policy.register(MirrorState)
@leaf
def policy_of_iterate(state: MirrorState) -> Borrowed:
    return Borrowed(state.step.measure.policy)


@kernel
def bound_visits(
    graph: Graph, state: MirrorState, issued: IssuedEpisode, states: Counts, path: Counts
) -> None:
    """What divides the losses of the visited pairs, with the set of the episode's own time."""
    visited = state.visited
    estimator = state.settings.estimator
    printed = estimator == PRINTED
    if estimator == UPPER or printed:
        bounds_of_path(graph, states, issued.policy, issued.rows, state.reach, printed)
    for k in range(path.shape[0]):
        r = path[k]
        share = linear(issued.policy[r])
        visited.occupancy[k] = linear(issued.mass[states[k]]) * share
        if estimator == FULL:
            visited.bound[k] = 1.0
        elif estimator == OWN:
            own = max(linear(issued.mass[states[k]]), state.settings.least_visit)
            visited.bound[k] = own * share
        else:
            visited.bound[k] = share * state.reach.bound[k]


@kernel
def estimate_losses(
    graph: Graph, state: MirrorState, issued: IssuedEpisode, path: Counts, losses: Floats
) -> None:
    """The estimates, once the bounds of the visited pairs are known: of these, or of all pairs."""
    settings = state.settings
    visited = state.visited
    for k in shared(0, losses.shape[0]):
        visited.estimate[k] = losses[k]
        if settings.estimator != FULL:
            visited.estimate[k] /= max(visited.bound[k] + settings.gamma, 1e-300)
    barrier()
    if is_aggregate(state.baseline):
        estimate_from_sum(graph, state.baseline, issued, visited, path, losses)
    elif state.baseline.kind != NO_BASELINE:
        estimate_everywhere(graph, state.baseline, issued, visited, path, settings.gamma)
        remember_losses(state.baseline, path, losses)


@kernel
def take_in(
    graph: Graph,
    state: MirrorState,
    issued: IssuedEpisode,
    states: Counts,
    path: Counts,
    all_losses: Floats,
) -> bool:
    """Counters, epoch and objective of an episode whose losses are estimated."""
    settings = state.settings
    observe_episode(graph, state.step, issued.policy, issued.rows, state.reach)
    opens = False
    if learns_from_counts(state.rows):
        opens = record(graph, state.visits, state.rows.status, states, path)
        if opens:
            open_epoch(graph, state.visits, state.rows, state.old_rows, settings.log_term)
            forget_bounds(graph, state.step, state.rows, state.visits)
    else:
        state.visits.clock[OPENS] = 0
    lost = False
    if settings.estimator == FULL:
        for r in range(all_losses.shape[0]):
            lost = lost or all_losses[r] > 0.0
        add_losses(graph, state.step, all_losses, settings.eta)
    elif state.baseline.kind != NO_BASELINE:
        for r in range(state.baseline.estimate.shape[0]):
            lost = lost or state.baseline.estimate[r] != 0.0
        add_losses(graph, state.step, state.baseline.estimate, settings.eta)
    else:
        for k in range(path.shape[0]):
            lost = lost or state.visited.estimate[k] > 0.0
        add_path_losses(graph, state.step, path, state.visited.estimate, settings.eta)
        if not opens:
            note_only_path(state.step, path)
    barrier()
    if state.hint.kind != NO_HINT:
        episode = state.visits.clock[EPISODES]
        turned = hear_next(
            graph, state.step, state.hint, state.baseline, episode, all_losses, settings.eta
        )
        lost = lost or turned
        barrier()
    moves = lost or opens or moves_without_losses(state.step)
    state.visits.clock[MOVES] = 1 if moves else 0
    return moves


@kernel
def begin_issued_update(
    graph: Graph,
    state: MirrorState,
    issued: IssuedEpisode,
    states: Counts,
    path: Counts,
    path_losses: Floats,
    all_losses: Floats,
) -> bool:
    """Everything before the step; False when the iterate does not move."""
    bound_visits(graph, state, issued, states, path)
    estimate_losses(graph, state, issued, path, path_losses)
    return take_in(graph, state, issued, states, path, all_losses)


@interface.begin_update.register(MirrorState)
@kernel
def begin_update(
    graph: Graph,
    state: MirrorState,
    states: Counts,
    path: Counts,
    path_losses: Floats,
    all_losses: Floats,
) -> bool:
    """An episode played at once: its record is the learner as it is."""
    measure = state.step.measure
    issued = IssuedEpisode(measure.policy, measure.mass, state.rows)
    return begin_issued_update(graph, state, issued, states, path, path_losses, all_losses)


@interface.solve_pending.register(MirrorState)
@kernel
def solve_pending(graph: Graph, state: MirrorState, in_logs: bool | None) -> bool:
    return solve_step(graph, state.step, state.rows, in_logs)  # type: ignore[no-any-return]


@interface.settle_update.register(MirrorState)
@kernel
def settle_update(graph: Graph, state: MirrorState) -> None:
    settle(state.visits)


@interface.undo_update.register(MirrorState)
@kernel
def undo_update(graph: Graph, state: MirrorState, states: Counts, path: Counts) -> None:
    if state.settings.estimator == FULL:
        remove_losses(graph, state.step)
    elif state.baseline.kind != NO_BASELINE:
        if not is_aggregate(state.baseline):
            forget_losses(state.baseline, path)
        remove_losses(graph, state.step)
    else:
        remove_path_losses(graph, state.step, path)
    if state.hint.kind != NO_HINT:
        take_back_hint(state.hint, state.baseline, state.visits.clock[EPISODES])
    if learns_from_counts(state.rows):
        undo_counts(graph, state.visits, state.rows, state.old_rows, states, path)


# ---------------------------------------------------------------------- what the accounting reads


@interface.iterate_loss.register(MirrorState)
@leaf
def loss_of_iterate(graph: Graph, state: MirrorState, losses: Floats) -> float:
    return expected_loss(graph, state.step.measure.policy, state.step.measure.mass, losses)


@interface.add_estimates.register(MirrorState)
@leaf
def add_estimates_of_last(
    state: MirrorState,
    path: Counts,
    losses: Floats,
    iterate: float,
    total: Floats,
    inner: float,
) -> float:
    if state.settings.estimator == FULL:
        for r in range(total.shape[0]):
            total[r] += losses[r]
        return inner + iterate
    if state.baseline.kind != NO_BASELINE:
        for r in range(total.shape[0]):
            total[r] += state.baseline.estimate[r]
        return inner + state.baseline.inner[0]  # type: ignore[no-any-return]
    for k in range(path.shape[0]):
        total[path[k]] += state.visited.estimate[k]
        inner += state.visited.occupancy[k] * state.visited.estimate[k]
    return inner


@interface.add_certificate.register(MirrorState)
@leaf
def add_certificate_of_step(state: MirrorState, counts: NDArray[np.int64], worst: Floats) -> None:
    certificate = certificate_of(state.step)
    counts[4] += 1
    for i in range(4):
        counts[i] += certificate.counts[i]
    worst[0] = max(worst[0], certificate.figures[RESIDUAL])
    worst[1] = max(worst[1], certificate.figures[GAP])


@interface.epoch_and_width.register(MirrorState)
@leaf
def epoch_and_width_of_set(state: MirrorState) -> tuple[int, float]:
    return state.visits.clock[EPOCH], mean_width(state.rows)
