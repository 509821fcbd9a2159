"""Requests of a client: a connection for every thread, and the same request again if it broke.

Every request of the client may be repeated (``advmdp.web.exchange``), so a connection that breaks,
a server that restarts or a disk that refuses for a while cost time and nothing else.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from advmdp.checks.numbers import positive_number, shown
from advmdp.errors import AdvMDPError, InvalidInput, NoConnection, StorageFailure
from advmdp.service.refusals import Conflict, TooManyOpen, UnknownEpisode
from advmdp.web.credentials import checked_token

KINDS: dict[int, type[AdvMDPError]] = {
    404: UnknownEpisode,
    409: Conflict,
    429: TooManyOpen,
    503: StorageFailure,
}
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds
BROKEN = (OSError, http.client.HTTPException)


class Transport:
    """Where a server is, and how it is asked."""

    def __init__(self, url: Any, token: Any, patience: Any) -> None:
        """``patience`` in seconds is how long a server may be away."""
        if not isinstance(url, str):
            raise InvalidInput(f"{shown(url)} is no address", field="url")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise InvalidInput(f"{shown(url)} is no address", field="url") from None
        names = [part for part in parts.path.split("/") if part]
        if parts.scheme not in ("http", "https") or not parts.hostname or len(names) > 1:
            raise InvalidInput(
                f"{shown(url)} is not of the form http://HOST:PORT or http://HOST:PORT/SERVICE",
                field="url",
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InvalidInput("give the address alone; the token is an argument", field="url")
        self.name = names[0] if names else None
        self.patience = positive_number(patience, "patience")
        self._kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._host, self._port = parts.hostname, port
        self.address = f"{parts.scheme}://{parts.netloc}"
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            if not isinstance(token, str):
                raise InvalidInput("give a text", field="token")
            self._headers["Authorization"] = f"Bearer {checked_token(token, 'token')}"
        self._own = threading.local()

    def ask(self, method: str, path: str, sent: Any = None) -> Any:
        """The answer to a request, which is repeated while the server cannot be reached."""
        body = None if sent is None else _text_of(sent)
        deadline = time.monotonic() + self.patience
        pause = 0.0  # a connection that was idle may just have been closed
        while True:
            try:
                status, data = self._once(method, path, body, deadline)
                problem: AdvMDPError | None = None
                if status == 200:
                    return json.loads(data)
                problem = _error_of(status, data)
            except BROKEN as broken:
                self.close()
                problem = NoConnection(f"{self.address}: cannot be reached ({broken})")
            except ValueError:
                problem = NoConnection(f"{self.address}: does not answer as advmdp serve does")
            again = isinstance(problem, NoConnection | StorageFailure)
            if not again or time.monotonic() + pause > deadline:
                raise problem from None
            time.sleep(pause)
            pause = min(max(FIRST_PAUSE, 2.0 * pause), LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, body: bytes | None, deadline: float
    ) -> tuple[int, bytes]:
        held: _Held | None = getattr(self._own, "held", None)
        if held is None:
            held = self._own.held = _Held(self._kind(self._host, self._port))
        connection = held.connection
        connection.timeout = max(0.1, deadline - time.monotonic())
        connection.request(method, path, body, self._headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        """End the connection of this thread."""
        self._own.held = None


class _Held:
    """A connection that is closed when nobody has it, as at the end of its thread."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


def _text_of(sent: Any) -> bytes:
    try:
        return json.dumps(sent, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as problem:
        raise InvalidInput(f"it cannot be sent as JSON: {problem}") from None


def _error_of(status: int, data: bytes) -> AdvMDPError:
    try:
        line = json.loads(data)["error"]
    except (ValueError, KeyError, TypeError):
        return NoConnection(f"status {status}, and no answer of advmdp serve")
    return KINDS.get(status, InvalidInput)(str(line))
