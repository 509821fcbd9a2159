"""A finished run as a store keeps it: the curves and the figures of its manifest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from advmdp.evaluation.rewards import Rewards, reward_steps
from advmdp.evaluation.run import Run
from advmdp.evaluation.schema import KEYS, SOLVER, STEPS, Level, columns, curves_of, final_value_of

Curves = dict[str, NDArray[Any] | None]
"""Arrays over evaluation points by column; None for quantities that the learner does not have."""


class RewardRange(Protocol):
    """The part of a spec that says which rewards the losses stand for."""

    @property
    def range(self) -> Rewards:
        """The conversion from losses to rewards."""


@dataclass(frozen=True)
class Outcome:
    """What a worker returns; it does not depend on how often the run was interrupted."""

    curves: Curves
    figures: dict[str, Any]


def outcome_of(run: Run, rewards: RewardRange | None = None, steps: int | None = None) -> Outcome:
    """The part of a ``Run`` that is stored; with ``rewards``, its figures in rewards too.

    ``steps`` is the number of steps of an episode that earn a reward.
    """
    figures: dict[str, Any] = {
        column.name: final_value_of(run, column)
        for column in columns(Level.RUN)
        if column.source is not None
        and column.name not in KEYS
        and not column.source.startswith(SOLVER)
    }
    figures["epoch_starts"] = None if run.epoch_starts is None else run.epoch_starts.tolist()
    figures["solver"] = None if run.solver is None else asdict(run.solver)
    if rewards is not None:
        curves = rewards.range.curves(run, steps)
        figures["rewards"] = {
            STEPS: reward_steps(run, steps),
            **{name: float(curve[-1]) for name, curve in curves.items()},
        }
    return Outcome(curves_of(run), figures)
