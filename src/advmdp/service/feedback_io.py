"""Tickets and feedback, also as plain dictionaries for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.layout import Table
from advmdp.learners.feedback import FullInformation, Trajectory
from advmdp.number_checks import shown

KEYS = {"states", "actions", "losses"}


class Ticket(NamedTuple):
    """An episode that was handed out: its number, and the policy to play it with."""

    number: int
    policy: Table
    context: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        plain = {"number": self.number, "policy": [table.tolist() for table in self.policy]}
        return plain if self.context is None else {**plain, "context": self.context}


def feedback_of(given: Any, sees_all: bool) -> Any:
    """Feedback as the learner takes it; a dictionary becomes one, anything else stays."""
    if not isinstance(given, Mapping):
        return given
    if set(given) != KEYS:
        names = shown(sorted(map(str, given)))
        raise InvalidInput(f"feedback: give states, actions and losses, not {names}")
    return (FullInformation if sees_all else Trajectory)(**given)


def plain_feedback(feedback: Any) -> dict[str, Any]:
    """The dictionary of a feedback that a learner has taken; numbers return to the last bit."""
    losses = feedback.losses
    if isinstance(feedback, FullInformation) and isinstance(losses, list | tuple):
        plain = [np.asarray(table, dtype=np.float64).tolist() for table in losses]
    else:
        plain = np.asarray(losses, dtype=np.float64).tolist()
    return {
        "states": np.asarray(feedback.states).tolist(),
        "actions": np.asarray(feedback.actions).tolist(),
        "losses": plain,
    }
