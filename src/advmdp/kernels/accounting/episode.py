"""Whole episodes: the world's move, the exact accounting, the learner's update.

The protocol loop in ``advmdp.play`` calls ``open_episode`` and the learner's own methods; the
compiled loops below call the same kernels, so both give the same numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..kl.dual import Measure
from ..kl.projection import (
    GAP,
    RESIDUAL,
    Solver,
    project,
)
from ..learners.mirror_descent import FULL, Learner, Path, begin_update
from ..learners.registry import bandit_step, full_step
from ..model.flow import expected_loss, forward_shared
from ..model.graph import Floats, Graph
from ..model.losses import LossProgram, fill_losses, observe_path
from ..model.trajectory import draw_trajectory
from ..model.visits import Counts, settle
from ..runtime.targets import kernel
from ..runtime.threads import align_at_episode, align_at_step, barrier, shared

# Places in ``Ledger.sums``.
EXPECTED, REALISED, BELIEVED, FED = 0, 1, 2, 3
# Places in ``Ledger.counts``: the solver's four, summed over episodes, and their number.
PROJECTIONS = 4
# Places in ``Ledger.worst``.
WORST_RESIDUAL, WORST_GAP = 0, 1


class World(NamedTuple):
    """What the learner may not see."""

    transitions: Floats  # (E,) P
    seed0: int
    seed1: int


class Ledger(NamedTuple):
    """The running account of a run, and the current episode."""

    sums: Floats  # (4,) sums over t of <q_t, l_t>, realised loss, <q^_t, l_t>, <q^_t, l^_t>
    total: Floats  # (R,) sum of l_t
    fed: Floats  # (R,) sum of the estimates l^_t
    counts: Counts  # (5,)
    worst: Floats  # (2,)
    losses: Floats  # (R,) l_t
    mass: Floats  # (S,) q_t(x)
    flow: Floats  # (R,) scratch of several threads
    states: Counts  # (L + 1,)
    path: Counts  # (L,)
    path_losses: Floats  # (L,)


@kernel
def open_episode(graph: Graph, world: World, policy: Floats, episode: int, ledger: Ledger) -> None:
    """Draw the trajectory of ``policy`` and account for it; the ledger holds the losses."""
    draw_trajectory(
        graph,
        policy,
        world.transitions,
        world.seed0,
        world.seed1,
        episode,
        ledger.states,
        ledger.path,
    )
    forward_shared(graph, world.transitions, policy, ledger.mass, ledger.flow)
    ledger.sums[EXPECTED] += expected_loss(graph, policy, ledger.mass, ledger.losses)
    for k in range(ledger.path.shape[0]):
        ledger.path_losses[k] = ledger.losses[ledger.path[k]]
        ledger.sums[REALISED] += ledger.path_losses[k]
    for r in shared(0, ledger.total.shape[0]):
        ledger.total[r] += ledger.losses[r]
    barrier()


@kernel
def note_belief(graph: Graph, measure: Measure, ledger: Ledger) -> None:
    """<q^_t, l_t>, before the update."""
    ledger.sums[BELIEVED] += expected_loss(graph, measure.policy, measure.mass, ledger.losses)


@kernel
def note_estimates(path: Path, ledger: Ledger) -> None:
    """The estimated losses of the episode, for the four terms of the regret."""
    for k in range(ledger.path.shape[0]):
        ledger.fed[ledger.path[k]] += path.estimate[k]
        ledger.sums[FED] += path.occupancy[k] * path.estimate[k]


@kernel
def note_full_losses(ledger: Ledger) -> None:
    """The same under full information, where the estimates are the losses themselves."""
    ledger.sums[FED] = ledger.sums[BELIEVED]
    for r in range(ledger.fed.shape[0]):
        ledger.fed[r] += ledger.losses[r]


@kernel
def note_projection(solver: Solver, ledger: Ledger) -> None:
    """The certificate of one projection."""
    ledger.counts[PROJECTIONS] += 1
    for i in range(4):
        ledger.counts[i] += solver.report[i]
    ledger.worst[WORST_RESIDUAL] = max(ledger.worst[WORST_RESIDUAL], solver.figures[RESIDUAL])
    ledger.worst[WORST_GAP] = max(ledger.worst[WORST_GAP], solver.figures[GAP])


@kernel
def play_mirror(
    graph: Graph,
    world: World,
    program: LossProgram,
    ledger: Ledger,
    start: int,
    stop: int,
    learner: Learner,
    wide: bool | None,
) -> int:
    """Episodes start .. stop - 1 of a mirror-descent learner.

    Returns ``stop``, or the episode whose projection the fast path could not certify: everything
    of that episode is done except ``finish_safely``.
    """
    measure = learner.measure
    for episode in range(start, stop):
        align_at_episode()
        fill_losses(program, world.seed0, world.seed1, episode, ledger.losses)
        open_episode(graph, world, measure.policy, episode, ledger)
        note_belief(graph, measure, ledger)
        moves = begin_update(
            graph, learner, ledger.states, ledger.path, ledger.path_losses, ledger.losses
        )
        if learner.rates.estimator == FULL:
            note_full_losses(ledger)
        else:
            note_estimates(learner.path, ledger)
        observe_path(program, ledger.path)
        if moves:
            align_at_step()
            if not project(graph, measure, learner.rows, learner.solver, wide, None):
                return episode
            note_projection(learner.solver, ledger)
        settle(learner.visits)
    return stop


@kernel
def play_bandit(
    graph: Graph,
    world: World,
    program: LossProgram,
    ledger: Ledger,
    start: int,
    stop: int,
    state: Any,
) -> int:
    """Episodes start .. stop - 1 of a learner that sees the losses of its own path."""
    for episode in range(start, stop):
        align_at_episode()
        fill_losses(program, world.seed0, world.seed1, episode, ledger.losses)
        open_episode(graph, world, state.policy, episode, ledger)
        bandit_step(graph, state, ledger.states, ledger.path, ledger.path_losses)
        observe_path(program, ledger.path)
    return stop


@kernel
def play_full(
    graph: Graph,
    world: World,
    program: LossProgram,
    ledger: Ledger,
    start: int,
    stop: int,
    state: Any,
) -> int:
    """Episodes start .. stop - 1 of a learner that sees the losses of all pairs."""
    for episode in range(start, stop):
        align_at_episode()
        fill_losses(program, world.seed0, world.seed1, episode, ledger.losses)
        open_episode(graph, world, state.policy, episode, ledger)
        full_step(graph, state, ledger.states, ledger.path, ledger.losses)
        observe_path(program, ledger.path)
    return stop
