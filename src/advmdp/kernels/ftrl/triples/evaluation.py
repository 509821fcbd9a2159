"""Evaluation, slopes, curvature and commit of a regulariser on triples."""

from __future__ import annotations

import math

from ...model.flow import forward
from ...model.graph import (
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_size,
    successor_of,
)
from ...model.row_status import is_free, is_known
from ...runtime.indices import int64
from ...runtime.targets import kernel, leaf
from ...sets.interface import known_transition
from .. import interface
from ..evaluation import longest_step
from ..fixed_measure import FixedMeasure
from ..regulariser import BARRIER, Regulariser, divergence
from . import ball_problem as ball_problem  # registers its rows, as the next line does
from . import row_problem as row_problem
from .dual import TripleDual, TripleProblem
from .row_interface import solve_bound_row
from .simple_rows import may_end, solve_free_row, solve_known_row


@interface.evaluate.register(TripleDual)
@kernel
def evaluate_triples(
    graph: Graph, measure: FixedMeasure, problem: TripleProblem, dual: TripleDual, step: float
) -> float:
    n = dual.inflow.shape[0] - 1
    for x in range(n + 1):
        dual.inflow[x] = 0.0
    dual.inflow[0] = 1.0
    total = 0.0
    for x in range(n):
        out = 0.0
        if measure.reached[x] != 0:
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                begin = row_begin(graph, r)
                for e in range(begin, begin + row_size(graph, r)):
                    dual.cost[e] = dual.reduced[e] + step * dual.slope[e]
                if may_end(dual):
                    end = dual.flow.shape[0] + r
                    dual.cost[end] = dual.reduced[end] + step * dual.slope[end]
                if is_known(problem.rows, r):
                    chance = known_transition(problem.rows).array
                    value = solve_known_row(graph, r, problem.regulariser, chance, dual)
                elif is_free(problem.rows, r):
                    value = solve_free_row(graph, r, problem.regulariser, dual)
                else:
                    value = solve_bound_row(graph, r, problem.regulariser, problem.rows, dual)
                if not (abs(value) < math.inf):
                    return math.nan
                total += value
                out += dual.total[r]
                for j in range(row_size(graph, r)):
                    dual.inflow[successor_of(graph, r, j)] += dual.flow[begin + j]
        dual.outflow[x] = out
    return total


@interface.find_slopes.register(TripleDual)
@leaf
def slopes_of_triples(
    graph: Graph, measure: FixedMeasure, problem: TripleProblem, dual: TripleDual
) -> tuple[float, float]:
    """Rows with bounds say themselves when a step leaves the domain."""
    n = dual.direction.shape[0] - 1
    descent = 0.0
    longest = math.inf
    for x in range(n):
        descent += dual.gradient[x] * dual.direction[x]
        if measure.reached[x] == 0:
            continue
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            begin = row_begin(graph, r)
            if may_end(dual):
                dual.slope[dual.flow.shape[0] + r] = -dual.direction[x]
            for j in range(row_size(graph, r)):
                slope = dual.direction[successor_of(graph, r, j)] - dual.direction[x]
                dual.slope[begin + j] = slope
                if slope < 0.0 and is_free(problem.rows, r):
                    reduced = dual.reduced[begin + j]
                    longest = min(longest, longest_step(problem.regulariser, reduced, slope))
    return descent, longest


@leaf
def add_groups(graph: Graph, r: int, dual: TripleDual, at: int, there: int, n: int) -> None:
    """Add  A A^T / s - w w^T / t  of a row to the next layer, with a t for each group."""
    entries = dual.blocks.entries
    begin = row_begin(graph, r)
    for j in range(row_size(graph, r)):
        place = at + (successor_of(graph, r, j) - there) * n
        raised = dual.lowered[begin + j] == 0.0
        inverse = dual.inverse_weight[r] if raised else dual.inverse_lowered[r]
        pull = dual.tie[begin + j] * dual.inverse_tie[r]
        for i in range(j + 1):
            found = pull * dual.tie[begin + i]
            if dual.lowered[begin + i] == dual.lowered[begin + j]:
                found -= dual.weight[begin + j] * dual.weight[begin + i] * inverse
            entries[place + successor_of(graph, r, i) - there] += found


