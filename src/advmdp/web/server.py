"""Run a server until it is asked to end, and then end it cleanly."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import uvicorn

from advmdp.errors import InvalidInput, StorageFailure
from advmdp.service import Service
from advmdp.web.app import make_app
from advmdp.web.credentials import allowed_hosts
from advmdp.web.limits import Limits
from advmdp.web.warming import warm_up
from advmdp.web.wire import Wire

BACKLOG = 2048  # connections that wait to be accepted
KEPT_ALIVE = 75  # seconds that a connection may be idle
GRACE = 5  # seconds that requests have to end


class _Server(uvicorn.Server):
    """Ends with a status of its own, not by the signal that asked for the end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, self._end)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First what would never end by itself, then what is under way."""
        await self.config.app.end_streams()  # type: ignore[union-attr]
        await super().shutdown(sockets)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.should_exit = True


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at this address; with port 0 the system chooses one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends short answers at once, and not after 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"--port: {host}:{port} cannot be used ({reason})") from None
    return listening


def serve(
    services: Mapping[str, Service],
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    stores: list[Path],
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT; the services are saved and closed whatever happens.

    ``ready`` is told the address when the server listens.
    """
    try:
        for service in services.values():
            with suppress(StorageFailure):  # no room for a copy: then the first client waits
                warm_up(service)
        app = make_app(services, limits, token, allowed_hosts(host, token), stores)
        with bound_socket(host, port) as listening:
            shown = f"[{host}]" if ":" in host else host
            config = uvicorn.Config(
                app,
                access_log=False,  # an address is nobody's business
                log_level="warning",
                server_header=False,
                timeout_graceful_shutdown=GRACE,
                timeout_keep_alive=KEPT_ALIVE,
                http=Wire,
                loop="uvloop",
                proxy_headers=False,  # who asks is who is connected
            )
            server = _Server(config)
            ready(f"http://{shown}:{listening.getsockname()[1]}")
            server.run([listening])
    finally:
        for service in services.values():  # a second time nothing happens
            service.close()
