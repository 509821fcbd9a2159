"""The token of a server, and who may do without one."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path

from advmdp.errors import InvalidInput

VARIABLE = "ADVMDP_TOKEN"
SHORTEST = 16  # characters
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("::")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(file: Path | None) -> str | None:
    """The token in a file, or else in the environment; never on a command line."""
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"--token-file: {file} cannot be read") from None
        return checked_token(text.strip(), f"--token-file: {file}")
    given = os.environ.get(VARIABLE)
    return None if given is None else checked_token(given, VARIABLE)


def checked_token(token: str, where: str) -> str:
    """A token that can be sent in a header; the message never shows it."""
    fits = token.isascii() and token.isprintable() and not any(c.isspace() for c in token)
    if len(token) < SHORTEST or not fits:
        raise InvalidInput(
            f"{where}: the token needs at least {SHORTEST} printable ASCII characters without "
            "blanks; make one with: openssl rand -hex 32"
        )
    return token


def allowed_hosts(host: str, token: str | None) -> tuple[str, ...] | None:
    """The names that requests may give to this host; any, if they bring a token."""
    if token is not None:
        return None
    if not is_loopback(host):
        raise InvalidInput(
            f"--host: {host} can be reached from elsewhere; give a token by --token-file or "
            f"{VARIABLE}, or stay at 127.0.0.1"
        )
    return (*LOOPBACK_NAMES, f"[{host}]" if ":" in host else host)
