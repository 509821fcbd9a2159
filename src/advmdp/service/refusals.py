"""Why a service refuses, for programs that answer each reason in another way."""

from __future__ import annotations

from advmdp.errors import InvalidInput


class Conflict(InvalidInput):
    """Well formed, and at odds with what the service has been told before."""


class UnknownEpisode(InvalidInput):
    """No ticket has this number."""


class TooManyOpen(InvalidInput):
    """As many tickets are open as the service allows; later it may be possible."""
