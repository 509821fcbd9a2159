"""Durations in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """A duration in the two largest units that matter.

    >>> duration(59.4), duration(61), duration(3 * 3600 + 59)
    ('59 s', '1 min 01 s', '3 h 00 min')
    """
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
