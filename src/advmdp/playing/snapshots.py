"""What a snapshot of a run holds, part by part, and the way back into a learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.recorder import Snapshot
from advmdp.learners.base import Resumable, offers
from advmdp.learners.tuning import refuse_too_many_episodes


class NotResumable(InvalidInput):
    """A part of the run cannot hand out its state, so that no snapshot can be taken."""


def stateful(part: Any) -> Any:
    """The learner or the stream of losses, which must offer its state."""
    if not offers(part, Resumable):
        raise NotResumable(
            f"play: {type(part).__name__} has no state() and restore(), "
            "which snapshots need; leave out keep and resume, or add them"
        )
    return part


def part_of(name: str, snapshot: Mapping[str, NDArray[Any]]) -> Snapshot:
    prefix = f"{name}."
    return {key.removeprefix(prefix): a for key, a in snapshot.items() if key.startswith(prefix)}


def restore_learner(learner: Any, snapshot: Mapping[str, NDArray[Any]], n_episodes: int) -> None:
    """Restore the learner; the episodes that remain must be within its horizon."""
    before = stateful(learner).state()
    learner.restore(part_of("learner", snapshot))
    try:
        refuse_too_many_episodes(learner, n_episodes - int(snapshot["episodes"]), "resume")
    except InvalidInput:
        learner.restore(before)
        raise
