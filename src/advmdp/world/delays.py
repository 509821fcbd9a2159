"""When feedback comes (``advmdp.delays``): d_t episodes after the episode that it is about.

==============  =================================================================================
``Constant``    after a fixed number of episodes
``Geometric``   after a random number of episodes with a given mean, out of order
``Blocks``      all feedback of a block at its end: one policy serves the whole block
``Given``       any delays, one for each episode; -1 for feedback that never comes
==============  =================================================================================

With delay 0 the feedback of an episode comes before the next one begins.  The first three take
``lost``, the probability that the feedback of an episode never comes.  Delays are drawn from the
seed of the run, apart from losses and trajectories: learners of one seed meet the same ones.

>>> Blocks(3).draw(7, np.random.default_rng(0)).tolist()
[2, 1, 0, 2, 1, 0, 2]
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import real_number, unit_number, whole_array, whole_number
from advmdp.errors import InvalidInput

LOST = -1
"""The delay of feedback that never comes."""
LONGEST = 2**31 - 1

Delays = NDArray[np.int64]


@runtime_checkable
class DelayProcess(Protocol):
    """Says when the feedback of every episode comes."""

    def draw(self, n_episodes: int, rng: np.random.Generator) -> Delays:
        """d_1 .. d_T, ``LOST`` where feedback never comes."""
        ...


class _WithLosses:
    """Feedback that is lost with a probability, whatever its delay."""

    def __init__(self, lost: float) -> None:
        self.lost = unit_number(lost, "lost", below_one=True)

    def _thinned(self, delays: Delays, rng: np.random.Generator) -> Delays:
        if self.lost > 0.0:
            delays[rng.random(len(delays)) < self.lost] = LOST
        return delays


class Constant(_WithLosses):
    """Every delay is ``delay``."""

    def __init__(self, delay: int, lost: float = 0.0) -> None:
        super().__init__(lost)
        self.delay = whole_number(delay, "delay", least=0, most=LONGEST)

    def draw(self, n_episodes: int, rng: np.random.Generator) -> Delays:
        """d_t = delay."""
        return self._thinned(np.full(n_episodes, self.delay, dtype=np.int64), rng)


class Geometric(_WithLosses):
    """Independent delays with P(d) = (1 - p)^d p and mean ``mean`` = (1 - p) / p."""

    def __init__(self, mean: float, lost: float = 0.0) -> None:
        super().__init__(lost)
        self.mean = real_number(mean, "mean")
        if not 0.0 <= self.mean <= LONGEST:
            raise InvalidInput(f"{mean!r} is not a number of episodes", field="mean")

    def draw(self, n_episodes: int, rng: np.random.Generator) -> Delays:
        """One number for each episode."""
        draws = rng.geometric(1.0 / (1.0 + self.mean), n_episodes).astype(np.int64) - 1
        return self._thinned(np.minimum(draws, LONGEST), rng)


class Blocks(_WithLosses):
    """Blocks of ``length`` episodes, whose feedback comes together when the last is over."""

    def __init__(self, length: int, lost: float = 0.0) -> None:
        super().__init__(lost)
        self.length = whole_number(length, "length", most=LONGEST)

    def draw(self, n_episodes: int, rng: np.random.Generator) -> Delays:
        """length - 1, ..., 1, 0 again and again."""
        return self._thinned(self.length - 1 - np.arange(n_episodes) % self.length, rng)


class Given:
    """The delays of all episodes; more episodes than delays are refused."""

    def __init__(self, delays: Any) -> None:
        self.delays = whole_array(delays, "delays").copy()
        if self.delays.ndim != 1 or (self.delays < LOST).any() or (self.delays > LONGEST).any():
            raise InvalidInput("give whole numbers from 0, or -1 for lost", field="delays")

    def draw(self, n_episodes: int, rng: np.random.Generator) -> Delays:
        """The first ``n_episodes`` of them."""
        if len(self.delays) < n_episodes:
            raise InvalidInput(
                f"{len(self.delays)} delays for {n_episodes} episodes; give one for each",
                field="delays",
            )
        return self.delays[:n_episodes].copy()


def checked_delays(delays: Any, in_flight: Any) -> DelayProcess | None:
    """The delays that ``play`` is asked for; None when all feedback comes at once."""
    if in_flight is not None:
        if delays is not None:
            raise InvalidInput("in_flight: it is a delay by itself; leave one of the two out")
        return Blocks(whole_number(in_flight, "in_flight", most=LONGEST))
    if delays is not None and not isinstance(delays, DelayProcess):
        raise InvalidInput(
            "delays: give a process of am.delays, such as am.delays.Constant(10), "
            "or am.delays.Given(numbers)"
        )
    return delays


def drawn_delays(process: DelayProcess, n_episodes: int, words: tuple[int, int]) -> Delays:
    """The delays of a run with this seed, checked: the process may be the user's own."""
    drawn = whole_array(process.draw(n_episodes, np.random.default_rng([*words, 3])), "delays")
    if drawn.shape != (n_episodes,) or (drawn < LOST).any() or (drawn > LONGEST).any():
        raise InvalidInput(f"delays: give {n_episodes} whole numbers from 0, or -1 for lost")
    return drawn
