"""Columns as a frame of the user's library."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput, MissingExtra


def frame_in(library: Any, columns: Mapping[str, Any]) -> Any:
    """The columns as a frame of "polars" or "pandas"."""
    if not isinstance(library, str) or library not in ("polars", "pandas"):
        raise InvalidInput(f"{shown(library)} is neither 'polars' nor 'pandas'", field="library")
    try:
        return import_module(library).DataFrame(columns)
    except ModuleNotFoundError:
        raise MissingExtra(f"{library} is not installed; install it", field="library") from None
