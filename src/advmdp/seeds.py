"""From a user's seed to the two 32-bit words that key the counter-based generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.checks.numbers import whole_number

Seed = int | np.random.SeedSequence
"""What a user may give."""


def seed_words(seed: Seed) -> tuple[int, int]:
    """Two 32-bit words for the counter-based generator, well mixed even for seeds 0, 1, 2, ...

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
    """The ``SeedSequence`` of a user's seed; rejects anything but whole numbers from 0."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    return np.random.SeedSequence(whole_number(seed, "seed", least=0, most=None))


def generator(seed: Any) -> np.random.Generator:
    """A NumPy generator, for random instances that are drawn once, before any episode."""
    return np.random.default_rng(seed_sequence(seed))
