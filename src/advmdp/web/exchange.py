"""The calls of a service: a body comes in, is checked, and an answer goes out.

Every call may be repeated: ``begin`` is recognised by its key, ``finish`` and ``abandon`` by the
number and what they say, and ``act`` changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.learners.base import CountsEpisodes, HasEpochs, HasLayout, HasWidth, offers
from advmdp.service import Closing, Service, Ticket
from advmdp.service.feedback_io import Stub, stamp_of
from advmdp.service.words import Words
from advmdp.web import models
from advmdp.web.grouping import Groups, Told

as_json = json.JSONEncoder(separators=(",", ":")).encode
STATUS_OF = {"conflict": 409, "unknown": 404, "invalid": 422}
"""Of a closing that was refused."""


class Answer(NamedTuple):
    """A status of HTTP, and what becomes JSON, or is JSON already."""

    status: int
    body: dict[str, Any] | str


def refused(status: int, line: str) -> Answer:
    """An error, in one line."""
    return Answer(status, {"error": " ".join(line.split())})


class Exchange:
    """One service as clients see it."""

    def __init__(self, name: str, service: Service, told: Told = lambda size, seconds: None):
        self.name = name
        self.service = service
        self.groups = Groups(service, told)
        learner = service.learner
        self._layout = learner.layout if offers(learner, HasLayout) else None
        self._last_policy = "", ""  # its stamp, and its JSON
        self._words = None if self._layout is None else Words(self._layout)

    # ------------------------------------------------------------------ episodes

    async def begin(self, sent: models.Begin) -> Answer:
        """Open an episode."""
        ticket = await self.groups.ask(self.service.begin, sent.context, sent.key)
        return Answer(200, self._ticket_text(ticket))

    def _ticket_text(self, ticket: Ticket) -> str:
        """A ticket as JSON; most have the policy of the one before, whose digits are known."""
        stamp = stamp_of(ticket.policy)
        if stamp != self._last_policy[0]:
            tables = [table.tolist() for table in ticket.policy]
            self._last_policy = stamp, as_json(tables)
        context = "" if ticket.context is None else f',"context":{ticket.context}'
        policy = self._last_policy[1]
        return f'{{"number":{ticket.number}{context},"policy":{policy},"stamp":"{stamp}"}}'

    async def begin_many(self, sent: models.BeginMany) -> Answer:
        """Open several; as many of the first as there is room for, and at least one."""
        tickets = await self.groups.ask(self._begin_some, sent.episodes, weight=len(sent.episodes))
        return Answer(200, {"tickets": [plain_ticket(ticket) for ticket in tickets]})

    def _begin_some(self, episodes: list[models.Begin]) -> list[Ticket]:
        tickets: list[Ticket] = []
        for one in episodes:
            try:
                tickets.append(self.service.begin(one.context, one.key))
            except InvalidInput:
                if not tickets:
                    raise
                break
        return tickets

    async def act(self, sent: models.Act) -> Answer:
        """Draw an action."""
        action = await self.groups.ask(self.service.act, _stub(sent), sent.layer, sent.state)
        name = str(action)
        if self._words is not None and self._layout is not None:
            state = self._words.checked_state(sent.layer, sent.state)
            name = self._layout.action_name(sent.layer, state, action)
        return Answer(200, {"action": action, "name": name})

    async def finish(self, sent: models.Finish) -> Answer:
        """Learn from an episode."""
        return _alone((await self.groups.finish([(_stub(sent), sent.feedback())]))[0])

    async def finish_many(self, sent: models.FinishMany) -> Answer:
        """Learn from several; each is answered for itself."""
        closings = [(_stub(one), one.feedback()) for one in sent.episodes]
        answers = await self.groups.finish(closings)
        return Answer(200, {"results": [_plain_closing(one) for one in answers]})

    async def abandon(self, sent: models.Abandon) -> Answer:
        """Give an episode up."""
        return _alone((await self.groups.finish([(_stub(sent), None)]))[0])

    # ------------------------------------------------------------------ to look at

    async def policy(self, context: int | None) -> dict[str, Any]:
        """The policy that the next ticket has."""
        policy = await self.groups.ask(self.service.policy, context)
        return {"policy": [table.tolist() for table in policy]}

    async def open(self) -> dict[str, Any]:
        """The open tickets, oldest first."""
        tickets = await self.groups.ask(lambda: self.service.open)
        return {"tickets": [plain_ticket(ticket) for ticket in tickets]}

    async def summary(self) -> dict[str, Any]:
        """In short."""
        return {"name": self.name, **await self.groups.ask(self._counts)}

    async def state(self) -> dict[str, Any]:
        """Everything but tables."""
        layout = None if self._layout is None else _plain_layout(self._layout)
        return {"name": self.name, "layout": layout, **await self.groups.ask(self._progress)}

    def _counts(self) -> dict[str, Any]:
        with self.service.locked() as desk:
            return {
                "learner": shown(desk.learner),
                "finished": desk.finished,
                "abandoned": desk.abandoned,
                "open": len(desk.open),
            }

    def _progress(self) -> dict[str, Any]:
        with self.service.locked() as desk:
            learner, following = desk.learner, desk.following
            return {
                **self._counts(),
                "clipped": desk.clipped,
                "losses_outside": desk.losses_outside,
                "loss_range": None if following is None else following.range._asdict(),
                "episodes": learner.episodes if offers(learner, CountsEpisodes) else None,
                "epoch": learner.epoch if offers(learner, HasEpochs) else None,
                "mean_width": float(learner.mean_width) if offers(learner, HasWidth) else None,
            }


class Verb(NamedTuple):
    """A call: its path ends with the name."""

    call: Callable[[Exchange, Any], Awaitable[Answer]]
    sent: type[BaseModel]
    answered: type[BaseModel]
    reads: TypeAdapter[Any]


def _verb(call: Any, sent: type[BaseModel], answered: type[BaseModel]) -> Verb:
    return Verb(call, sent, answered, TypeAdapter(sent))


VERBS: dict[str, Verb] = {
    "begin": _verb(Exchange.begin, models.Begin, models.Ticket),
    "begin_many": _verb(Exchange.begin_many, models.BeginMany, models.Tickets),
    "act": _verb(Exchange.act, models.Act, models.Drawn),
    "finish": _verb(Exchange.finish, models.Finish, models.Closed),
    "finish_many": _verb(Exchange.finish_many, models.FinishMany, models.ClosedMany),
    "abandon": _verb(Exchange.abandon, models.Abandon, models.Closed),
}


def plain_ticket(ticket: Ticket) -> dict[str, Any]:
    """Of a ticket, with its stamp."""
    return {**ticket.to_dict(), "stamp": stamp_of(ticket.policy)}


def _stub(sent: models.Act | models.Finish | models.Abandon) -> Stub | int:
    return sent.number if sent.stamp is None else Stub(sent.number, sent.stamp)


def _plain_closing(closing: Closing) -> dict[str, Any]:
    plain = {"number": closing.number, "status": closing.status}
    return plain if closing.counts else {**plain, "error": closing.error}


def _alone(closing: Closing) -> Answer:
    if closing.counts:
        return Answer(200, _plain_closing(closing))
    return refused(STATUS_OF[closing.status], closing.error)


def _plain_layout(layout: Any) -> dict[str, Any]:
    sizes, counts = layout.layer_sizes, layout.action_counts
    return {
        "layer_sizes": list(sizes),
        "n_actions": layout.n_actions,
        "state_names": [
            [layout.state_name(k, x) for x in range(size)] for k, size in enumerate(sizes)
        ],
        "action_names": [
            [
                [layout.action_name(k, x, a) for a in range(int(counts[k][x]))]
                for x in range(sizes[k])
            ]
            for k in range(layout.n_layers)
        ],
    }
