"""Baselines of loss estimates (control variates): what a pair is expected to cost.

With m(x, a) the decayed mean of the losses seen at a pair, and v_t >= u_t an upper occupancy bound
that takes one pass (``planning/upper_occupancy: loose_state_occupancies``),

    b_t(x, a)  = m(x, a) v_t(x, a) / (v_t(x, a) + gamma_0)                (gamma_0 = 0: b_t = m)
    l^_t(x, a) = b_t(x, a) + (l_t(x, a) - b_t(x, a)) 1{visited} / (u_t(x, a) + gamma).

Pairs off the path are estimated at b_t in place of 0, and those on it by what they differ from it:
less variance where m is right.  ``docs/baselines.md`` has what that does to the bias.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...model.graph import Floats, Graph, owner_of
from ...model.log_storage import linear
from ...model.visits import Counts
from ...planning.upper_occupancy import loose_state_occupancies
from ...runtime.storage import Choice, Lasting, Number, Scratch
from ...runtime.targets import kernel
from ...runtime.threads import barrier, shared

NO_BASELINE, UNDAMPED, DAMPED = 0, 1, 2


class Baseline(NamedTuple):
    """The means and the estimates of all pairs; arrays without entries where there is none."""

    kind: Choice[int]  # NO_BASELINE, UNDAMPED, DAMPED, or one of ``aggregate``
    memory: Number[int]  # visits that m averages over; older ones fade; 0 for an m from outside
    damping: Number[float]  # gamma_0
    limit: Number[float]  # of |l^|, as the step has it for estimates without a baseline
    mean: Lasting[Floats]  # (R,) m
    seen: Lasting[Counts]  # (R,) visits in m, at most ``memory``
    reach: Scratch[Floats]  # (S,) v_t of states
    estimate: Scratch[Floats]  # (R,) l^_t
    inner: Scratch[Floats]  # (1,) <q^_t, l^_t>
    old_mean: Scratch[Floats]  # (L,) m of the visited pairs before the episode
    old_seen: Scratch[Counts]  # (L,)


@kernel
def write_baseline(graph: Graph, baseline: Baseline, policy: Floats, rows: Any) -> None:
    """Put b_t of every row where the estimates go."""
    if baseline.kind == DAMPED:
        loose_state_occupancies(graph, policy, rows, baseline.reach)
    for r in shared(0, policy.shape[0]):
        baseline.estimate[r] = baseline.mean[r]
        if baseline.kind == DAMPED:
            bound = baseline.reach[owner_of(graph, r)] * linear(policy[r])
            baseline.estimate[r] *= bound / max(bound + baseline.damping, 1e-300)
    barrier()


@kernel
def estimate_everywhere(
    graph: Graph,
    baseline: Baseline,
    issued: Any,
    visited: Any,
    path: Counts,
    gamma: float,
) -> None:
    """Complete the estimates l / (u + gamma) of the visited pairs, and write those of all pairs."""
    write_baseline(graph, baseline, issued.policy, issued.rows)
    limit = baseline.limit
    for k in shared(0, path.shape[0]):
        b = baseline.estimate[path[k]]
        divisor = max(visited.bound[k] + gamma, 1e-300)
        estimate = visited.estimate[k] + b * (1.0 - 1.0 / divisor)
        visited.estimate[k] = min(max(estimate, -limit), limit)
        baseline.estimate[path[k]] = visited.estimate[k]
    barrier()
    inner = 0.0
    for r in range(baseline.estimate.shape[0]):
        occupancy = linear(issued.mass[owner_of(graph, r)]) * linear(issued.policy[r])
        inner += occupancy * baseline.estimate[r]
    baseline.inner[0] = inner


@kernel
def remember_losses(baseline: Baseline, path: Counts, losses: Floats) -> None:
    """Average the losses of the path: the first visits alike, then fading over ``memory``."""
    if baseline.memory == 0:
        return
    for k in shared(0, path.shape[0]):
        r = path[k]
        baseline.old_mean[k] = baseline.mean[r]
        baseline.old_seen[k] = baseline.seen[r]
        baseline.seen[r] = min(baseline.seen[r] + 1, np.int64(baseline.memory))
        baseline.mean[r] += (losses[k] - baseline.mean[r]) / baseline.seen[r]
    barrier()


@kernel
def forget_losses(baseline: Baseline, path: Counts) -> None:
    """Take back ``remember_losses``."""
    if baseline.memory == 0:
        return
    for k in range(path.shape[0]):
        baseline.mean[path[k]] = baseline.old_mean[k]
        baseline.seen[path[k]] = baseline.old_seen[k]
