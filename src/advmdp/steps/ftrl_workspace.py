"""Arrays for the kernels of follow-the-regularised-leader and of the log barrier on triples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from advmdp.kernels.ftrl.dual import FixedDual
from advmdp.kernels.ftrl.fixed_measure import FixedMeasure, find_reached
from advmdp.kernels.ftrl.objective import FTRLSettings, FTRLStep, Objective
from advmdp.kernels.ftrl.triples.dual import TripleDual
from advmdp.kernels.ftrl.triples.step import Rates, TripleStep
from advmdp.kernels.linear.block_system import Blocks
from advmdp.kernels.model.measure import Measure
from advmdp.layout import Floats, Layout
from advmdp.steps.first_sets import copy_of
from advmdp.steps.workspace import States, new_certificate


def new_fixed_dual(layout: Layout) -> FixedDual:
    """Work space of a minimisation over the measures of a fixed transition."""
    of_rows = ("reduced", "slope", "mass", "bend")
    vectors = {
        name: np.zeros(layout.n_rows if name in of_rows else layout.n_states)
        for name in FixedDual._fields
        if name not in ("blocks", "certificate")
    }
    return FixedDual(**vectors, blocks=_new_blocks(layout), certificate=new_certificate())


def new_fixed_measure(layout: Layout, chance: Floats) -> FixedMeasure:
    """The measure of the uniform policy is to be filled in."""
    policy = np.full(layout.n_rows, 1.0 / layout.n_actions)
    mass, reached = np.zeros(layout.n_states), np.zeros(layout.n_states, dtype=np.uint8)
    return FixedMeasure(chance, policy, mass, reached)


def new_ftrl_step(layout: Layout, settings: FTRLSettings) -> FTRLStep:
    """A step whose transition and iterate are made by its first restart and solution."""
    objective, old = (
        Objective(*(np.zeros(layout.n_rows) for _ in Objective._fields)) for _ in range(2)
    )
    return FTRLStep(
        measure=new_fixed_measure(layout, np.zeros(layout.n_entries)),
        settings=settings,
        objective=objective,
        clock=np.zeros(3, dtype=np.int64),
        dual=new_fixed_dual(layout),
        old=old,
        old_clock=np.zeros(3, dtype=np.int64),
        old_chance=np.zeros(layout.n_entries),
        old_reached=np.zeros(layout.n_states),
    )


def new_triple_dual(layout: Layout, *, may_end: bool = False) -> TripleDual:
    """Work space of a regulariser on triples; ``may_end`` if rows can sum to less than one."""
    of_entries = ("flow", "weight", "tie", "lowered")
    of_rows = ("total", "inverse_weight", "inverse_lowered", "inverse_tie", "shift", "scale")
    with_ends = layout.n_entries + (layout.n_rows if may_end else 0)
    sizes = dict.fromkeys(of_entries, layout.n_entries) | dict.fromkeys(of_rows, layout.n_rows)
    sizes |= dict.fromkeys(("reduced", "slope", "cost"), with_ends)
    vectors = {
        name: np.zeros(sizes.get(name, layout.n_states))
        for name in TripleDual._fields
        if name not in ("blocks", "certificate")
    }
    return TripleDual(**vectors, blocks=_new_blocks(layout), certificate=new_certificate())


def new_triple_step(
    layout: Layout, measure: Measure, barrier: float, limit: Floats, growth: float, ahead: float
) -> TripleStep:
    """The log-barrier step from an initial measure."""
    fixed = FixedMeasure(*measure, np.zeros(layout.n_states, dtype=np.uint8))
    find_reached(layout.graph(), fixed, np.zeros(layout.n_states))
    rates = Rates(np.full(layout.n_rows, barrier), limit)
    return TripleStep(
        measure=fixed,
        growth=growth,
        ahead=ahead,
        rates=rates,
        cost=np.zeros(layout.n_rows),
        clock=np.zeros(1, dtype=np.int64),
        dual=new_triple_dual(layout),
        upper=np.zeros(layout.n_rows),
        old=copy_of(rates),
        old_cost=np.zeros(layout.n_rows),
    )


def _new_blocks(layout: Layout) -> Blocks:
    """Blocks for layers of any width, without the tables that several threads need."""
    diagonal_at, coupling_at, end = _block_places(layout.layer_sizes)
    slots = np.zeros((2, 0), dtype=np.uint32)
    scratch = np.zeros((2, layout.n_states))
    return Blocks(np.zeros(end), diagonal_at, coupling_at, *slots, *scratch)


@lru_cache(maxsize=64)
def _block_places(sizes: tuple[int, ...]) -> tuple[States, States, int]:
    """Where the blocks of each layer begin, and where the last one ends; never written."""
    last = len(sizes) - 2
    diagonal_at, coupling_at = np.zeros((2, last + 1), dtype=np.uint32)
    end = 0
    for k in range(1, last + 1):
        diagonal_at[k] = end
        coupling_at[k] = end + sizes[k] ** 2
        end += sizes[k] * (sizes[k] + (sizes[k + 1] if k < last else 0))
    return diagonal_at, coupling_at, end
