"""What became of an episode that was to be closed: learnt, known already, or refused, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

from advmdp.errors import AdvMDPError, StorageFailure
from advmdp.service.desk import Desk
from advmdp.service.journal import Event
from advmdp.service.open_episodes import number_of
from advmdp.service.receipts import GIVEN_UP
from advmdp.service.refusals import Conflict


class Closing(NamedTuple):
    """One answer of ``Service.finish_many``.

    ``status`` is ``"learnt"`` or ``"given up"``; ``"already"`` for a call that only repeats an
    earlier one; or says why nothing was changed: ``"conflict"`` with what closed the episode,
    ``"unknown"`` episode, ``"invalid"`` feedback.
    """

    number: int
    status: str
    error: str = ""

    @property
    def counts(self) -> bool:
        """Whether the episode is closed as the caller wanted."""
        return self.status in ("learnt", "given up", "already")


def close(desk: Desk, ticket: Any, feedback: Any) -> tuple[Closing, Event | None]:
    """Close an episode, with None as feedback by giving it up; an event if something changed.

    What is refused changes nothing.  ``StorageFailure`` is no answer, and is raised.
    """
    call = "abandon" if feedback is None else "finish"
    number = 0
    try:
        number = number_of(ticket, call)
        if number not in desk.open:
            return _of_the_past(desk, number, call, feedback), None
        episode = desk.open.find(ticket, call)
        if feedback is None:
            return Closing(number, "given up"), desk.give_up(episode)
        event = desk.learn(episode, desk.feedback(feedback))
        return Closing(number, "learnt"), event
    except StorageFailure:
        raise
    except Conflict as problem:  # another policy: the number was handed out twice
        return Closing(number, "conflict", str(problem)), None
    except AdvMDPError as problem:
        return Closing(number, "invalid", str(problem)), None


def _of_the_past(desk: Desk, number: int, call: str, feedback: Any) -> Closing:
    if number > desk.handed_out:
        return Closing(number, "unknown", f"{call}: episode {number} was never handed out")
    before = desk.receipts.closed_with(number)
    if before is None:
        why = f"{call}: episode {number} was closed long ago; drop what comes now"
    elif before == (GIVEN_UP if feedback is None else desk.digest(desk.feedback(feedback))):
        return Closing(number, "already")
    elif before == GIVEN_UP:
        why = f"{call}: episode {number} was given up; drop its feedback"
    elif feedback is None:
        why = f"{call}: episode {number} was learnt from already"
    else:
        why = f"{call}: episode {number} was learnt from with other feedback; drop this one"
    return Closing(number, "conflict", why)
