"""A stamp of the package's own sources: which code played a run."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def source_stamp() -> str:
    """A short hash of all Python files of the package."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
