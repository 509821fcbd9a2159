"""Between two measures: the weights  q^r q_1^{1-r}.

Mirror descent that changes its learning rate from eta' to eta projects  q^r q_1^{1-r} e^{-eta l}
with r = eta / eta': the first iterate q_1 then counts as it would under the new rate, and with a
smaller r the past is forgotten.  Everything is in log storage, so neither small shares nor large
losses lose anything.
"""

from __future__ import annotations

from typing import Any

from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_begin, row_size
from ...model.log_storage import logarithm
from ...model.measure import Measure
from ...model.measure import copy_measure as copy_measure
from ...model.row_status import is_known
from ...runtime.targets import kernel, leaf
from ..merged.merged_rows import note_all_rows
from .log_weights import normalise_row, share_layer, share_state


@leaf
def mixed_log(one: float, other: float, share: float) -> float:
    """share ln one + (1 - share) ln other, of two probabilities in log storage.

    What is impossible in either is so in the mean, unless its share is zero.
    """
    total = 0.0
    if share > 0.0:
        total += share * logarithm(one)
    if share < 1.0:
        total += (1.0 - share) * logarithm(other)
    return total


@kernel
def mix_measures(
    graph: Graph, rows: Any, measure: Measure, first: Measure, share: float, scratch: Floats
) -> None:
    """measure = measure^share first^(1 - share), each layer normalised; ``scratch`` is (R,).

    Known rows have the same transition in both measures, and keep it.
    """
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                scratch[r] = mixed_log(measure.policy[r], first.policy[r], share)
                if not is_known(rows, r):
                    begin = row_begin(graph, r)
                    for e in range(begin, begin + row_size(graph, r)):
                        measure.chance[e] = mixed_log(measure.chance[e], first.chance[e], share)
                    scratch[r] += normalise_row(begin, row_size(graph, r), measure.chance)
            log_mass = mixed_log(measure.mass[x], first.mass[x], share)
            measure.mass[x] = log_mass + share_state(graph, x, measure, scratch)
        share_layer(graph, k, measure)


@kernel
def pull_towards(
    graph: Graph, step: Any, rows: Any, first: Measure, share: float, before: Measure
) -> None:
    """Make the iterate q^share q_1^(1 - share), all in log storage, as weights of the next step.

    A whole step  q_{t+1} = Pi(q_t^r q_1^{1-r} e^{-eta l})  is

        pull_towards(graph, step, rows, first, r, before)
        add_losses(graph, step, losses, eta)                # e^{-eta l}, of any size
        if not solve_step(graph, step, rows, None) and not solve_step(graph, step, rows, True):
            copy_measure(before, step.measure)              # refused: the iterate as it was

    ``before`` is a measure that takes the iterate, and ``rows`` the set of the coming projection:
    what the last one found out about the rows' room is looked up anew.  A share of 1 changes
    nothing but that.
    """
    copy_measure(step.measure, before)
    if share != 1.0:
        mix_measures(graph, rows, step.measure, first, share, step.solver.dual.held.gain)
        note_all_rows(graph, step.measure, rows, step.solver.dual)
