"""Hints: what the coming losses may be, which the next iterate minimises as well.

With m_t the hint of episode t, the step is that of optimistic mirror descent,

    q_{t+1} = argmin over the set of  eta <q, l^_t - m_t + m_{t+1}> + D(q || q_t):

q_t has heard m_t, which is taken back when the losses are there, and q_{t+1} hears m_{t+1}.  For
a learner that follows the leader this is argmin <q, m_{t+1} + sum of l^_s> + R_t(q).  Where losses
are estimated the hint is their baseline too (``baseline``), so that what is wrong with it
is all that varies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...model.graph import Floats, Graph
from ...model.recent import Recent, give_back_recent, keep_recent, remember
from ...runtime.storage import Choice, Lasting, Scratch
from ...runtime.targets import kernel
from ...runtime.threads import barrier, shared
from ...steps.interface import replace_hint
from .baseline import NO_BASELINE, Baseline

NO_HINT, GIVEN, ALL_PAIRS, OWN_PATH = 0, 1, 2, 3


class Hint(NamedTuple):
    """The hint of the coming episode; arrays without entries where there is none."""

    kind: Choice[int]  # NO_HINT; GIVEN, or the mean of what was seen of ALL_PAIRS or the OWN_PATH
    coming: Lasting[Floats]  # (R,) m_{t+1} of GIVEN
    recent: Recent  # its mean is m_t, which the iterate has heard
    kept: Scratch[Recent]  # what an episode overwrites of it


@kernel
def hear_next(
    graph: Graph,
    step: Any,
    hint: Hint,
    baseline: Baseline,
    episode: int,
    losses: Floats,
    eta: float,
) -> bool:
    """Turn from m_t to m_{t+1}, after the losses were added; whether they differ."""
    mean = hint.recent.mean
    keep_recent(hint.recent, episode, hint.kept)
    if hint.kind == ALL_PAIRS:
        remember(hint.recent, episode, losses)
    elif hint.kind == OWN_PATH:
        for r in shared(0, mean.shape[0]):
            mean[r] = baseline.mean[r]
    else:
        for r in shared(0, mean.shape[0]):
            mean[r] = hint.coming[r]
            if baseline.kind != NO_BASELINE:
                baseline.mean[r] = hint.coming[r]
    barrier()
    replace_hint(graph, step, hint.kept.mean, mean, eta)
    changed = False
    for r in range(mean.shape[0]):
        changed = changed or mean[r] != hint.kept.mean[r]
    return changed


@kernel
def take_back_hint(hint: Hint, baseline: Baseline, episode: int) -> None:
    """m_t again; what the step holds of it goes with its losses (``remove_losses``)."""
    give_back_recent(hint.kept, episode, hint.recent)
    if hint.kind == GIVEN and baseline.kind != NO_BASELINE:
        for r in range(baseline.mean.shape[0]):
            baseline.mean[r] = hint.recent.mean[r]
