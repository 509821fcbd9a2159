"""Adaptive mirror descent on occupancy measures: AdaO-REPS, AdaUC-O-REPS.

An episode that was played with q_t at the rate eta is a step of mirror descent with d = l - c m,

    q_+ = argmin over q of  <q, d> + D(q || q_t) / eta,      delta its value,

whose mixability gap <q_t, d> - delta sets the next rate, to which the iterate is brought:

    r = G / (G + gap),   G <- g (G + gap),   eta' = (largest D(q || q_1)) / G,
    q_{t+1} = Pi(q_+^r q_1^{1-r} e^{-eta' c m'}),

Pi the relative-entropy projection onto the set of the next episode, m' the coming hint.  Over a
known transition this is Pi(q_t^r q_1^{1-r} e^{-eta' (g d + c m')}), and q_t is the regularised
leader, argmin <q, S + c m> + D(q || q_1) / eta: a projection multiplies by e^{-beta} alone, which
the next one is free to change.

While G = 0 all measures have cost the same, and q_1 is played.  Without a certified q_+ the gap is
<q_t, d> - min <q, d>, which is larger, and q_t takes the place of q_+: the certificate 2 G stands.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...model.flow import expected_loss
from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ...model.measure import Measure, copy_measure
from ...model.recent import Recent, give_back_recent, keep_recent, remember
from ...model.visits import EPISODES, EPOCH, OPENS, Counts, Visits, record, settle
from ...planning.linear_maximum import Reach
from ...planning.optimism import optimistic_response
from ...runtime.dispatch import Borrowed
from ...runtime.storage import Choice, Common, Lasting, Number, Scratch
from ...runtime.targets import kernel, leaf
from ...sets.confidence import open_epoch, undo_counts
from ...sets.interface import mean_width
from ...steps.interface import (
    VALUE,
    add_losses,
    certificate_of,
    forget_bounds,
    forget_everything,
    pull_towards,
    solve_step,
)
from .. import interface

# Places in ``gaps``: G of the coming episode, and G after the last one, before it was forgotten.
COMING, LAST = 0, 1


class AdaSettings(NamedTuple):
    """The constants of a run."""

    known: Choice[int]  # whether the set is one transition, a box without width
    entropy: Number[float]  # the largest D(q || q_1)
    forgetting: Number[float]  # g
    hint_weight: Number[float]  # c
    log_term: Number[float]  # ln(|X| |A| / delta) of the widths
    log_scale: Number[float]  # its multiplier


class Plan(NamedTuple):
    """Work space of a backward pass over the set."""

    q: Scratch[Floats]  # (R,)
    value: Scratch[Floats]  # (S,)
    policy: Scratch[Floats]  # (R,)


class Kept(NamedTuple):
    """What an episode overwrites, until it is final."""

    measure: Measure
    gaps: Scratch[Floats]  # (2,)
    hint: Recent  # the table that leaves the ring, and the mean


class AdaMirrorState(NamedTuple):
    """The iterate, the gaps, and the set of transitions."""

    settings: AdaSettings
    step: Any  # q_t, and how it moves
    first: Common[Measure]  # q_1
    rows: Any  # the set of the coming episode
    old_rows: Scratch[Any]
    visits: Visits
    reach: Reach
    plan: Plan
    gaps: Lasting[Floats]  # (2,)
    hint: Recent  # its mean is m
    kept: Scratch[Kept]
    spare: Scratch[Measure]
    costs: Scratch[Floats]  # (R,)


interface.FULL_INFORMATION.add(AdaMirrorState)


@interface.current_policy.register(AdaMirrorState)
@leaf
def policy_of_iterate(state: AdaMirrorState) -> Borrowed:
    return Borrowed(state.step.measure.policy)


@leaf
def rate_at(entropy: float, gaps: float) -> float:
    """eta = (largest R) / G; infinite as long as there was no gap."""
    return entropy / gaps if gaps > 0.0 else math.inf


@kernel
def least_cost(graph: Graph, state: AdaMirrorState) -> float:
    """min over the set of <q, costs>, by a backward pass, which ``plan`` holds."""
    plan = state.plan
    return optimistic_response(  # type: ignore[no-any-return]
        graph, state.rows, state.costs, state.reach, plan.q, plan.value, plan.policy
    )


@kernel
def reduce_costs(graph: Graph, state: AdaMirrorState) -> None:
    """Change the costs of all measures of the set by the same number, such that little is left.

    Over a known transition: the advantages Q - V, of which every state has one that is zero.  Over
    a larger set: less the least of each layer.  What has to be resolved is then of the size of the
    differences, whatever the unit and the offset.
    """
    costs = state.costs
    if not state.settings.known:
        for k in range(n_layers(graph)):
            begin = layer_begin(graph, k) * graph.n_actions
            end = layer_end(graph, k) * graph.n_actions
            least = math.inf
            for r in range(begin, end):
                least = min(least, costs[r])
            for r in range(begin, end):
                costs[r] -= least
    else:
        least_cost(graph, state)
        for r in range(costs.shape[0]):
            costs[r] = max(state.plan.q[r] - state.plan.value[r // graph.n_actions], 0.0)


@kernel
def mixability_gap(graph: Graph, state: AdaMirrorState, eta: float) -> tuple[float, bool]:
    """The gap of the costs, which are reduced; whether the iterate has moved to q_+."""
    measure = state.step.measure
    mean = expected_loss(graph, measure.policy, measure.mass, state.costs)
    if eta < math.inf:
        add_losses(graph, state.step, state.costs, eta)
        if solve_step(graph, state.step, state.rows, None):
            delta = -certificate_of(state.step).figures[VALUE] / eta
            return max(mean - delta, 0.0), True
        copy_measure(state.kept.measure, measure)
        forget_everything(state.step)
    return max(mean - least_cost(graph, state), 0.0), False


@kernel
def keep(state: AdaMirrorState) -> None:
    """Copy what the episode overwrites."""
    kept = state.kept
    copy_measure(state.step.measure, kept.measure)
    kept.gaps[COMING] = state.gaps[COMING]
    kept.gaps[LAST] = state.gaps[LAST]
    keep_recent(state.hint, state.visits.clock[EPISODES], kept.hint)


@kernel
def give_back(state: AdaMirrorState) -> None:
    """Everything as before the episode, but for counts and bounds."""
    kept = state.kept
    copy_measure(kept.measure, state.step.measure)
    forget_everything(state.step)
    state.gaps[COMING] = kept.gaps[COMING]
    state.gaps[LAST] = kept.gaps[LAST]
    give_back_recent(kept.hint, state.visits.clock[EPISODES], state.hint)


@kernel
def log_term_of_counts(graph: Graph, state: AdaMirrorState) -> float:
    """The logarithm of the widths: that of delta / (t (t + 1)), whose sum over all t is delta.

    No horizon is needed.  t is the number of episodes counted, also of those that others played.
    """
    visits = 0
    for c in range(state.visits.pairs.shape[0]):
        visits += state.visits.pairs[c]
    t = max(state.visits.clock[EPISODES] + 1.0, float(visits // n_layers(graph)))
    log_term = state.settings.log_term + math.log(t * (t + 1.0))
    return log_term * state.settings.log_scale


@kernel
def learn_transition(graph: Graph, state: AdaMirrorState, states: Counts, path: Counts) -> bool:
    """Count the path; whether an epoch opens."""
    if state.settings.known:
        state.visits.clock[OPENS] = 0
        return False
    opens = record(graph, state.visits, state.rows.status, states, path)
    if opens:
        log_term = log_term_of_counts(graph, state)
        open_epoch(graph, state.visits, state.rows, state.old_rows, log_term)
        forget_bounds(graph, state.step, state.rows, state.visits)
    return opens


@interface.begin_update.register(AdaMirrorState)
@kernel
def begin_update(
    graph: Graph,
    state: AdaMirrorState,
    states: Counts,
    path: Counts,
    path_losses: Floats,
    all_losses: Floats,
) -> bool:
    """Counts, gap, rate, and the weights to be projected; False when the iterate stays.

    The gap is that of the set of the NEXT episode, onto which the iterate is projected.
    """
    settings = state.settings
    gaps = state.gaps
    eta = rate_at(settings.entropy, gaps[COMING])
    hinted = settings.hint_weight if eta < math.inf else 0.0  # q_1 has not heard the hint
    for r in range(all_losses.shape[0]):
        state.costs[r] = all_losses[r] - hinted * state.hint.mean[r]
    keep(state)
    opens = learn_transition(graph, state, states, path)
    reduce_costs(graph, state)
    gap, moved = mixability_gap(graph, state, eta)
    gaps[LAST] = gaps[COMING] + gap
    share = gaps[COMING] / gaps[LAST] if gaps[LAST] > 0.0 else 0.0
    gaps[COMING] = settings.forgetting * gaps[LAST]
    rate = rate_at(settings.entropy, gaps[COMING])
    weight = 0.0 if moved else settings.forgetting
    for r in range(all_losses.shape[0]):
        state.costs[r] *= weight
    if settings.hint_weight > 0.0:
        remember(state.hint, state.visits.clock[EPISODES], all_losses)
        for r in range(all_losses.shape[0]):
            state.costs[r] += settings.hint_weight * state.hint.mean[r]
        reduce_costs(graph, state)
    elif moved and share == 1.0:
        return False  # q_+ it is
    if rate == math.inf and not opens:
        return False
    pull_towards(graph, state.step, state.rows, state.first, share, state.spare)
    if rate < math.inf:
        add_losses(graph, state.step, state.costs, rate)
    return True


@interface.solve_pending.register(AdaMirrorState)
@kernel
def solve_pending(graph: Graph, state: AdaMirrorState, in_logs: bool | None) -> bool:
    return solve_step(graph, state.step, state.rows, in_logs)  # type: ignore[no-any-return]


@interface.settle_update.register(AdaMirrorState)
@kernel
def settle_update(graph: Graph, state: AdaMirrorState) -> None:
    settle(state.visits)


@interface.undo_update.register(AdaMirrorState)
@kernel
def undo_update(graph: Graph, state: AdaMirrorState, states: Counts, path: Counts) -> None:
    give_back(state)
    if not state.settings.known:
        undo_counts(graph, state.visits, state.rows, state.old_rows, states, path)


@interface.epoch_and_width.register(AdaMirrorState)
@leaf
def epoch_and_width_of_set(state: AdaMirrorState) -> tuple[int, float]:
    return state.visits.clock[EPOCH], mean_width(state.rows)
