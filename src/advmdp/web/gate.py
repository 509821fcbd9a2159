"""Everything that is checked before a request reaches a service, and how calls are answered.

Plain ASGI: an episode costs two requests, and each passes here.  The order is: for which host, how
often, with which token, how much.  A browser on the same machine is somebody else: a page of
another site can neither set the token nor, without one, send JSON or name this host as its own.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic import ValidationError

from advmdp.errors import AdvMDPError, StorageFailure
from advmdp.plain_text import plain_text
from advmdp.service.refusals import Conflict, TooManyOpen, UnknownEpisode
from advmdp.web.exchange import VERBS, Answer, Exchange, as_json, refused
from advmdp.web.limits import Limits, RequestRates

PREFIX = "/api/v1/services/"
HEALTH = "/health"
GUARDED = ("/api/", "/metrics")
"""What needs the token; the page has cookies of its own (``advmdp.web.page``)."""
LOG = logging.getLogger("advmdp.web")
STATUSES: tuple[tuple[type[AdvMDPError], int], ...] = (
    (Conflict, 409),
    (UnknownEpisode, 404),
    (TooManyOpen, 429),
    (StorageFailure, 503),
    (AdvMDPError, 422),
)
Seen = Callable[[str, int, float], None]


class Refusal(Exception):
    """The request goes no further."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.answer = refused(status, line)


class Gate:
    """The application that the server runs: the calls of services, and ``inner`` for the rest."""

    def __init__(
        self,
        inner: Any,
        exchanges: Mapping[str, Exchange],
        limits: Limits,
        token: str | None = None,
        hosts: Collection[str] | None = None,
        seen: Seen = lambda what, status, seconds: None,
    ) -> None:
        """``hosts`` are the names that a request may give to this host; None for any."""
        self._inner = inner
        self._exchanges = exchanges
        self._limits = limits
        self._rates = RequestRates(limits.rate)
        self._credentials = None if token is None else f"Bearer {token}".encode()
        self._hosts = None if hosts is None else {name.encode() for name in hosts}
        self._seen = seen
        self.page: Any = None

    async def end_streams(self) -> None:
        """What does not end by itself, such as the events of the page."""
        if self.page is not None:
            await self.page.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        begin = time.perf_counter()
        what, verb = self._called(scope)
        try:
            body = await self._admitted(scope, receive)
            if verb is None:
                status = await self._pass_on(scope, body, receive, send)
                self._seen(what, status, time.perf_counter() - begin)
                return
            answer = await self._answered(scope, verb, body)
        except Refusal as refusal:
            answer = refusal.answer
        await _reply(send, answer)
        self._seen(what, answer.status, time.perf_counter() - begin)

    def _called(self, scope: Any) -> tuple[str, str | None]:
        """What the request is counted as, and the verb if it is a call of a service."""
        path: str = scope["path"]
        if path.startswith(PREFIX) and scope["method"] == "POST":
            verb = path.rpartition("/")[2]
            if verb in VERBS and path.count("/") == 5:
                return verb, verb
        return ("health" if path == HEALTH else "other"), None

    # ------------------------------------------------------------------ checks

    async def _admitted(self, scope: Any, receive: Any) -> bytes:
        """The body, if the request may pass."""
        headers = dict(scope["headers"])
        if self._hosts is not None and _host(headers) not in self._hosts:
            raise Refusal(421, "this server is asked for by another name; use its address")
        client = scope.get("client")
        if not self._rates.admit(client[0] if client else ""):
            raise Refusal(429, f"more than {self._rates.rate:g} requests a second; wait a moment")
        if scope["path"].startswith(GUARDED) and not self._knows_token(headers):
            raise Refusal(401, "give the server's token: Authorization: Bearer TOKEN")
        if scope["method"] in ("GET", "HEAD"):
            return b""
        if headers.get(b"content-type", b"").partition(b";")[0].strip() != b"application/json":
            raise Refusal(415, "send JSON: Content-Type: application/json")
        return await self._body(headers, receive)

    def _knows_token(self, headers: Mapping[bytes, bytes]) -> bool:
        given = headers.get(b"authorization", b"")
        return self._credentials is None or hmac.compare_digest(given, self._credentials)

    async def _body(self, headers: Mapping[bytes, bytes], receive: Any) -> bytes:
        most = self._limits.max_body
        too_long = Refusal(413, f"the body has more than {most} bytes; send fewer episodes at once")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > most:
            raise too_long
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "the body is not complete")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise too_long
            if not message.get("more_body", False):
                return b"".join(parts)

    # ------------------------------------------------------------------ answers

    async def _answered(self, scope: Any, verb: str, body: bytes) -> Answer:
        """A call of a service; whatever happens, the answer is one line or what was asked for."""
        name = scope["path"].split("/")[4]
        exchange = self._exchanges.get(name)
        if exchange is None:
            return refused(404, f"there is no service {plain_text(name[:100])!r}")
        try:
            sent = VERBS[verb].reads.validate_json(body)
            return await VERBS[verb].call(exchange, sent)
        except ValidationError as problem:
            return refused(422, _first_line(problem))
        except AdvMDPError as problem:
            return answer_of(problem)
        except Exception:
            LOG.exception("%s of %s failed", verb, name)
            return refused(500, "the server failed; its log says why")

    async def _pass_on(self, scope: Any, body: bytes, receive: Any, send: Any) -> int:
        """To the routes that are not calls; returns the status that they answered with."""
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        status = 500

        async def again() -> Any:
            return waiting.pop() if waiting else await receive()

        async def watched(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        await self._inner(scope, again, watched)
        return status


def answer_of(problem: AdvMDPError) -> Answer:
    """The status that suits an error of ours, and its line."""
    status = next(status for kind, status in STATUSES if isinstance(problem, kind))
    return refused(status, plain_text(str(problem)))


def _host(headers: Mapping[bytes, bytes]) -> bytes:
    """The host that was asked for, without the port."""
    given = headers.get(b"host", b"")
    name, colon, port = given.rpartition(b":")
    return name if colon and port.isdigit() else given


def _first_line(problem: ValidationError) -> str:
    """The first thing that is wrong with a body."""
    first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    said = plain_text(f"{place}: {first['msg']}" if place else first["msg"])
    return said[:300]


async def _reply(send: Any, answer: Answer) -> None:
    body = answer.body if isinstance(answer.body, str) else as_json(answer.body)
    text = body.encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(text)).encode()),
    ]
    if answer.status in (429, 503):
        headers.append((b"retry-after", b"1"))
    elif answer.status == 413:
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    elif answer.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
