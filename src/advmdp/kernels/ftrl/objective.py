"""What a follow-the-regularised-leader step minimises, and how an episode is taken back."""

from __future__ import annotations

from typing import NamedTuple

from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_dot
from ..model.log_storage import linear
from ..model.visits import Counts
from ..runtime.storage import Choice, Lasting, Number, Scratch
from ..runtime.targets import kernel, leaf
from .dual import FixedDual
from .fixed_measure import FixedMeasure

# Places in ``FTRLStep.clock``.
AGE, PENDING, RENEWED = 0, 1, 2


class FTRLSettings(NamedTuple):
    """The constants of a run."""

    kind: Choice[int]  # HYBRID or ENTROPY
    model: Choice[int]  # EMPIRICAL or LOWER
    rate: Number[float]  # w = rate sqrt(episodes since the restart + 1)
    barrier: Number[float]  # b after a restart
    adapt: Number[float]  # b += adapt q^2 (Q - V)^2 / b
    learn: Number[float]  # m += learn (l - m) where a loss is seen
    bonus: Number[float]  # times the width of a row is taken off its loss
    log_term: Number[float]  # of these widths


class Objective(NamedTuple):
    """What the next iterate minimises."""

    cost: Lasting[Floats]  # (R,) C_t, shifted by a potential: cost + prediction = z of the iterate
    barrier: Lasting[Floats]  # (R,) b
    prediction: Lasting[Floats]  # (R,) m
    bonus: Lasting[Floats]  # (R,) taken off every loss


class FTRLStep(NamedTuple):
    """The iterate, its objective, and what an episode overwrites of it."""

    measure: FixedMeasure
    settings: FTRLSettings
    objective: Objective
    clock: Lasting[Counts]  # (3,) episodes since the restart, whether one is pending, whether the
    #                         last episode was one
    dual: FixedDual
    old: Scratch[Objective]
    old_clock: Scratch[Counts]  # (3,)
    old_chance: Scratch[Floats]  # (E,) before a restart
    old_reached: Scratch[Floats]  # (S,)


@leaf
def copy_objective(source: Objective, target: Objective) -> None:
    for r in range(source.cost.shape[0]):
        target.cost[r] = source.cost[r]
        target.barrier[r] = source.barrier[r]
        target.prediction[r] = source.prediction[r]
        target.bonus[r] = source.bonus[r]


@leaf
def keep_objective(step: FTRLStep) -> None:
    """Keep what this episode overwrites."""
    copy_objective(step.objective, step.old)
    for i in range(step.clock.shape[0]):
        step.old_clock[i] = step.clock[i]


@kernel
def take_back(step: FTRLStep) -> None:
    """The objective of before the episode, and the transition if it was renewed."""
    if step.clock[RENEWED] != 0:
        for e in range(step.old_chance.shape[0]):
            step.measure.chance[e] = step.old_chance[e]
        for x in range(step.old_reached.shape[0]):
            step.measure.reached[x] = 1 if step.old_reached[x] > 0.0 else 0
    copy_objective(step.old, step.objective)
    for i in range(step.clock.shape[0]):
        step.clock[i] = step.old_clock[i]


@leaf
def adapt_barrier(
    graph: Graph,
    measure: FixedMeasure,
    losses: Floats,
    value: Floats,
    factor: float,
    barrier: Floats,
) -> None:
    """b(x, a) += factor q_t(x, a)^2 (Q(x, a) - V(x))^2 / b(x, a), for the losses of an episode.

    Q and V are those of the played policy under the fixed transition: b^2 grows by 2 factor times
    the stability term of the analysis.  ``losses`` (R,) is overwritten with Q, ``value`` (S,) is V.
    """
    value[value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            mean = 0.0
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                losses[r] += row_dot(graph, r, measure.chance, value)
                mean += linear(measure.policy[r]) * losses[r]
            value[x] = mean
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                q = linear(measure.mass[x]) * linear(measure.policy[r])
                away = q * (losses[r] - mean)
                barrier[r] += factor * away * away / barrier[r]
