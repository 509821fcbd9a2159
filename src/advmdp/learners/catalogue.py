"""The learners by name: the only table to edit when one is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from advmdp.learners.uniform import Uniform
from advmdp.learners.uob_reps import UOBREPS


@dataclass(frozen=True)
class Entry:
    """How a learner is made: ``make(layout, n_episodes=..., ...)``.

    With ``knows_transition`` the true transition is handed over openly, as ``transitions=...``.
    """

    make: Callable[..., Any]
    setting: str
    knows_transition: bool = False
    has_horizon: bool = True


LEARNERS: dict[str, Entry] = {
    "uob-reps": Entry(UOBREPS, "unknown P, bandit, adversarial"),
    "uniform": Entry(Uniform, "naive", has_horizon=False),
}
