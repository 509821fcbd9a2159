"""One compiled programme for every built-in loss process.

The losses of episode t = 0, 1, ... are, for every row r = (x, a),

    mean_t(r) = tables[i](r) + s * (tables[j](r) - tables[i](r)) + strength * pressure_t(r)

clipped to [0, 1], where ``kind`` and t decide about (i, j, s), followed by one coin flip for each
row if the process is ``noisy`` (stream ``LOSSES``).  Only ``pressure`` ever changes:

    pressure_{t+1}(r) = memory * pressure_t(r) + (1 - memory) * [row r was played in episode t]

so an adversary with ``strength > 0`` reacts to the past and to nothing else: ``fill_losses`` comes
before the trajectory of an episode, ``observe_path`` after it.

Where a row stands for an action that does not exist (``Layout.stands_for``) it has the loss of the
row that is played in its place, coin flip and all, and puts the pressure there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..lanes.coin_lanes import COINS, flip_turns
from ..lanes.passes import HAS_LANES
from ..runtime.random_numbers import LOSSES, uniform_four
from ..runtime.storage import Choice, Common, Lasting, Number, Switch
from ..runtime.targets import kernel
from ..runtime.threads import barrier, shared

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CYCLE = 0  # table number (t // period) modulo the number of tables
MAJORITY = 1  # in each period table 0 for ``turn`` episodes, then table 1
DRIFT = 2  # from table 0 to table 1 and back in one period
MARKED = 3  # table 1 in the episodes listed in ``marks``, table 0 in all others


class LossProgram(NamedTuple):
    """The numbers that make up a loss process; every process has the same types."""

    kind: Choice[int]
    tables: Common[Floats]  # (K, R)
    period: Number[int]
    turn: Number[int]
    noisy: Choice[int]
    marks: Common[Integers]  # (C,), increasing
    strength: Switch[float]
    memory: Number[float]
    pressure: Lasting[Floats]  # (R,), the only part that is written
    stands_for: Common[Integers]  # (R,) the row played in the place of each; empty: each itself


@kernel
def is_marked(marks: Integers, episode: int) -> bool:
    """Whether ``episode`` is among the increasing ``marks``, by bisection."""
    low = 0
    high = marks.shape[0]
    while low < high:
        middle = (low + high) // 2
        if marks[middle] < episode:
            low = middle + 1
        else:
            high = middle
    return low < marks.shape[0] and bool(marks[low] == episode)


@kernel
def there_and_back(phase: float) -> float:
    """A smooth wave on [0, 1): 0 at phase 0, 1 at phase 1/2.

    A polynomial instead of a cosine: it rounds alike on every machine.
    """
    ramp = 2.0 * phase if phase < 0.5 else 2.0 - 2.0 * phase
    return ramp * ramp * (3.0 - 2.0 * ramp)


@kernel
def table_mixture(program: LossProgram, episode: int) -> tuple[int, int, float]:
    """The two tables (i, j) of an episode and the share s of the second."""
    if program.kind == CYCLE:
        i = (episode // program.period) % program.tables.shape[0]
        return i, i, 0.0
    if program.kind == MAJORITY:
        i = 0 if episode % program.period < program.turn else 1
        return i, i, 0.0
    if program.kind == DRIFT:
        return 0, 1, there_and_back((episode % program.period) / program.period)
    i = 1 if is_marked(program.marks, episode) else 0
    return i, i, 0.0


@kernel
def flip_coins(seed0: int, seed1: int, episode: int, values: Floats) -> None:
    """Replace every mean by a loss of 0 or 1 with that mean."""
    n_rows = values.shape[0]
    done = 0
    if HAS_LANES:
        done = n_rows // COINS
        flip_turns(seed0, seed1, LOSSES, episode, values, done)
        done *= COINS
    for r in shared(done, n_rows, 4):
        u0, u1, u2, u3 = uniform_four(seed0, seed1, LOSSES, episode, r // 4)
        values[r] = 1.0 if u0 < values[r] else 0.0
        if r + 1 < n_rows:
            values[r + 1] = 1.0 if u1 < values[r + 1] else 0.0
        if r + 2 < n_rows:
            values[r + 2] = 1.0 if u2 < values[r + 2] else 0.0
        if r + 3 < n_rows:
            values[r + 3] = 1.0 if u3 < values[r + 3] else 0.0


@kernel
def fill_losses(program: LossProgram, seed0: int, seed1: int, episode: int, out: Floats) -> None:
    """Write the losses of all rows in ``episode``, counted from 0."""
    i, j, share = table_mixture(program, episode)
    tables = program.tables
    if share > 0.0:
        for r in shared(0, out.shape[0]):
            mean = tables[i, r]
            mean += share * (tables[j, r] - mean)
            out[r] = min(max(mean, 0.0), 1.0)
    else:
        for r in shared(0, out.shape[0]):
            out[r] = tables[i, r]
    if program.strength > 0.0:
        for r in shared(0, out.shape[0]):
            out[r] = min(out[r] + program.strength * program.pressure[r], 1.0)
    if program.noisy:
        barrier()
        flip_coins(seed0, seed1, episode, out)
    if program.stands_for.shape[0] > 0:
        barrier()
        for r in shared(0, out.shape[0]):
            out[r] = out[program.stands_for[r]]
    barrier()


@kernel
def observe_path(program: LossProgram, rows: Integers) -> None:
    """Tell an adaptive process which rows the episode went through."""
    if program.strength > 0.0:
        pressure = program.pressure
        for r in range(pressure.shape[0]):
            pressure[r] = program.memory * pressure[r]
        for k in range(rows.shape[0]):
            r = rows[k]
            if program.stands_for.shape[0] > 0:
                r = program.stands_for[r]
            pressure[r] += 1.0 - program.memory
