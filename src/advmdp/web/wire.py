"""How answers leave and requests arrive: one packet for an answer, and no endless headers.

uvicorn writes the headers and the body of an answer one after the other, and each write is a packet
and wakes the client up.  Half of a request's cost is that; here they leave together.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADER_BYTES = 65_536


class JoinedWrites:
    """A transport that sends what was written in one turn of the event loop at once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send it with whatever else is written in this turn."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Send what was written, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Wire(HttpToolsProtocol):
    """One connection."""

    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """From here on, writes are joined."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]

    def on_message_begin(self) -> None:
        """A new request."""
        self._header_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers; too many end the connection."""
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MOST_HEADER_BYTES:
            self.transport.close()
            return
        super().on_header(name, value)
