"""Which feedback counts: episodes handed out under frozen policies, and learnt from in any order.

The part of a service that knows neither threads nor files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advmdp.checks.numbers import whole_number
from advmdp.checks.range_policy import checked_outside
from advmdp.errors import InvalidInput
from advmdp.layout import Table
from advmdp.learners.adaptive.range_follower import RangeFollower
from advmdp.learners.base import HasLayout, IssuesRecords, TakesContexts, context_of, offers
from advmdp.learners.contract_checks import (
    checked_learner,
    horizon_of,
    sees_all_losses,
    takes_any_losses,
)
from advmdp.learners.feedback import with_clipped_losses
from advmdp.service.draws import drawn, new_key, uniform
from advmdp.service.feedback_io import feedback_of, plain_feedback
from advmdp.service.journal import Event
from advmdp.service.loss_history import LossHistory, total_loss
from advmdp.service.open_episodes import Issued, OpenEpisode, OpenEpisodes, issue, number_of
from advmdp.service.receipts import GIVEN_UP, Receipts, digest_of_feedback, digest_of_key
from advmdp.service.refusals import Conflict, TooManyOpen, UnknownEpisode
from advmdp.service.words import Words


class Desk:
    """A learner, the episodes that are open, and how many are closed."""

    def __init__(self, learner: Any, losses_outside: Any = "refuse") -> None:
        self.learner = checked_learner(learner)
        self.losses_outside = checked_outside(losses_outside, "losses_outside")
        self.following: RangeFollower | None = None
        if self.losses_outside == "adapt" and not takes_any_losses(learner):
            self.following = RangeFollower(learner, "losses_outside")
        self.begun_anew_after = 0
        """Episodes handed out before the learner last began again: their policies were not its."""
        self.history = LossHistory()
        self.clipped = 0
        self.finished = 0
        self.abandoned = 0
        self.most_open: int | None = None
        self.open = OpenEpisodes()
        self.receipts = Receipts()
        self.draw_key = new_key()
        self.words = Words(learner.layout) if offers(learner, HasLayout) else None
        self._issued: Issued | None = None

    @property
    def closed(self) -> int:
        """Episodes that were finished or given up."""
        return self.finished + self.abandoned

    @property
    def handed_out(self) -> int:
        """Episodes so far; the last one has this number."""
        return self.closed + len(self.open)

    def find(self, ticket: Any, call: str) -> OpenEpisode:
        """The open episode of a ticket, or of its number."""
        number = number_of(ticket, call)
        if number > self.handed_out:
            raise UnknownEpisode(f"{call}: episode {number} was never handed out")
        return self.open.find(ticket, call)

    def handed_out_as(self, key: bytes, context: Any) -> OpenEpisode | None:
        """The open episode that was begun with this key, for a caller who begins it again."""
        number = self.receipts.number_of(key)
        if number is None:
            return None
        if number not in self.open:
            raise Conflict(
                f"episode {number} was begun with it and is closed; choose a new one", field="key"
            )
        episode = self.open.find(number, "begin")
        if episode.context != context:
            raise Conflict(
                f"episode {number} was begun with it in context {episode.context}; choose a new "
                "one",
                field="key",
            )
        return episode

    def hand_out(self, context: Any, key: bytes | None = None) -> OpenEpisode:
        """A new episode with the policy of now; refused where the learner could not learn it.

        ``key`` is a digest, see ``advmdp.service.receipts``.
        """
        self._check_may_begin(context)
        if context is not None:
            self.learner.enter(context)
            self._issued = None
        if self._issued is None:
            self._issued = issue(self.learner, offers(self.learner, IssuesRecords))
        episode = OpenEpisode(self.handed_out + 1, context, self._issued)
        self.open.add(episode)
        if key is not None:
            self.receipts.note_key(episode.number, key)
        return episode

    def policy(self, context: Any) -> Table:
        """The policy of the next episode; asking changes nothing."""
        if context is None:
            return [table.copy() for table in self.learner.policy()]
        if not offers(self.learner, TakesContexts):
            raise InvalidInput(_takes_none(self.learner))
        before = context_of(self.learner)
        if before is None:
            raise InvalidInput(
                f"context: a {type(self.learner).__name__} does not say which one it is in; begin "
                "an episode to see its policy"
            )
        self.learner.enter(context)
        try:
            return [table.copy() for table in self.learner.policy()]
        finally:
            self.learner.enter(before)

    def action(self, episode: OpenEpisode, layer: Any, state: Any) -> int:
        """An action from the policy of an open episode; to the same question the same one."""
        if self.words is None:
            raise InvalidInput(f"act: a {type(self.learner).__name__} has no layout")
        k = self.words.checked_layer(layer)
        x = self.words.checked_state(k, state)
        return drawn(episode.issued.policy[k][x], uniform(self.draw_key, episode.number, k, x))

    def check_context(self, context: Any) -> None:
        """Refuse to take an episode without one to be in the context of the last."""
        number = self.learner.n_contexts if offers(self.learner, TakesContexts) else 1
        if context is None and number > 1:
            raise InvalidInput(
                f"begin: {type(self.learner).__name__} has {number} contexts; say which, "
                "begin(context=0)"
            )

    def _check_may_begin(self, context: Any) -> None:
        learner = self.learner
        takes_many = offers(learner, IssuesRecords) or sees_all_losses(learner)
        if len(self.open) and not takes_many:
            first = next(iter(self.open)).number
            raise Conflict(
                f"begin: episode {first} is still open, and {type(learner).__name__} learns from "
                "one at a time; finish or abandon it first, or serve UOBREPS"
            )
        if self.most_open is not None and len(self.open) >= self.most_open:
            raise TooManyOpen(
                f"begin: {len(self.open)} episodes are open, the most that are allowed; finish or "
                "abandon some first"
            )
        planned = horizon_of(learner)
        if planned is not None and learner.episodes + len(self.open) >= planned:
            raise Conflict(
                f"begin: the learner was made for n_episodes={planned}, and all are handed out; "
                "use advmdp.Doubling where the number is not known"
            )
        if context is not None and not offers(learner, TakesContexts):
            raise InvalidInput(_takes_none(learner))

    def learn(self, episode: OpenEpisode, feedback: Any) -> Event:
        """Learn from an open episode and close it; what the learner refuses leaves it open.

        Returns what a journal needs to do it again.
        """
        feedback, clipped = self._within_range(feedback)
        if episode.context is not None:
            self.learner.enter(episode.context)
        if self.following is None:
            self._update(feedback, episode)
        else:
            self._update_in_range(feedback, episode, self.following)
        self._issued = None
        self.history.add(total_loss(feedback, self.learner))
        self.open.remove(episode.number)
        self.finished += 1
        self.clipped += clipped
        # Learners of one's own may take anything, as long as nothing is written.
        plain = plain_feedback(feedback) if hasattr(feedback, "states") else feedback
        self.receipts.note_closed(episode.number, digest_of_feedback(plain))
        return {"finish": episode.number, "clipped": clipped, "feedback": plain}

    def _update(self, feedback: Any, episode: OpenEpisode) -> None:
        record = episode.issued.record
        if record is None or record.number == self.learner.episodes + 1:
            self.learner.update(feedback)  # it has not moved since: the record says nothing new
        else:
            self.learner.update(feedback, record)

    def _update_in_range(
        self, feedback: Any, episode: OpenEpisode, following: RangeFollower
    ) -> None:
        """Learn in units of the range, unless the learner has begun again since the episode did."""
        inside = following.inside(feedback)
        if inside is None:
            self.begun_anew_after = self.handed_out
        if episode.number <= self.begun_anew_after:
            following.note_unlearnt()
        else:
            self._update(inside, episode)

    def give_up(self, episode: OpenEpisode) -> Event:
        """Close an open episode without learning from it."""
        self.open.remove(episode.number)
        self.abandoned += 1
        self.receipts.note_closed(episode.number, GIVEN_UP)
        return {"abandon": episode.number}

    def feedback(self, given: Any) -> Any:
        """Feedback as the learner takes it, from a dictionary that may have names in it."""
        if self.words is not None and isinstance(given, Mapping):
            given = self.words.numbered(given)
        return feedback_of(given, self.learner)

    def digest(self, feedback: Any) -> bytes:
        """What the receipt of this feedback would be; nothing is learnt."""
        inside = self._within_range(feedback)[0]
        return digest_of_feedback(plain_feedback(inside) if hasattr(inside, "states") else inside)

    def _within_range(self, feedback: Any) -> tuple[Any, int]:
        if self.losses_outside == "clip" and not takes_any_losses(self.learner):
            return with_clipped_losses(feedback)
        return feedback, 0

    def repeat(self, event: Event) -> None:
        """Do again what an event of a journal says; ``KeyError`` or ``ValueError`` if it cannot."""
        if "begin" in event:
            key = digest_of_key(event["key"]) if "key" in event else None
            if self.hand_out(event["context"], key).number != event["begin"]:
                raise ValueError(f"episode {event['begin']}")
        elif "finish" in event:
            clipped = whole_number(event["clipped"], "clipped", least=0)
            feedback = feedback_of(event["feedback"], self.learner)
            self.learn(self.open.find(event["finish"], "finish"), feedback)
            self.clipped += clipped  # the journal has the losses as they were learnt from
        else:
            self.give_up(self.open.find(event["abandon"], "abandon"))


def _takes_none(learner: Any) -> str:
    return f"context: {type(learner).__name__} takes none; serve PerContext of it"
