"""Tickets and feedback, also as plain dictionaries for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.layout import Table
from advmdp.learners.contract_checks import sees_all_losses, sees_the_sum
from advmdp.learners.feedback import Aggregate, FullInformation, Trajectory


class Ticket(NamedTuple):
    """An episode that was handed out: its number, and the policy to play it with."""

    number: int
    policy: Table
    context: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        plain = {"number": self.number, "policy": [table.tolist() for table in self.policy]}
        return plain if self.context is None else {**plain, "context": self.context}

    @property
    def stub(self) -> Stub:
        """What of the ticket has to be sent with its feedback."""
        return Stub(self.number, stamp_of(self.policy))


class Stub(NamedTuple):
    """A ticket in short: its number, and a stamp that only its policy has."""

    number: int
    stamp: str


def stamp_of(policy: Any) -> str:
    """A digest of a policy, of 16 hexadecimal digits."""
    digest = blake2b(digest_size=8)
    for table in policy:
        digest.update(np.ascontiguousarray(table, dtype=np.float64).tobytes())
    return digest.hexdigest()


def feedback_of(given: Any, learner: Any) -> Any:
    """Feedback as the learner takes it; a dictionary becomes one, anything else stays."""
    if not isinstance(given, Mapping):
        return given
    kind: Any = (
        FullInformation
        if sees_all_losses(learner)
        else Aggregate
        if sees_the_sum(learner)
        else Trajectory
    )
    needed = kind.__match_args__  # the names of its fields
    if given.keys() != set(needed):
        names = shown(sorted(map(str, given)))
        raise InvalidInput(f"feedback: give {', '.join(needed)}, not {names}")
    return kind(**given)


def plain_feedback(feedback: Any) -> dict[str, Any]:
    """The dictionary of a feedback that a learner has taken; numbers return to the last bit."""
    path = {
        "states": np.asarray(feedback.states).tolist(),
        "actions": np.asarray(feedback.actions).tolist(),
    }
    if isinstance(feedback, Aggregate):
        return {**path, "total": float(feedback.total)}
    losses = feedback.losses
    if isinstance(feedback, FullInformation) and isinstance(losses, list | tuple):
        plain = [np.asarray(table, dtype=np.float64).tolist() for table in losses]
    else:
        plain = np.asarray(losses, dtype=np.float64).tolist()
    return {**path, "losses": plain}
