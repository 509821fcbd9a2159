"""The claims, in the order of the paper: the only table to edit when one is added."""

from __future__ import annotations

from collections.abc import Callable

from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab

CLAIMS: dict[str, Callable[[Lab], Finding]] = {}
