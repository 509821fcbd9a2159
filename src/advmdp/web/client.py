"""A service of another process, with the methods of ``am.Service``; Python alone is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np

from advmdp.checks.range_policy import LossRange
from advmdp.display.shown import Shown
from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.layout import Table
from advmdp.service import Closing, Ticket
from advmdp.service.feedback_io import Stub, plain_feedback
from advmdp.service.open_episodes import number_of
from advmdp.web.transport import Transport

PATIENCE = 30.0


class RemoteService(Shown):
    """A service that ``advmdp serve`` runs; see ``advmdp.connect``.

    Methods and results are those of ``advmdp.Service``, and it may be used by any number of
    threads.  Requests that get lost are sent again, for ``patience`` seconds: keys and tickets let
    the server recognise them, so that no episode is begun or learnt from twice.  For the same
    reason ``finish`` with the feedback that the episode was finished with is no error.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self.name = name
        """The name of the service."""
        self._path = f"/api/v1/services/{quote(name, safe='')}"

    # ------------------------------------------------------------------ episodes

    def begin(self, context: int | None = None, key: str | None = None) -> Ticket:
        """A new episode; without a ``key`` it gets one of its own."""
        return _ticket(self._call("begin", _beginning(context, key)))

    def begin_many(self, n: int, context: int | None = None) -> list[Ticket]:
        """``n`` new episodes with one request; fewer if there is no room for all."""
        sent = {"episodes": [_beginning(context, None) for _ in range(n)]}
        return [_ticket(one) for one in self._call("begin_many", sent)["tickets"]]

    def act(self, ticket: Ticket | int, layer: int, state: int | str) -> int:
        """An action that the server draws from the policy of the ticket."""
        asked = {**_numbered(ticket, "act"), "layer": _plain(layer), "state": _plain(state)}
        return int(self._call("act", asked)["action"])

    def finish(self, ticket: Ticket | int, feedback: Any) -> None:
        """Learn from an open episode; when it returns, the server has it on its disk."""
        self._call("finish", _finishing(ticket, feedback))

    def finish_many(self, closings: Iterable[tuple[Ticket | int, Any]]) -> list[Closing]:
        """Finish episodes, given as (ticket, feedback), with one request; None gives one up."""
        sent = {
            "episodes": [
                {**_numbered(ticket, "abandon"), "lost": True}
                if feedback is None
                else _finishing(ticket, feedback)
                for ticket, feedback in closings
            ]
        }
        if not sent["episodes"]:
            return []
        results = self._call("finish_many", sent)["results"]
        return [Closing(one["number"], one["status"], one.get("error") or "") for one in results]

    def abandon(self, ticket: Ticket | int) -> None:
        """Give an open episode up."""
        self._call("abandon", _numbered(ticket, "abandon"))

    # ------------------------------------------------------------------ to look at

    def policy(self, context: int | None = None) -> Table:
        """The policy that the next ticket has."""
        query = "" if context is None else f"?context={quote(str(context))}"
        return _policy(self._transport.ask("GET", f"{self._path}/policy{query}")["policy"])

    @property
    def open(self) -> list[Ticket]:
        """The episodes whose feedback is awaited, oldest first."""
        return [_ticket(one) for one in self._transport.ask("GET", f"{self._path}/open")["tickets"]]

    def state(self) -> dict[str, Any]:
        """What the server says of the service: counts, layout, names."""
        found: dict[str, Any] = self._transport.ask("GET", self._path)
        return found

    @property
    def finished(self) -> int:
        """Episodes learnt from."""
        return int(self.state()["finished"])

    @property
    def abandoned(self) -> int:
        """Episodes given up."""
        return int(self.state()["abandoned"])

    @property
    def n_open(self) -> int:
        """How many episodes are open."""
        return int(self.state()["open"])

    @property
    def clipped(self) -> int:
        """Losses that were moved into [0, 1]."""
        return int(self.state()["clipped"])

    @property
    def losses_outside(self) -> str:
        """What happens to losses that leave [0, 1]."""
        return str(self.state()["losses_outside"])

    @property
    def loss_range(self) -> LossRange | None:
        """The range of ``losses_outside="adapt"``, with its doublings; None for other choices."""
        found = self.state()["loss_range"]
        return None if found is None else LossRange(**found)

    def close(self) -> None:
        """End the connection of this thread; a later call opens a new one."""
        self._transport.close()

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "at": self._transport.address}

    def _call(self, verb: str, sent: Any) -> Any:
        return self._transport.ask("POST", f"{self._path}/{verb}", sent)


def connect(url: str, token: str | None = None, patience: float = PATIENCE) -> RemoteService:
    """The service of a server that ``advmdp serve`` runs.

    Parameters
    ----------
    url
        ``http://HOST:PORT/NAME``; without the name, the only service that the server has.
    token
        The server's, if it has one.  It is sent in a header; use ``https`` (a proxy before the
        server) wherever others can listen.
    patience
        Seconds that the server may be away, as when it restarts, before ``NoConnection`` is raised.
    """
    transport = Transport(url, token, patience)
    if transport.name is not None:
        return RemoteService(transport, transport.name)
    names = [one["name"] for one in transport.ask("GET", "/api/v1/services")["services"]]
    if len(names) != 1:
        raise InvalidInput(
            f"the server has the services {', '.join(names)}; add the name of one to the address",
            field="url",
        )
    return RemoteService(transport, names[0])


def _beginning(context: int | None, key: str | None) -> dict[str, Any]:
    return {"context": _plain(context), "key": uuid4().hex if key is None else key}


def _finishing(ticket: Ticket | int, feedback: Any) -> dict[str, Any]:
    if isinstance(feedback, Mapping):
        plain = {str(name): _plain(value) for name, value in feedback.items()}
    else:
        try:
            plain = plain_feedback(feedback)
        except (AttributeError, TypeError, ValueError, AdvMDPError):
            raise InvalidInput(
                "feedback: give a Trajectory, or a dictionary with its fields"
            ) from None
    return {**plain, **_numbered(ticket, "finish")}


def _numbered(ticket: Ticket | int, call: str) -> dict[str, Any]:
    number = number_of(ticket, call)
    stub = ticket.stub if isinstance(ticket, Ticket) else ticket
    return {"number": number, "stamp": stub.stamp} if isinstance(stub, Stub) else {"number": number}


def _plain(value: Any) -> Any:
    """Lists and numbers in place of NumPy's."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _ticket(answer: Mapping[str, Any]) -> Ticket:
    return Ticket(answer["number"], _policy(answer["policy"]), answer.get("context"))


def _policy(tables: list[Any]) -> Table:
    return [np.array(table, dtype=np.float64) for table in tables]
