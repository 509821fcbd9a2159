"""From a user's seed to the two words that key the counter-based generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.errors import InvalidInput


def seed_words(seed: int | np.random.SeedSequence) -> tuple[int, int]:
    """Two 32-bit words for ``advmdp.kernels.draws``, well mixed even for seeds 0, 1, 2, ...

    Parameters
    ----------
    seed
        A whole number of at least 0, or a ``SeedSequence`` (``spawn`` makes independent ones).

    >>> seed_words(0) == seed_words(np.random.SeedSequence(0))
    True
    >>> seed_words(0) == seed_words(1)
    False
    """
    sequence = seed_sequence(seed)
    first, second = sequence.generate_state(2)
    return int(first), int(second)


def seed_sequence(seed: Any) -> np.random.SeedSequence:
    """The ``SeedSequence`` of a user's seed, checked."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise InvalidInput(f"{seed!r} is not a whole number of at least 0", field="seed")
    return np.random.SeedSequence(int(seed))


def generator(seed: Any) -> np.random.Generator:
    """A NumPy generator for instances that are drawn once, outside every loop."""
    return np.random.default_rng(seed_sequence(seed))
