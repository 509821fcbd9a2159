"""How a repeated call is recognised: by the key of an episode, and by the feedback of a closed one.

Both are kept as digests, those of closed episodes for the last ``REMEMBERED`` of them.  A call that
is repeated later than that is refused, and still changes nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import shown
from advmdp.errors import DamagedFile, InvalidInput

REMEMBERED = 10_000
LONGEST_KEY = 200  # characters
WIDTH = 16  # bytes of a digest
GIVEN_UP = bytes(WIDTH)
"""In place of the digest of a feedback that never came."""
Arrays = dict[str, NDArray[Any]]
_encoded = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def digest_of_key(key: Any) -> bytes:
    """Of a text that the caller has chosen for one episode."""
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise InvalidInput(
            f"{shown(key)} is not a text of 1 to {LONGEST_KEY} printable characters", field="key"
        )
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=WIDTH).digest()


def digest_of_feedback(plain: Any) -> bytes:
    """Of feedback as a journal has it; what no journal could hold, no two calls have in common."""
    try:
        text = _encoded(plain)
    except (TypeError, ValueError):
        text = secrets.token_hex(WIDTH)
    return blake2b(text.encode(), digest_size=WIDTH).digest()


class Receipts:
    """Keys of open and of lately closed episodes, and what the latter were closed with."""

    def __init__(self) -> None:
        self._number_of: dict[bytes, int] = {}
        self._key_of: dict[int, bytes] = {}
        self._closed: dict[int, bytes] = {}  # the oldest first

    def note_key(self, number: int, key: bytes) -> None:
        """The episode was begun with this key."""
        self._number_of[key] = number
        self._key_of[number] = key

    def number_of(self, key: bytes) -> int | None:
        """The episode that was begun with this key."""
        return self._number_of.get(key)

    def note_closed(self, number: int, digest: bytes) -> None:
        """The episode was closed; the oldest receipts are forgotten."""
        self._closed[number] = digest
        for old in list(islice(self._closed, max(0, len(self._closed) - REMEMBERED))):
            del self._closed[old]
            key = self._key_of.pop(old, None)
            if key is not None:
                del self._number_of[key]

    def closed_with(self, number: int) -> bytes | None:
        """The digest of the feedback; None if the episode is open, or closed long ago."""
        return self._closed.get(number)

    # ------------------------------------------------------------------ files

    def contents(self) -> Arrays:
        """For a snapshot."""
        parts = {"closed": self._closed, "keys": self._key_of}
        return {
            f"receipts.{name}.{column}": array
            for name, part in parts.items()
            if part
            for column, array in (
                ("numbers", np.fromiter(part, dtype=np.int64, count=len(part))),
                ("digests", np.frombuffer(b"".join(part.values()), np.uint8).reshape(-1, WIDTH)),
            )
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """From a snapshot; one without receipts has none."""
        self._closed = _column(arrays, "closed")
        self._key_of = _column(arrays, "keys")
        self._number_of = {key: number for number, key in self._key_of.items()}


def _column(arrays: Mapping[str, NDArray[Any]], name: str) -> dict[int, bytes]:
    numbers = arrays.get(f"receipts.{name}.numbers")
    digests = arrays.get(f"receipts.{name}.digests")
    if numbers is None or digests is None:
        return {}
    fits = numbers.ndim == 1 and digests.shape == (len(numbers), WIDTH)
    if not fits or numbers.dtype != np.int64 or digests.dtype != np.uint8:
        raise DamagedFile(f"receipts: {name} are not what a service writes")
    return dict(zip(numbers.tolist(), map(bytes, digests), strict=True))
