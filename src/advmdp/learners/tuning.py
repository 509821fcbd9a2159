"""Parameters as the theorems prescribe them; ``PRACTICAL`` holds presets that learn faster."""

from __future__ import annotations

import math
from typing import Any

from advmdp.checks.arguments import instance
from advmdp.checks.numbers import real_number, shown, whole_number
from advmdp.errors import InvalidInput
from advmdp.layout import Layout
from advmdp.learners.contract_checks import horizon_of
from advmdp.learners.presets import PRACTICAL as PRACTICAL

MAX_EPISODES = 2**31  # visits are counted in 32 bits


def checked_horizon(n_episodes: int) -> int:
    """T as an int: a whole number of at least 1 and below 2**31."""
    horizon = whole_number(n_episodes, "n_episodes", most=None)
    if horizon >= MAX_EPISODES:
        raise InvalidInput(f"{shown(n_episodes)} is not below 2**31", field="n_episodes")
    return horizon


def checked_layout(layout: Any) -> Layout:
    """The layout a learner is made for."""
    return instance(layout, Layout, "layout")


def refuse_too_many_episodes(learner: Any, n_episodes: int, where: str = "play") -> None:
    """So many episodes more must be within the horizon of a learner that has one."""
    planned = horizon_of(learner)
    if planned is None or learner.episodes + n_episodes <= planned:
        return
    played = learner.episodes
    behind = f", and {played} of {planned} are already played" if played else ""
    raise InvalidInput(
        f"{where}: {n_episodes} episodes, but the learner was made for n_episodes={planned}"
        f"{behind}; play {planned - played} or fewer, or make a learner for more"
    )


def checked_delta(delta: float) -> float:
    """The confidence parameter, strictly between 0 and 1."""
    number = real_number(delta, "delta")
    if not 0.0 < number < 1.0:
        raise InvalidInput(f"{shown(delta)} is not strictly between 0 and 1", field="delta")
    return number


def checked_rate(value: float, name: str, *, zero_allowed: bool = False) -> float:
    """A finite positive number (or zero, where that makes sense)."""
    number = real_number(value, name)
    if number < 0.0 or (number == 0.0 and not zero_allowed):
        raise InvalidInput(f"{shown(value)} must be finite and positive", field=name)
    return number


def checked_alpha(alpha: Any, most: float = 1.0) -> float:
    """A probability that states are reached with: positive, at most ``most``."""
    number = real_number(alpha, "alpha")
    if not 0.0 < number <= most:
        raise InvalidInput(f"{shown(alpha)} is not in (0, {most:.4g}]", field="alpha")
    return number


def scaled_rate(given: float | None, theory: float, scale: float, name: str) -> float:
    """The theory's value unless one is given, times its multiplier ``<name>_scale``."""
    value = checked_rate(theory if given is None else given, name)
    return checked_rate(value * checked_rate(scale, f"{name}_scale"), name)


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
