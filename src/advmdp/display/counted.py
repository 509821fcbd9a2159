"""Numbers of things, as they are read aloud."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """A number and what is counted, one or several.

    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