@leaf
def add_row(graph: Graph, r: int, dual: TripleDual, at: int, line: int, there: int, n: int) -> None:
    """Add  diag(w) - w w^T / t + A A^T / s  to the next layer and its row sums to the coupling.

    A sums to one, or with what ends the episode: the row sums are A / s.  ``line`` is the coupling
    line of the state, or -1 for x_0.
    """
    entries = dual.blocks.entries
    begin = row_begin(graph, r)
    two_groups = dual.inverse_lowered[r] > 0.0
    for j in range(row_size(graph, r)):
        y = successor_of(graph, r, j)
        sum_of_line = dual.tie[begin + j] * dual.inverse_tie[r]
        if line < 0:
            dual.root[y] -= sum_of_line
        else:
            entries[line + y - there] -= sum_of_line
        place = at + (y - there) * n
        entries[place + y - there] += dual.weight[begin + j]
        if dual.inverse_weight[r] >= 0.0 and not two_groups:
            drop = dual.weight[begin + j] * dual.inverse_weight[r]
            for i in range(j + 1):
                z = successor_of(graph, r, i) - there
                entries[place + z] += (
                    sum_of_line * dual.tie[begin + i] - drop * dual.weight[begin + i]
                )
    if two_groups:
        add_groups(graph, r, dual, at, there, n)


@interface.add_state.register(TripleDual)
@leaf
def add_triples(graph: Graph, x: int, k: int, measure: FixedMeasure, dual: TripleDual) -> None:
    last = n_layers(graph) - 1
    here = layer_begin(graph, k)
    there = layer_end(graph, k)
    n = 0 if k == last else layer_end(graph, k + 1) - there
    own = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        own += dual.inverse_tie[r]
        if k < last:  # the last state is no variable
            at = int64(dual.blocks.diagonal_at[k + 1])
            line = int64(dual.blocks.coupling_at[k]) + (x - here) * n if k > 0 else -1
            add_row(graph, r, dual, at, line, there, n)
    if k == 0:
        dual.root[0] = own
    else:
        place = int64(dual.blocks.diagonal_at[k]) + (x - here) * (there - here + 1)
        dual.blocks.entries[place] += own


@leaf
def gap_of_row(
    graph: Graph, r: int, part: float, regulariser: Regulariser, dual: TripleDual
) -> float:
    """What a row adds to the gap whose mass is ``part`` times its minimiser's.

    Its distribution stays, so bounds add nothing: the divergences of its triples are all.
    """
    begin = row_begin(graph, r)
    gap = 0.0
    one = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        if dual.flow[e] > 0.0:
            if one == 0.0 or regulariser.kind != BARRIER:  # there it depends on the part alone
                one = divergence(regulariser, r, part * dual.flow[e], dual.flow[e])
            gap += one
    return gap


@interface.commit.register(TripleDual)
@leaf
def commit_triples(
    graph: Graph, measure: FixedMeasure, problem: TripleProblem, dual: TripleDual
) -> float:
    for r in range(measure.policy.shape[0]):
        x = r // graph.n_actions
        if measure.reached[x] == 0:
            measure.policy[r] = 1.0 / graph.n_actions
            continue
        measure.policy[r] = dual.total[r] / dual.outflow[x]
        begin = row_begin(graph, r)
        if not is_known(problem.rows, r):
            for e in range(begin, begin + row_size(graph, r)):
                measure.chance[e] = dual.flow[e] / dual.total[r]
    forward(graph, measure.chance, measure.policy, measure.mass)
    gap = 0.0
    for r in range(measure.policy.shape[0]):
        x = r // graph.n_actions
        if measure.reached[x] != 0:
            part = measure.mass[x] * measure.policy[r] / dual.total[r]
            gap += gap_of_row(graph, r, part, problem.regulariser, dual)
    return gap
