"""Arrays for the kernels: the only place that allocates them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.kernels.kl.dual import Dual, Measure, Pool
from advmdp.kernels.kl.linear.blocks import Blocks
from advmdp.kernels.kl.linear.conjugate import Vectors
from advmdp.kernels.kl.merged_rows import UNKNOWN
from advmdp.kernels.kl.projection import Solver
from advmdp.kernels.model.visits import Visits
from advmdp.kernels.sets.linear_maximum import Reach
from advmdp.kernels.sets.rows import SIMPLEX, TransitionSet
from advmdp.layout import Floats, Layout

# Layers up to this width form and factor their Hessian blocks; wider ones use conjugate gradients.
# (At width 10 the two are level, at 30 conjugate gradients are twice as fast.)
NARROW = 12

MOST_VISITS = 2**31  # successors are counted in 32 bits


def is_wide(layout: Layout) -> bool | None:
    """True for conjugate gradients, None for blocks: the kernels' ``wide`` argument."""
    return True if max(layout.layer_sizes) > NARROW else None


def new_solver(layout: Layout) -> Solver:
    """Work space of the projection: one table of triples, and a byte for each triple."""
    n_states, n_rows, n_entries = layout.n_states, layout.n_rows, layout.n_entries
    sizes = layout.layer_sizes
    lines = layout.lines()

    def states() -> Floats:
        return np.zeros(n_states)

    def layers() -> Floats:
        return np.zeros(layout.n_layers)

    def rows() -> Floats:
        return np.zeros(n_rows)

    dual = Dual(
        beta=states(),
        tilt=states(),
        inflow=states(),
        free_inflow=states(),
        outflow=states(),
        mobile=states(),
        lift=states(),
        row_mass=rows(),
        share=rows(),
        gain=rows(),
        scale=np.ones(n_rows),
        holding=np.zeros(n_rows, dtype=np.uint8),
        tight=np.full(n_rows, UNKNOWN),
        group_mass=np.zeros(2 * n_rows),
        log_scale=np.zeros(2 * n_rows),
        work=np.zeros(n_entries),
        group=np.zeros(n_entries, dtype=np.uint8),
        total=states(),
        log_total=states(),
        free_sum=states(),
        other_sum=states(),
        top=layers(),
        widest=layers(),
        shrink=layers(),
        log_z=layers(),
        term=states(),
        near=np.zeros(max(sizes)),
        together=np.zeros(0 if is_wide(layout) else n_entries),
        pool=Pool(
            lines=lines,
            table=np.zeros(int(lines.row_start[-1])),
            lead=states(),
            mass=states(),
            tight=states(),
            others=np.zeros(n_states, dtype=np.int64),
        ),
    )
    return Solver(
        dual=dual,
        vectors=Vectors(*(states() for _ in Vectors._fields)),
        blocks=_new_blocks(layout),
        report=np.zeros(4, dtype=np.int64),
        figures=np.zeros(3),
    )


def _new_blocks(layout: Layout) -> Blocks:
    """D[1], C[1], D[2], ...: all pairs of states of a layer, then those with the next layer."""
    firsts, last = layout.layer_start.tolist(), layout.n_layers - 1
    diagonal_at, coupling_at = np.zeros((2, layout.n_layers), dtype=np.uint32)
    pairs: list[tuple[int, int]] = []
    for k in range(1, layout.n_layers) if not is_wide(layout) else ():
        here, there = range(firsts[k], firsts[k + 1]), range(firsts[k + 1], firsts[k + 2])
        diagonal_at[k] = len(pairs)
        pairs += product(here, here)
        coupling_at[k] = len(pairs)
        pairs += product(here, there if k < last else ())
    slots = np.array(pairs, dtype=np.uint32).reshape(-1, 2).T.copy()
    scratch = np.zeros((2, layout.n_states))
    return Blocks(np.zeros(len(pairs)), diagonal_at, coupling_at, *slots, *scratch)


def new_measure(layout: Layout) -> Measure:
    """An occupancy measure to be filled."""
    return Measure(np.zeros(layout.n_entries), np.zeros(layout.n_rows), np.zeros(layout.n_states))


def new_reach(layout: Layout) -> Reach:
    """Work space of the upper occupancy bounds."""
    widest = max(layout.layer_sizes)
    orders = (np.zeros(widest, dtype=np.int64) for _ in range(2))
    return Reach(np.zeros(layout.n_states), np.zeros(layout.n_rows), np.zeros(widest), *orders)


def all_transitions(layout: Layout) -> TransitionSet:
    """The first epoch's set: every transition function, as boxes [0, 1]."""
    n_rows, n_entries = layout.n_rows, layout.n_entries
    return TransitionSet(
        kind=np.full(n_rows, SIMPLEX, dtype=np.uint8),
        lower=np.zeros(n_entries),
        upper=np.ones(n_entries),
        width=np.full(n_rows, 2.0),
        slack=np.ones(n_rows),
    )


def no_visits(layout: Layout, n_episodes: int) -> Visits:
    """Counters before the first episode; an epoch needs a doubled count, so there are not many."""
    n_rows, n_entries = layout.n_rows, layout.n_entries
    most_epochs = 2 + min(n_episodes, n_rows * (1 + int(math.log2(n_episodes))))
    pool = np.arange(n_rows) if layout.row_pool is None else layout.row_pool
    if layout.row_pool is not None and n_episodes * layout.n_layers >= MOST_VISITS:
        raise InvalidInput(
            f"n_episodes: {n_episodes} episodes of {layout.n_layers} steps are too many to count "
            "in shared rows; make the layout without shared_rows"
        )
    counts = {
        name: np.zeros(n_rows, dtype=np.int64)
        for name in ("pairs", "opened", "changed", "old_opened")
    }
    return Visits(
        **counts,
        triples=np.zeros(n_entries, dtype=np.int32),
        marked=np.zeros(n_rows, dtype=np.uint8),
        clock=np.array([1, 0, 0, 0, 0, 0], dtype=np.int64),
        starts=np.zeros(most_epochs, dtype=np.int64),
        counter=pool.astype(np.uint32),
        cell=layout.row_start[pool].astype(np.uint32),
        old_kind=np.zeros(n_rows, dtype=np.uint8),
        old_slack=np.zeros(n_rows),
        old_lower=np.zeros(n_entries),
        old_upper=np.zeros(n_entries),
    )
