"""Forward occupancy and backward values: the two passes over a known transition."""

from __future__ import annotations

import math

from ..lanes.line_products import add_lines
from ..lanes.passes import HAS_LANES
from ..lanes.row_blocks import HAS_BLOCKS
from ..lanes.row_dots import eight_dots
from ..lanes.vectors import N_LANES
from ..runtime.targets import kernel, leaf
from ..runtime.threads import MAY_SHARE, barrier, broadcast, n_threads, shared, thread
from .graph import (
    Floats,
    Graph,
    has_full_rows,
    layer_begin,
    layer_end,
    n_layers,
    owner_of,
    row_add,
    row_begin,
    row_dot,
    row_part,
    row_size,
)
from .log_storage import linear

SHORT = 31  # successors of a row: longer rows are best read one after the other
LONG = 16  # entries of rows that are taken eight at a time


@kernel
def forward(graph: Graph, chance: Floats, policy: Floats, mass: Floats) -> None:
    """mass(x) = q^{P,pi}(x) for P = chance (Section 2.1 of the paper).

    Inflow equals outflow by construction, whatever the two tables are.
    """
    mass[0] = 1.0
    for x in range(1, mass.shape[0]):
        mass[x] = 0.0
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                flow = mass[x] * linear(policy[r])
                if flow > 0.0:  # of a deterministic policy most rows carry none
                    row_add(graph, r, chance, flow, mass)


@leaf
def are_alike(graph: Graph) -> bool:
    """Whether all rows are short and lead to all of the next layer."""
    full = True
    for k in range(n_layers(graph)):
        width = layer_end(graph, k + 1) - layer_end(graph, k)
        full = full and width <= SHORT and has_full_rows(graph, k)
    return full


@leaf
def pour_layer(
    graph: Graph, k: int, chance: Floats, policy: Floats, mass: Floats, flow: Floats
) -> None:
    """Add what flows out of layer k, whose rows are alike, to ``mass``; ``flow`` is scratch."""
    there = layer_end(graph, k)
    first = layer_begin(graph, k) * graph.n_actions
    n_rows = there * graph.n_actions - first
    for x in range(layer_begin(graph, k), there):
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            flow[r] = mass[x] * linear(policy[r])
    width = layer_end(graph, k + 1) - there
    add_lines(chance, row_begin(graph, first), n_rows, width, flow, first, mass, there)


@kernel
def forward_by_layers(
    graph: Graph, chance: Floats, policy: Floats, mass: Floats, flow: Floats
) -> None:
    """``forward`` where rows are alike: what flows into a state stays in a register."""
    mass[0] = 1.0
    for x in range(1, mass.shape[0]):
        mass[x] = 0.0
    for k in range(n_layers(graph)):
        pour_layer(graph, k, chance, policy, mass, flow)


@kernel
def forward_shared(
    graph: Graph, chance: Floats, policy: Floats, mass: Floats, flow: Floats
) -> None:
    """The same by several threads: each row's flow, then each state gathers in the same order.

    ``flow`` (R,) is scratch.  What several threads may run has to call this one: ``forward`` adds
    to ``mass`` in place, which is right only as long as they are in the same instruction.
    """
    if HAS_BLOCKS and are_alike(graph):
        forward_by_layers(graph, chance, policy, mass, flow)
        return
    if not MAY_SHARE or n_threads() == 1:
        forward(graph, chance, policy, mass)
        return
    mass[0] = 1.0
    for k in range(n_layers(graph)):
        there = layer_end(graph, k)
        first = layer_begin(graph, k) * graph.n_actions
        for r in shared(first, there * graph.n_actions):
            flow[r] = mass[owner_of(graph, r)] * linear(policy[r])
        barrier()
        for y in shared(there, layer_end(graph, k + 1)):
            total = 0.0
            for r in range(first, there * graph.n_actions):
                total += flow[r] * row_part(graph, r, chance, y)
            mass[y] = total
        barrier()


@leaf
def loss_of_row(graph: Graph, r: int, policy: Floats, mass: Floats, losses: Floats) -> float:
    return linear(mass[r // graph.n_actions]) * linear(policy[r]) * losses[r]


@kernel
def expected_loss(graph: Graph, policy: Floats, mass: Floats, losses: Floats) -> float:
    """<q, losses> for q(x, a) = mass(x) policy(a | x)."""
    total = 0.0
    if MAY_SHARE and n_threads() > 1:
        part = 0.0
        for r in range(losses.shape[0]):
            who = r % n_threads()  # each multiplies for some rows, all add up in the same order
            if who == 0 and r + thread() < losses.shape[0]:
                part = loss_of_row(graph, r + thread(), policy, mass, losses)
            total += broadcast(part, who)
        return total
    for x in range(mass.shape[0] - 1):
        here = linear(mass[x])
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            total += here * linear(policy[r]) * losses[r]
    return total


@leaf
def has_long_rows(graph: Graph, k: int) -> bool:
    """Whether all rows of layer k lead to all of the next one, and that is wide."""
    first = layer_begin(graph, k) * graph.n_actions
    end = layer_end(graph, k) * graph.n_actions
    width = layer_end(graph, k + 1) - layer_end(graph, k)
    n_entries = row_begin(graph, end) - row_begin(graph, first)
    return width >= LONG and n_entries == width * (end - first)


@leaf
def all_row_dots(graph: Graph, k: int, chance: Floats, value: Floats, out: Floats) -> None:
    """out(r) = <row r, value>  for all rows of layer k."""
    r = layer_begin(graph, k) * graph.n_actions
    end = layer_end(graph, k) * graph.n_actions
    there = layer_end(graph, k)
    while r + N_LANES <= end:
        eight_dots(chance, row_begin(graph, r), value, there, row_size(graph, r), r, out)
        r += N_LANES
    while r < end:
        out[r] = row_dot(graph, r, chance, value)
        r += 1


@kernel
def best_response(
    graph: Graph, chance: Floats, losses: Floats, value: Floats, policy: Floats
) -> float:
    """The deterministic policy of least expected loss by backward induction; returns that loss.

    Ties go to the first action, so that the comparator is the same on every machine.
    """
    value[value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        together = HAS_LANES and has_long_rows(graph, k)
        if together:
            all_row_dots(graph, k, chance, value, policy)
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            best = math.inf
            choice = -1
            for a in range(graph.n_actions):
                r = x * graph.n_actions + a
                later = policy[r] if together else row_dot(graph, r, chance, value)
                policy[r] = 0.0
                cost = losses[r] + later
                if cost < best:
                    best = cost
                    choice = r
            policy[choice] = 1.0
            value[x] = best
    return value[0]
