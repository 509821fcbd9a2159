"""What policy optimisation from bandit feedback shares: the set of the epoch, and its bounds."""

from __future__ import annotations

from typing import NamedTuple

from ...model.graph import Floats, Graph
from ...model.visits import EPISODES, OPENS, Counts, Visits, record, settle
from ...planning.columns import Columns, renew_columns
from ...planning.layer_extremes import Fill
from ...planning.occupancy_bounds import bound_of_state
from ...runtime.storage import Lasting, Number, Scratch
from ...runtime.targets import kernel, leaf
from ...sets.box.rows import BoxRows
from ...sets.confidence import open_epoch


class Believed(NamedTuple):
    """Counters, the confidence set of the epoch, and the work space of its bounds."""

    log_term: Number[float]  # ln(T |X| |A| / delta) of the widths, times its multiplier
    visits: Visits
    rows: BoxRows
    columns: Columns  # the same set, by successor
    fill: Fill
    reach: Scratch[Floats]  # (S,) f of the occupancy bounds


class Weighed(NamedTuple):
    """What the last update found out about the L visited pairs."""

    bound: Lasting[Floats]  # (L,) u_t
    estimate: Lasting[Floats]  # (L,) what was observed, over u_t + gamma


@leaf
def divide_by_bounds(
    policy: Floats, path: Counts, observed: float, k: int, bound: float, gamma: float, seen: Weighed
) -> None:
    """u_t and the estimate of the k-th visited pair, for the bound of its state."""
    seen.bound[k] = policy[path[k]] * bound
    seen.estimate[k] = observed / max(seen.bound[k] + gamma, 1e-300)


@leaf
def largest_occupancy(graph: Graph, x: int, k: int, policy: Floats, belief: Believed) -> float:
    """max over the set of q(x), for a state of layer k."""
    return bound_of_state(graph, x, k, policy, belief.columns, None, belief.fill, belief.reach)  # type: ignore[no-any-return]


@kernel
def renew_set(graph: Graph, belief: Believed, n_episodes: int, opens: bool) -> None:
    """The set of the next epoch, if one opens, after ``n_episodes`` were counted.

    The update is complete here, nothing can be taken back: the set needs no copy of its old rows.
    """
    visits, rows = belief.visits, belief.rows
    visits.clock[OPENS] = 1 if opens else 0
    if opens:
        open_epoch(graph, visits, rows, rows, belief.log_term)
        renew_columns(graph, visits, rows, belief.columns)
    visits.clock[EPISODES] += n_episodes - 1
    settle(visits)


@kernel
def learn_transition(graph: Graph, belief: Believed, states: Counts, path: Counts) -> None:
    """Count the trajectory; when a counter has doubled, the set of the next epoch."""
    renew_set(graph, belief, 1, record(graph, belief.visits, belief.rows.status, states, path))
