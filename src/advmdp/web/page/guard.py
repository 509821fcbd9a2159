"""Who may ask what: the headers of every answer, and the checks of every request.

* Every answer carries a policy under which the browser runs the page's own scripts alone, loads
  nothing from elsewhere, and shows the page in nobody's frame.
* The ``Host`` of a request must be a name of this machine's loopback, unless a token protects the
  page: otherwise a foreign site could have its own name point here and read along.
* A ``POST`` must come from the page itself (``Origin``) and carry JSON, as no foreign form can.
* With a token, the data is for those who have it: in a header, or as a cookie that was exchanged
  for it.  The cookie is derived from the token, so that it outlives the server and tells nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
LARGEST_BODY = 16_384  # bytes
OPEN = ("/live/token",)
"""What needs no token below ``/live``."""


class Guard:
    """Around the application of the page."""

    def __init__(
        self, app: ASGIApp, token: str | None = None, hosts: Collection[str] | None = None
    ) -> None:
        self._app = app
        self._token = token
        if hosts is None and token is None:
            hosts = LOOPBACK
        self._hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse with a line of JSON."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts is not None and _name_of(host) not in self._hosts:
            return refused(421, f"this page is not {_name_of(host)[:80]!r}; open the address told")
        if scope["method"] not in ("GET", "HEAD") and not _is_own(headers, host):
            return refused(403, "only the page itself may ask for that")
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if path.startswith("/live/") and path not in OPEN and not self._knows(headers):
            return refused(401, "this page needs its token")
        return None

    def _knows(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        given = headers.get("authorization", "").removeprefix("Bearer ")
        name, value = page_cookie(self._token)
        return same(given, self._token) or same(cookie_of(headers, name), value)


def page_cookie(token: str) -> tuple[str, str]:
    """Name and value of the cookie that a browser gets in exchange for the token.

    Cookies do not tell ports apart: two servers of one machine need two names.
    """
    name, value = (
        hmac.new(token.encode(), part, hashlib.sha256).hexdigest() for part in (b"name", b"value")
    )
    return f"advmdp_page_{name[:8]}", value


def same(given: str, expected: str) -> bool:
    """Whether two secrets agree, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode(), expected.encode())


def cookie_of(headers: Headers, name: str) -> str:
    """The value of a cookie; empty without one."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def refused(code: int, reason: str) -> JSONResponse:
    """An answer that says why there is none."""
    return JSONResponse({"error": reason}, code)


async def json_body(receive: Receive) -> Any:
    """The JSON of a request; ``ValueError`` if it is none or too long."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ValueError("the visitor left")
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise ValueError(f"more than {LARGEST_BODY:,} bytes")
        if not message.get("more_body"):
            break
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _name_of(host: str) -> str:
    """The name in a ``Host`` header, without the port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()


def _is_own(headers: Headers, host: str) -> bool:
    """Whether a request comes from a page of this server."""
    origin = urlsplit(headers.get("origin", ""))
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    site = headers.get("sec-fetch-site", "same-origin")
    is_here = origin.scheme in ("http", "https") and origin.netloc.lower() == host.lower()
    return is_here and site == "same-origin" and kind == "application/json"
