"""Coin flips for many rows, the places of eight counters at a time (``random_numbers``).

Philox is some sixty instructions for four numbers, each waiting for the one before; in registers
eight counters take as long as one.  The numbers are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.random_numbers import MASK, ROUNDS, UNIT_32, WEYL_0, WEYL_1, uniform_four
from .registers import in_registers, repeat_any
from .vectors import N_LANES, Lanes

Floats = NDArray[np.float64]

FULL_0, FULL_1 = 0xD2511F53, 0xCD9E8D57  # the multipliers, unsigned
WORDS = 4
COINS = WORDS * N_LANES  # of one turn


def _philox(builder: Any, spread: Any, key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """``random_numbers: philox`` for eight counters, in lanes of 64 bits."""
    mask, half = spread(MASK), spread(32)
    (k0, k1), (w0, w1, w2, w3) = key, counter
    for _ in range(ROUNDS):
        product0, product1 = builder.mul(spread(FULL_0), w0), builder.mul(spread(FULL_1), w2)
        high0, high1 = builder.lshr(product0, half), builder.lshr(product1, half)
        w0 = builder.xor(builder.xor(high1, w1), k0)
        w2 = builder.xor(builder.xor(high0, w3), k1)
        w1, w3 = builder.and_(product1, mask), builder.and_(product0, mask)
        k0 = builder.and_(builder.add(k0, spread(WEYL_0)), mask)
        k1 = builder.and_(builder.add(k1, spread(WEYL_1)), mask)
    return [w0, w1, w2, w3]


def _in_order(builder: Any, words: Sequence[Any]) -> list[Any]:
    """Four words of eight counters as 32 numbers in the order of the counters."""
    from llvmlite import ir

    def mixed(a: Any, b: Any, order: list[int]) -> Any:
        return builder.shuffle_vector(a, b, ir.VectorType(ir.IntType(32), len(order))(order))

    found = []
    for i in range(0, N_LANES, 2):
        pair = [i, N_LANES + i, i + 1, N_LANES + i + 1]
        low, high = mixed(words[0], words[1], pair), mixed(words[2], words[3], pair)
        found.append(mixed(low, high, [0, 1, 4, 5, 2, 3, 6, 7]))
    return found


def _flip_turns(
    builder: Any, seed0: Any, seed1: Any, stream: Any, episode: Any, values: Any, turns: Any
) -> None:
    from llvmlite import ir

    lanes = Lanes(builder, turns)
    kind = ir.VectorType(ir.IntType(64), N_LANES)

    def spread(number: int) -> Any:
        return kind([number] * N_LANES)

    def word(value: Any) -> Any:
        return builder.and_(lanes.spread(value), spread(MASK))

    high = builder.ashr(episode, episode.type(32))

    def turn(i: Any, held: Sequence[Any]) -> list[Any]:
        first = builder.mul(i, i.type(N_LANES))
        index = builder.add(lanes.spread(first), kind(list(range(N_LANES))))
        counter = [word(episode), word(high), builder.and_(index, spread(MASK)), word(stream)]
        words = _philox(builder, spread, [word(seed0), word(seed1)], counter)
        for j, numbers in enumerate(_in_order(builder, words)):
            at = builder.add(builder.mul(i, i.type(COINS)), i.type(N_LANES * j))
            place = builder.gep(values, [at])
            uniform = lanes.times(builder.sitofp(numbers, lanes.kind), lanes.every(UNIT_32))
            falls = lanes.less(uniform, lanes.load(place))
            lanes.store(lanes.where(falls, lanes.every(1.0), lanes.every(0.0)), place)
        return []

    repeat_any(builder, turns, [], turn)


@in_registers(_flip_turns)
def flip_turns(
    seed0: int, seed1: int, stream: int, episode: int, values: Floats, turns: int
) -> None:
    """Replace the means in the first ``turns * COINS`` places by losses of 0 or 1."""
    for i in range(turns * N_LANES):
        for j, u in enumerate(uniform_four(seed0, seed1, stream, episode, i)):
            values[WORDS * i + j] = 1.0 if u < values[WORDS * i + j] else 0.0
