"""Parameters as the theorems prescribe them; ``PRACTICAL`` holds presets that learn faster."""

from __future__ import annotations

import math
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.layout import Layout
from advmdp.learners.base import horizon_of
from advmdp.learners.presets import PRACTICAL as PRACTICAL
from advmdp.number_checks import whole_number

MAX_EPISODES = 2**31  # visits are counted in 32 bits


def checked_horizon(n_episodes: int) -> int:
    """T, a whole number of at least 1 and below 2**31."""
    if whole_number(n_episodes, "n_episodes") >= MAX_EPISODES:
        raise InvalidInput(f"{n_episodes!r} is not below 2**31", field="n_episodes")
    return int(n_episodes)


def refuse_too_many_episodes(learner: Any, n_episodes: int, where: str = "play") -> None:
    """So many episodes more must be within the horizon of a learner that has one."""
    planned = horizon_of(learner)
    if planned is not None and learner.episodes + n_episodes > planned:
        raise InvalidInput(
            f"{where}: {n_episodes} episodes, but the learner was made for n_episodes={planned}"
        )


def checked_delta(delta: float) -> float:
    """The confidence parameter, strictly between 0 and 1."""
    if not 0.0 < delta < 1.0:
        raise InvalidInput(f"{delta!r} is not strictly between 0 and 1", field="delta")
    return float(delta)


def checked_rate(value: float, name: str, *, zero_allowed: bool = False) -> float:
    """A finite positive number (or zero, where that makes sense)."""
    if not (0.0 < value < math.inf) and not (zero_allowed and value == 0.0):
        raise InvalidInput(f"{value!r} must be finite and positive", field=name)
    return float(value)


def scaled_rate(given: float | None, theory: float, scale: float, name: str) -> float:
    """The theory's value unless one is given, times its multiplier ``<name>_scale``."""
    value = checked_rate(theory if given is None else given, name)
    return value * checked_rate(scale, f"{name}_scale")


def log_pairs_per_layer(layout: Layout) -> float:
    """ln(|X| |A| / L), the entropy term of the O-REPS family."""
    return math.log(layout.n_states * layout.n_actions / layout.n_layers)


def uob_reps_rate(layout: Layout, n_episodes: int, delta: float) -> float:
    """eta = gamma = sqrt(L ln(L |X| |A| / delta) / (T |X| |A|)), Theorem 3 of the paper.

    |X| counts every state, the first and the last included.
    """
    pairs = layout.n_states * layout.n_actions
    log_term = math.log(layout.n_layers * pairs / delta)
    return math.sqrt(layout.n_layers * log_term / (n_episodes * pairs))


def width_log_term(layout: Layout, n_episodes: int, delta: float) -> float:
    """ln(T |X| |A| / delta), the logarithm in the confidence widths, Eq. (width)."""
    return math.log(n_episodes * layout.n_states * layout.n_actions / delta)
