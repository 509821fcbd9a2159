"""Serve the page alone, on this machine's loopback."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn
from starlette.applications import Starlette

from advmdp.errors import InvalidInput

HOST = "127.0.0.1"
GRACE_SECONDS = 3  # for answers that are under way when the server is asked to stop


def loopback_socket(port: int) -> socket.socket:
    """A socket that only this machine reaches; port 0 is any that is free."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen()  # who comes before the server is ready waits
    except (OSError, OverflowError) as problem:
        made.close()
        raise InvalidInput(
            f"{port} cannot be used ({problem}); leave it out to get a free one", field="port"
        ) from None
    return made


def address_of(bound: socket.socket) -> str:
    """Where a browser finds the page."""
    return f"http://{HOST}:{bound.getsockname()[1]}/"


def serve_page(app: Starlette, bound: socket.socket) -> None:
    """Serve until a signal asks to stop."""
    server_of(app).run(sockets=[bound])


def server_of(app: Starlette) -> uvicorn.Server:
    """A server that ends the streams of the page before it waits for its connections."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return _PageServer(config)


class _PageServer(uvicorn.Server):
    async def shutdown(self, sockets: Any = None) -> None:
        """A stream of events never ends by itself."""
        await self.config.app.state.page.close()  # type: ignore[union-attr]
        await super().shutdown(sockets)
