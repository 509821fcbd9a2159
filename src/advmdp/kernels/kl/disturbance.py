"""What the first evaluation of a projection would find, where only a path has been re-weighted.

At beta = 0 rows that lie in their sets are their own solutions.  In an episode that opens no epoch
all of them do, and flow was conserved before the losses of the path came: with d(k) the flow that
the visited row of layer k has lost to its new weight,

    Z_k = 1 + d(k),   outflow(x_k) = (q(x_k) + d(k)) / Z_k,   inflow(y) = (q(y) + d(k) p(y)) / Z_k,

and the other states of a layer have q(x) / Z_k.  These are all that the first Newton step needs
when it takes the factors of the last one (``linear/kept_factor``): a sweep is saved.  Whatever is
committed comes from an evaluation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..model.graph import Floats, Graph, layer_begin, layer_end, owner_of, row_add
from ..model.log_storage import linear
from ..model.measure import Measure
from ..model.visits import Counts
from ..runtime.storage import Alone
from ..runtime.targets import FOR_CUDA, kernel, leaf
from .dual import Dual
from .linear.kept_factor import KeptFactor

LEAST_LEFT = 1e-3  # of a weight: the flow that is left is a difference, good to this part less


class Disturbance(NamedTuple):
    """The path whose weights have changed since the last solution; not looked at on a card."""

    n_rows: Alone[Counts]  # (1,) the length of the path, or 0 where more may have changed
    rows: Alone[Counts]  # (L,)
    change: Alone[Floats]  # (L,) new weight less old weight, parts of the state's


@leaf
def forget_disturbance(disturbance: Disturbance) -> None:
    """Anything may have changed."""
    for i in range(disturbance.n_rows.shape[0]):
        disturbance.n_rows[i] = 0


@leaf
def note_disturbance(
    disturbance: Disturbance, path: Counts, old_policy: Floats, policy: Floats
) -> None:
    """Nothing has changed but the weights of a path, of which some is left."""
    some_left = True
    for k in range(disturbance.rows.shape[0]):
        r = path[k]
        disturbance.rows[k] = r
        disturbance.change[k] = linear(policy[r]) - linear(old_policy[r])
        some_left = some_left and linear(policy[r]) >= LEAST_LEFT * linear(old_policy[r])
    for i in range(disturbance.n_rows.shape[0]):
        disturbance.n_rows[i] = path.shape[0] if some_left else 0


@leaf
def is_known(rows: Any, disturbance: Disturbance, kept: KeptFactor) -> bool:
    """Whether ``flows_after_path`` tells enough for the first Newton step."""
    if FOR_CUDA or disturbance.n_rows.shape[0] == 0 or kept.is_there.shape[0] == 0:
        return False
    alone = disturbance.n_rows[0] > 0 and kept.is_there[0] != 0
    return alone and bool(rows.least_occupancy == 0.0)


@kernel
def flows_after_path(graph: Graph, measure: Measure, disturbance: Disturbance, dual: Dual) -> float:
    """G and the flows at beta = 0; NaN if floats cannot hold them."""
    flows = dual.flows
    n = measure.mass.shape[0]
    for x in range(n):
        flows.inflow[x] = linear(measure.mass[x])
        flows.outflow[x] = flows.inflow[x]
    value = 0.0
    for k in range(disturbance.rows.shape[0]):
        r = disturbance.rows[k]
        x = owner_of(graph, r)
        lost = linear(measure.mass[x]) * disturbance.change[k]
        z = 1.0 + lost
        value += math.log(z) if z > 0.0 else math.nan
        flows.outflow[x] += lost
        row_add(graph, r, measure.chance, lost, flows.inflow)
        for y in range(layer_begin(graph, k), layer_end(graph, k)):
            flows.outflow[y] /= z
        for y in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
            flows.inflow[y] /= z
    return value
