"""Rows without bounds, and rows with one transition."""

from __future__ import annotations

import math

from ...model.graph import Floats, Graph, row_begin, row_size
from ...runtime.targets import kernel, leaf
from ..regulariser import (
    BARRIER,
    Regulariser,
    is_in_domain,
    marginal_and_bend,
    minimiser,
    regularised,
)
from .dual import TripleDual
from .row_search import LEAST_LOG, MOST_LOG, MOST_SEARCH, guarded

CLOSE = 1e-14  # of ln S
SMALLEST, LARGEST = 1e-200, 1e200  # products beyond are not multiplied further


@leaf
def may_end(dual: TripleDual) -> bool:
    """Whether rows may sum to less than one."""
    return dual.reduced.shape[0] > dual.flow.shape[0]  # type: ignore[no-any-return]


@leaf
def sum_of_phi(graph: Graph, r: int, regulariser: Regulariser, dual: TripleDual) -> float:
    """The sum of phi(q_j) over what can happen; a log barrier's by the logarithm of a product."""
    begin = row_begin(graph, r)
    value = 0.0
    if regulariser.kind == BARRIER:
        product = 1.0
        for e in range(begin, begin + row_size(graph, r)):
            if dual.flow[e] > 0.0:
                if not (SMALLEST < product < LARGEST):
                    value += math.log(product)
                    product = 1.0
                product *= dual.flow[e]
        return -regulariser.barrier[r] * (value + math.log(product))
    for e in range(begin, begin + row_size(graph, r)):
        if dual.flow[e] > 0.0:
            value += regularised(regulariser, r, dual.flow[e])
    return value


@leaf
def solve_free_row(graph: Graph, r: int, regulariser: Regulariser, dual: TripleDual) -> float:
    """The minimum of a row without bounds; NaN outside the domain."""
    begin = row_begin(graph, r)
    total = 0.0
    t = 0.0
    paid = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        if not is_in_domain(regulariser, dual.cost[e]):
            return math.nan
        q, bend = minimiser(regulariser, r, dual.cost[e])
        dual.flow[e] = q
        dual.weight[e] = bend
        total += q
        t += bend
        paid += q * dual.cost[e]
    inverse = 1.0 / t
    for e in range(begin, begin + row_size(graph, r)):
        dual.tie[e] = dual.weight[e] * inverse
    dual.total[r] = total
    dual.inverse_weight[r] = -1.0
    dual.inverse_tie[r] = t
    return paid + sum_of_phi(graph, r, regulariser, dual)


@kernel
def mass_of_known_row(
    graph: Graph, r: int, regulariser: Regulariser, chance: Floats, paid: float, start: float
) -> tuple[float, float]:
    """S with  paid = sum of p_j (-phi'(S p_j)),  and the second derivative of the row in S.

    The right side falls with S.  Newton's method on ln S, inside of brackets.
    """
    begin = row_begin(graph, r)
    low = -math.inf
    high = math.inf
    log_mass = math.log(start)
    stiff = 0.0
    for _ in range(MOST_SEARCH):
        mass = math.exp(log_mass)
        push = 0.0
        stiff = 0.0
        for e in range(begin, begin + row_size(graph, r)):
            p = chance[e]
            if p > 0.0:
                one, curved = marginal_and_bend(regulariser, r, p * mass)
                push += p * one
                stiff += p * p * curved
        if push < paid:
            high = log_mass
        else:
            low = log_mass
        change = (push - paid) / (stiff * mass)
        trial = guarded(log_mass + change, low, high, log_mass, 2.0)
        if abs(change) <= CLOSE or trial == log_mass:
            return mass, stiff
        if not (LEAST_LOG < trial < MOST_LOG):
            return math.nan, stiff
        log_mass = trial
    return math.nan, stiff


@leaf
def solve_known_row(
    graph: Graph, r: int, regulariser: Regulariser, chance: Floats, dual: TripleDual
) -> float:
    """The minimum of a row with one transition, of which only what can happen counts.

    What is missing from a row that sums to less than one pays the cost of the episode's end.
    """
    begin = row_begin(graph, r)
    paid = 0.0
    rest = 1.0
    for e in range(begin, begin + row_size(graph, r)):
        paid += chance[e] * dual.cost[e]
        rest -= chance[e]
    if may_end(dual):
        paid += rest * dual.cost[dual.flow.shape[0] + r]
    if not is_in_domain(regulariser, paid):
        return math.nan
    mass, stiff = mass_of_known_row(graph, r, regulariser, chance, paid, dual.scale[r])
    if not (mass > 0.0):
        return math.nan
    dual.scale[r] = mass
    for e in range(begin, begin + row_size(graph, r)):
        dual.flow[e] = mass * chance[e]
        dual.weight[e] = 0.0
        dual.tie[e] = chance[e]
    dual.total[r] = mass
    dual.inverse_weight[r] = 0.0
    dual.inverse_tie[r] = 1.0 / stiff
    return mass * paid + sum_of_phi(graph, r, regulariser, dual)
