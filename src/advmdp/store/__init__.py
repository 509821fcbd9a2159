"""Runs on disk: append-only, atomic, versioned."""

from advmdp.store.store import Store

__all__ = ["Store"]
