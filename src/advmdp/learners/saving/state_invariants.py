"""What holds for every record of a learner's state, between two episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.kernels.kl.linear.kept_factor import KeptFactor
from advmdp.kernels.learners.fpop import FPLState, FPOPState
from advmdp.kernels.learners.hedge import Exp3IXState, MDPEState, NGSState
from advmdp.kernels.learners.mirror.baseline import Baseline
from advmdp.kernels.learners.mirror.hint import Hint
from advmdp.kernels.learners.mirror.mirror_descent import VisitedPairs
from advmdp.kernels.learners.q_learning import QLearningState
from advmdp.kernels.learners.ucbvi import UCBVIState
from advmdp.kernels.learners.ucrl2 import UCRL2State
from advmdp.kernels.learners.uniform import FixedPolicy
from advmdp.kernels.model.empirical import Model
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.model.row_status import BOUND, FREE, KNOWN
from advmdp.kernels.model.visits import (
    ADDED,
    CHANGED,
    EPISODES,
    EPOCH,
    MOVES,
    OPENS,
    Visits,
)
from advmdp.kernels.sets.ball import BallRows
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.kernels.sets.held import MERGED, HeldRows
from advmdp.learners.adaptive import state_invariants as adaptive_invariants  # noqa: F401
from advmdp.learners.ftrl import invariants as ftrl_invariants  # noqa: F401
from advmdp.learners.policy_optimisation import state_invariants as policy_invariants  # noqa: F401
from advmdp.learners.saving.state_checks import (
    TOLERANCE,
    Scope,
    actions_per_state,
    checks,
    is_distribution,
    require_clock,
    require_finite,
    require_policy,
    require_sums,
)
from advmdp.learners.saving.state_checks import check_state as check_state
from advmdp.steps.first_sets import MOST_VISITS

# ---------------------------------------------------------------------- counters


@checks(Visits)
def check_visits(visits: Visits, scope: Scope) -> None:
    """Counters, the list of those used in this epoch, and room for the epochs to come."""
    n_counters, clock = len(visits.pairs), visits.clock
    require_clock(scope, clock, EPISODES)
    scope.require((clock[[OPENS, MOVES]] <= 1).all(), "clock", "has flags that are not 0 or 1")
    scope.require((clock[[CHANGED, ADDED]] <= n_counters).all(), "clock", "lists too many counters")
    scope.require((visits.marked <= 1).all(), "marked", "has marks that are not 0 or 1")
    listed = visits.changed[: clock[CHANGED]]
    scope.require(
        ((visits.changed >= 0) & (visits.changed < n_counters)).all(),
        "changed",
        f"names counters outside 0..{n_counters - 1}",
    )
    scope.require(
        np.array_equal(np.sort(listed), np.flatnonzero(visits.marked)),
        "changed",
        "does not list the counters that are marked",
    )
    counter = visits.counter.astype(np.int64)
    require_sums(scope, visits.pairs[counter], visits.triples, visits.cell.astype(np.int64))
    scope.require((visits.pairs >= 0).all(), "pairs", "has negative counts")
    used = visits.marked == 1
    scope.require(
        (visits.opened >= 0).all()
        and (visits.pairs[used] > visits.opened[used]).all()
        and np.array_equal(visits.pairs[~used], visits.opened[~used]),
        "opened",
        "does not fit pairs and the counters used since",
    )
    _check_epochs(visits, counter, scope)


def _check_epochs(visits: Visits, counter: NDArray[np.int64], scope: Scope) -> None:
    """Epochs start one after the other, and all that can still come have room in ``starts``."""
    epoch, episodes = int(visits.clock[EPOCH]), int(visits.clock[EPISODES])
    room = len(visits.starts)
    scope.require(1 <= epoch <= room, "clock", f"has epoch {epoch}, not one of 1..{room}")
    begun = visits.starts[:epoch]
    scope.require(
        begun[0] == 0 and (np.diff(begun) > 0).all() and begun[-1] <= episodes,
        "starts",
        "does not increase from 0 to the episodes played",
    )
    left = 0 if scope.horizon is None else scope.horizon - episodes
    shared_by = np.bincount(counter, minlength=len(visits.pairs))
    most = visits.pairs + left * np.minimum(shared_by, scope.layout.n_layers)
    scope.require((most < MOST_VISITS).all(), "pairs", "has counts that outgrow 32 bits")
    # a counter opens an epoch when it is first used, and whenever it has doubled
    doublings = np.floor(np.log2(np.maximum(most, 1) / np.maximum(visits.opened, 1)))
    openings = np.where(visits.opened == 0, np.minimum(most, 1), 0) + doublings
    coming = min(left, int(openings[shared_by > 0].sum()))
    scope.require(epoch + coming <= room, "starts", "has no room for the epochs that can come")


@checks(Model)
def check_model(model: Model, scope: Scope) -> None:
    """Counts of rows, successors and losses in [0, 1]."""
    require_sums(scope, model.pairs, model.triples, scope.layout.row_start[:-1])
    elsewhere = model.counter != np.arange(len(model.pairs))
    scope.require(
        not model.pairs[elsewhere].any(), "pairs", "has visits of rows that are counted elsewhere"
    )
    require_finite(scope, model, "loss_sum")
    near = TOLERANCE * (1.0 + model.pairs)
    scope.require(
        ((model.loss_sum >= -near) & (model.loss_sum <= model.pairs + near)).all(),
        "loss_sum",
        "is not a sum of losses in [0, 1]",
    )


# ---------------------------------------------------------------------- measures and sets


@checks(Measure)
def check_measure(measure: Measure, scope: Scope) -> None:
    """Probabilities in log storage: positive numbers, or their negative logarithms."""
    layout = scope.layout
    sizes = {
        "chance": layout.row_sizes(),
        "policy": actions_per_state(scope),
        "mass": np.array(layout.layer_sizes),
    }
    require_finite(scope, measure, *sizes)
    for name, size in sizes.items():
        proper = is_distribution(np.maximum(getattr(measure, name), 0.0), size)
        scope.require(proper, name, "is not a probability distribution")


@checks(HeldRows)
def check_held_rows(held: HeldRows, scope: Scope) -> None:
    """First guesses of the next projection."""
    scope.require((held.holding <= MERGED).all(), "holding", "has unknown codes")
    require_finite(scope, held, "scale", "tight", least=0.0)
    scope.require((held.scale > 0.0).all(), "scale", "is not positive")


@checks(KeptFactor)
def check_kept_factor(kept: KeptFactor, scope: Scope) -> None:
    """The first direction of the next projection: a bad one costs time, not its certificate."""
    scope.require((kept.is_there <= 1).all(), "is_there", "is not 0 or 1")
    require_finite(scope, kept, "entries")


def _require_status(rows: Any, scope: Scope) -> None:
    """Rows are known from the beginning or never."""
    status = rows.status
    scope.require(np.isin(status, [FREE, BOUND, KNOWN]).all(), "status", "has unknown codes")
    scope.require(
        np.array_equal(status == KNOWN, scope.fresh.status == KNOWN),
        "status",
        "does not fit the rows that the learner knows",
    )


def _require_known(rows: Any, scope: Scope, *names: str) -> None:
    """The transition of known rows is that of the learner."""
    known = np.repeat(rows.status == KNOWN, scope.layout.row_sizes())
    for name in names:
        same = np.array_equal(getattr(rows, name)[known], getattr(scope.fresh, name)[known])
        scope.require(same, name, "does not fit the rows that the learner knows")


@checks(BoxRows)
def check_boxes(rows: BoxRows, scope: Scope) -> None:
    """0 <= lower <= upper <= 1 with a distribution in between."""
    _require_status(rows, scope)
    begin = scope.layout.row_start[:-1]
    ordered = (rows.lower >= 0.0) & (rows.lower <= rows.upper) & (rows.upper <= 1.0)
    scope.require(ordered.all(), "lower", "and upper are not bounds with 0 <= lower <= upper <= 1")
    slack = 1.0 - np.add.reduceat(rows.lower, begin)
    scope.require((np.abs(slack - rows.slack) <= TOLERANCE).all(), "slack", "does not fit lower")
    widths = np.add.reduceat(rows.upper - rows.lower, begin)
    near = TOLERANCE * (1.0 + widths)
    scope.require((np.abs(widths - rows.widths) <= near).all(), "widths", "does not fit the bounds")
    room = np.add.reduceat(rows.upper, begin)
    scope.require(
        ((slack >= -TOLERANCE) & (room >= 1.0 - TOLERANCE)).all(),
        "lower",
        "and upper leave no distribution in between",
    )
    _require_known(rows, scope, "lower", "upper")


@checks(BallRows)
def check_balls(rows: BallRows, scope: Scope) -> None:
    """A distribution at the centre, above the floor, and a radius of at least zero."""
    _require_status(rows, scope)
    require_finite(scope, rows, "centre", "width", least=0.0)
    size, bound = scope.layout.row_sizes(), rows.status == BOUND  # nobody asks for other centres
    of_bound = rows.centre[np.repeat(bound, size)]
    if bound.any():
        proper = is_distribution(of_bound, size[bound])
        scope.require(proper, "centre", "is not a probability distribution")
    scope.require((of_bound >= rows.floor - TOLERANCE).all(), "centre", "is below the floor")
    _require_known(rows, scope, "centre")


# ---------------------------------------------------------------------- learners


@checks(VisitedPairs)
def check_visited(visited: VisitedPairs, scope: Scope) -> None:
    """What the last update found out."""
    require_finite(scope, visited, "bound", "occupancy", least=0.0)
    require_finite(scope, visited, "estimate")  # below zero with a baseline


@checks(Baseline)
def check_baseline(baseline: Baseline, scope: Scope) -> None:
    """Means of losses in [0, 1], over as many visits as they remember."""
    near = (baseline.mean >= -TOLERANCE) & (baseline.mean <= 1.0 + TOLERANCE)
    scope.require(near.all(), "mean", "is not a mean of losses in [0, 1]")
    counted = (baseline.seen >= 0) & (baseline.seen <= baseline.memory)
    scope.require(counted.all(), "seen", f"has visits outside 0..{baseline.memory}")


@checks(Hint)
def check_hint(hint: Hint, scope: Scope) -> None:
    """Losses in [0, 1], and means of such."""
    parts = {"coming": hint.coming, "recent.tables": hint.recent.tables}
    for name, losses in {**parts, "recent.mean": hint.recent.mean}.items():
        near = (losses >= -TOLERANCE) & (losses <= 1.0 + TOLERANCE)
        scope.require(near.all(), name, "has losses outside [0, 1]")


@checks(FixedPolicy)
def check_fixed(state: FixedPolicy, scope: Scope) -> None:
    """A policy."""
    require_policy(scope, state.policy)


@checks(MDPEState, NGSState, Exp3IXState)
def check_hedge(state: Any, scope: Scope) -> None:
    """Scores of at least zero: the least of each state is zero."""
    require_policy(scope, state.policy)
    require_clock(scope, state.clock, 0)
    require_finite(scope, state, "score", least=0.0)


@checks(FPOPState, FPLState)
def check_perturbed(state: Any, scope: Scope) -> None:
    """Sums of losses, and exponential bonuses."""
    require_policy(scope, state.policy)
    if isinstance(state, FPLState):
        require_clock(scope, state.clock, 0)
    require_finite(scope, state, "total", "noise", least=0.0)


@checks(QLearningState)
def check_q_learning(state: QLearningState, scope: Scope) -> None:
    """Visits within the episodes, and finite values."""
    require_policy(scope, state.policy)
    require_clock(scope, state.clock, 0)
    require_finite(scope, state, "pairs", "value", "drawn", "drawn_squares", "width", least=0)
    require_finite(scope, state, "q")
    alone = (state.alike.end - state.alike.begin <= 1).all()
    most = state.clock[0] * (1 if alone else scope.layout.n_layers)
    scope.require((state.pairs <= most).all(), "pairs", "has more visits than episodes")


@checks(UCBVIState)
def check_ucbvi(state: UCBVIState, scope: Scope) -> None:
    """The estimate and the visits of states follow from the model."""
    layout, model = scope.layout, state.model
    require_policy(scope, state.policy)
    require_finite(scope, state, "chance", "q", "value")
    if model.pooled:  # which of the rows was visited is not counted
        seen = state.seen
        in_layer = np.add.reduceat(seen, layout.layer_start[:-1])
        fits = seen.min() >= 0 and (in_layer == seen[0]).all()
        fits = fits and model.pairs.sum() == layout.n_layers * seen[0]
    else:
        seen = np.bincount(layout.entry_successors(), model.triples, layout.n_states)
        seen[0] = model.pairs[: layout.n_actions].sum()
        fits = np.array_equal(seen, state.seen)
    scope.require(fits, "seen", "does not fit the transitions counted")
    sizes, counter = layout.row_sizes(), model.counter.astype(np.int64)
    visits = np.repeat(model.pairs[counter], sizes)
    shift = np.repeat(layout.row_start[counter] - layout.row_start[:-1], sizes)
    counted = model.triples[np.arange(layout.n_entries) + shift]
    away = np.abs(state.chance * visits - counted)[visits > 0]
    scope.require((away <= TOLERANCE * (1 + visits[visits > 0])).all(), "chance", "is not M / N")


@checks(UCRL2State)
def check_ucrl2(state: UCRL2State, scope: Scope) -> None:
    """Clock, visits of the epoch, and the ring of the last episodes."""
    require_policy(scope, state.policy)
    require_clock(scope, state.clock, 1)
    epoch, episodes = state.clock.tolist()
    scope.require(1 <= epoch <= episodes + 1, "clock", f"has epoch {epoch}")
    require_finite(scope, state, "opened", "within", least=0)
    most = max(episodes, 0) * (scope.layout.n_layers if state.model.pooled else 1)
    scope.require((state.within <= most).all(), "within", "has more visits than episodes")
    require_finite(scope, state, "costs", "q", "value")
    size = len(state.window.path)
    if size > 0:
        _check_ring(state, scope, min(episodes, size))
    else:
        total = int(state.model.pairs.sum())
        scope.require(total == episodes * scope.layout.n_layers, "model.pairs", "does not fit")


def _check_ring(state: UCRL2State, scope: Scope, filled: int) -> None:
    """The episodes in the ring are paths through the layers, and are what the model counts."""
    layout, model = scope.layout, state.model
    path, entries, losses = (part[:filled] for part in state.window)
    rows = [layout.layer_rows(k) for k in range(layout.n_layers)]
    first, end = np.array([[part.start, part.stop] for part in rows]).T
    scope.require(((path >= first) & (path < end)).all(), "window.path", "leaves its layers")
    counting = model.counter.astype(np.int64)[path]
    begin, stop = layout.row_start[counting], layout.row_start[counting + 1]
    scope.require(((entries >= begin) & (entries < stop)).all(), "window.entries", "leave rows")
    scope.require(((losses >= 0.0) & (losses <= 1.0)).all(), "window.losses", "are not in [0, 1]")
    counted = np.bincount(counting.ravel(), minlength=layout.n_rows)
    scope.require(np.array_equal(counted, model.pairs), "model.pairs", "do not fit the window")
    counted = np.bincount(entries.ravel(), minlength=layout.n_entries)
    scope.require(np.array_equal(counted, model.triples), "model.triples", "do not fit the window")
