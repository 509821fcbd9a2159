"""Counter-based random numbers: the same on every machine, in any order.

A draw is a pure function of *where it is used*: the two words of a seed (the key) and the place
``(stream, episode, index)`` (the counter).  There is no generator to carry along, so a run can be
stopped, resumed, replayed from the middle or spread over threads without changing one number.

The function is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
as 1, 2, 3" (SC 2011): ten rounds of two 32 x 32 -> 64 bit products, the halves of which are mixed.
Numba has signed 64-bit integers and tells the compiler that they never overflow, but a product of
two 32-bit words can exceed 2**63.  Both multipliers m are above 2**31, so the code uses m - 2**32,
a negative number of 30 bits: ``m * w == (m - 2**32) * w + 2**32 * w``, the low word is that of the
smaller product and the high word is its high word plus w.  Nothing overflows anywhere.  Under plain
Python (``py_func``, the CUDA simulator) the inputs become Python integers first, because narrow
NumPy scalars would wrap.
"""

from __future__ import annotations

from .targets import kernel

# One stream for each consumer: numbers drawn for one purpose never touch those of another.
TRAJECTORY = 0
LOSSES = 1
LEARNER = 2

MASK = 0xFFFFFFFF
MULTIPLIER_0 = 0xD2511F53 - 2**32
MULTIPLIER_1 = 0xCD9E8D57 - 2**32
WEYL_0 = 0x9E3779B9
WEYL_1 = 0xBB67AE85
ROUNDS = 10

UNIT_26 = 2.0**26
UNIT_32 = 2.0**-32
UNIT_53 = 2.0**-53


@kernel
def philox(key0: int, key1: int, c0: int, c1: int, c2: int, c3: int) -> tuple[int, int, int, int]:
    """Four 32-bit words from a key of two words and a counter of four."""
    k0 = int(key0) & MASK
    k1 = int(key1) & MASK
    w0 = int(c0) & MASK
    w1 = int(c1) & MASK
    w2 = int(c2) & MASK
    w3 = int(c3) & MASK
    for _ in range(ROUNDS):
        product0 = MULTIPLIER_0 * w0
        product1 = MULTIPLIER_1 * w2
        high0 = (product0 >> 32) + w0
        high1 = (product1 >> 32) + w2
        w0 = high1 ^ w1 ^ k0
        w2 = high0 ^ w3 ^ k1
        w1 = product1 & MASK
        w3 = product0 & MASK
        k0 = (k0 + WEYL_0) & MASK
        k1 = (k1 + WEYL_1) & MASK
    return w0, w1, w2, w3


@kernel
def words_at(
    seed0: int, seed1: int, stream: int, episode: int, index: int
) -> tuple[int, int, int, int]:
    """The four words of one place; episodes may use 64 bits, ``index`` and ``stream`` 32."""
    return philox(seed0, seed1, episode, int(episode) >> 32, index, stream)


@kernel
def uniform_pair(
    seed0: int, seed1: int, stream: int, episode: int, index: int
) -> tuple[float, float]:
    """Two independent doubles, uniform on the multiples of 2**-53 in [0, 1)."""
    w0, w1, w2, w3 = words_at(seed0, seed1, stream, episode, index)
    first = ((w0 >> 5) * UNIT_26 + (w1 >> 6)) * UNIT_53
    second = ((w2 >> 5) * UNIT_26 + (w3 >> 6)) * UNIT_53
    return first, second


@kernel
def uniform_four(
    seed0: int, seed1: int, stream: int, episode: int, index: int
) -> tuple[float, float, float, float]:
    """Four independent doubles, uniform on the multiples of 2**-32 in [0, 1).

    Enough for coin flips, at half the price of ``uniform_pair``: ``u < p`` holds with a
    probability within 2**-32 of p, and exactly never for p = 0 and always for p = 1.
    """
    w0, w1, w2, w3 = words_at(seed0, seed1, stream, episode, index)
    return w0 * UNIT_32, w1 * UNIT_32, w2 * UNIT_32, w3 * UNIT_32
