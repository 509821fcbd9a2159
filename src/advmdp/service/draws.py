"""Actions drawn for a client: the same answer to the same question, and to nobody a prediction.

The uniform number behind an action is a keyed hash of (episode, layer, state), so that nothing has
to be remembered for a repeated question.  Every pair of an episode and a layer is asked about one
state, the one that is visited, so the numbers of different steps are independent for whoever does
not know the key; the key never leaves the folder of the service.
"""

from __future__ import annotations

import secrets
import struct
from hashlib import blake2b
from typing import Any

import numpy as np

from advmdp.layout import Floats

KEY_BYTES = 32
_QUESTION = struct.Struct("<QQQ")


def new_key() -> bytes:
    """A key that nobody can guess."""
    return secrets.token_bytes(KEY_BYTES)


def checked_key(text: Any) -> bytes:
    """The key that a file has as hexadecimal digits; ``ValueError`` if it is none."""
    key = bytes.fromhex(text)
    if len(key) != KEY_BYTES:
        raise ValueError("the key of the draws has another length")
    return key


def uniform(key: bytes, number: int, layer: int, state: int) -> float:
    """A number in [0, 1) with 53 random bits."""
    question = _QUESTION.pack(number, layer, state)
    answer = blake2b(question, digest_size=8, key=key).digest()
    return float((int.from_bytes(answer, "little") >> 11) * 2.0**-53)


def drawn(probabilities: Floats, at: float) -> int:
    """The action in whose part of [0, 1) the number lies; never one of probability zero.

    >>> drawn(np.array([0.25, 0.0, 0.75]), 0.25), drawn(np.array([0.25, 0.75, 0.0]), 1 - 2.0**-53)
    (2, 1)
    """
    ends = np.cumsum(probabilities)
    place = int(np.searchsorted(ends, at * ends[-1], side="right"))
    return min(place, int(np.flatnonzero(probabilities)[-1]))
