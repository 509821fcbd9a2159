"""Which feedback counts: episodes handed out under frozen policies, and learnt from in any order.

The part of a service that knows neither threads nor files.
"""

from __future__ import annotations

from typing import Any

from advmdp.errors import InvalidInput
from advmdp.learners.base import (
    IssuesRecords,
    TakesContexts,
    checked_learner,
    horizon_of,
    offers,
    sees_all_losses,
    takes_any_losses,
)
from advmdp.learners.feedback import with_clipped_losses
from advmdp.number_checks import whole_number
from advmdp.range_policy import checked_outside
from advmdp.service.feedback_io import feedback_of
from advmdp.service.journal import Event
from advmdp.service.loss_history import LossHistory, total_loss
from advmdp.service.open_episodes import Issued, OpenEpisode, OpenEpisodes, issue


class Desk:
    """A learner, the episodes that are open, and how many are closed."""

    def __init__(self, learner: Any, losses_outside: Any = "refuse") -> None:
        self.learner = checked_learner(learner)
        self.losses_outside = checked_outside(losses_outside, "losses_outside")
        self.history = LossHistory()
        self.clipped = 0
        self.finished = 0
        self.abandoned = 0
        self.open = OpenEpisodes()
        self._issued: Issued | None = None

    @property
    def closed(self) -> int:
        """Episodes that were finished or given up."""
        return self.finished + self.abandoned

    def hand_out(self, context: Any) -> OpenEpisode:
        """A new episode with the policy of now; refused where the learner could not learn it."""
        self._check_may_begin(context)
        if context is not None:
            self.learner.enter(context)
            self._issued = None
        if self._issued is None:
            self._issued = issue(self.learner, offers(self.learner, IssuesRecords))
        number = self.closed + len(self.open) + 1
        episode = OpenEpisode(number, context, self._issued)
        self.open.add(episode)
        return episode

    def _check_may_begin(self, context: Any) -> None:
        learner = self.learner
        takes_many = offers(learner, IssuesRecords) or sees_all_losses(learner)
        if len(self.open) and not takes_many:
            first = next(iter(self.open)).number
            raise InvalidInput(
                f"begin: episode {first} is still open, and {type(learner).__name__} learns from "
                "one at a time; finish or abandon it first, or serve UOBREPS"
            )
        planned = horizon_of(learner)
        if planned is not None and learner.episodes + len(self.open) >= planned:
            raise InvalidInput(
                f"begin: the learner was made for n_episodes={planned}, and all are handed out; "
                "use advmdp.Doubling where the number is not known"
            )
        if context is not None and not offers(learner, TakesContexts):
            raise InvalidInput(
                f"context: {type(learner).__name__} takes none; serve PerContext of it"
            )

    def learn(self, episode: OpenEpisode, feedback: Any) -> Event:
        """Learn from an open episode and close it; what the learner refuses leaves it open.

        Returns what a journal needs to do it again.
        """
        clipped = 0
        if self.losses_outside == "clip" and not takes_any_losses(self.learner):
            feedback, clipped = with_clipped_losses(feedback)
        if episode.context is not None:
            self.learner.enter(episode.context)
        record = episode.issued.record
        if record is None or record.number == self.learner.episodes + 1:
            self.learner.update(feedback)  # it has not moved since: the record says nothing new
        else:
            self.learner.update(feedback, record)
        self._issued = None
        self.history.add(total_loss(feedback, self.learner))
        self.open.remove(episode.number)
        self.finished += 1
        self.clipped += clipped
        return {"finish": episode.number, "clipped": clipped, "feedback": feedback}

    def give_up(self, episode: OpenEpisode) -> None:
        """Close an open episode without learning from it."""
        self.open.remove(episode.number)
        self.abandoned += 1

    def repeat(self, event: Event) -> None:
        """Do again what an event of a journal says; ``KeyError`` or ``ValueError`` if it cannot."""
        if "begin" in event:
            if self.hand_out(event["context"]).number != event["begin"]:
                raise ValueError(f"episode {event['begin']}")
        elif "finish" in event:
            clipped = whole_number(event["clipped"], "clipped", least=0)
            feedback = feedback_of(event["feedback"], self.learner)
            self.learn(self.open.find(event["finish"], "finish"), feedback)
            self.clipped += clipped  # the journal has the losses as they were learnt from
        else:
            self.give_up(self.open.find(event["abandon"], "abandon"))
