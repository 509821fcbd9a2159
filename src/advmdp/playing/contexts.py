"""The contexts of a run: checked at the door, told to the learner before its policy is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_array
from advmdp.errors import InvalidInput
from advmdp.learners.base import TakesContexts, offers


def checked_contexts(contexts: Any, learner: Any, n_episodes: int) -> NDArray[np.int64] | None:
    """The context of every episode; None where the learner is not told."""
    if contexts is None:
        if offers(learner, TakesContexts) and learner.n_contexts > 1:
            raise InvalidInput(
                f"contexts: {type(learner).__name__} has {learner.n_contexts}; say which each "
                "episode has, such as numpy.arange(n_episodes) % n_contexts"
            )
        return None
    if not offers(learner, TakesContexts):
        raise InvalidInput(
            f"contexts: {type(learner).__name__} takes none; play PerContext of its class"
        )
    if callable(contexts):
        raise InvalidInput(
            "contexts: give an array with a number for each episode, not a function; such as "
            "numpy.arange(n_episodes) % n_contexts"
        )
    given = whole_array(contexts, "contexts")
    if given.ndim != 1 or len(given) < n_episodes:
        raise InvalidInput(f"contexts: give {n_episodes} numbers, one for each episode")
    given = given[:n_episodes].copy()
    if given.min() < 0 or given.max() >= learner.n_contexts:
        raise InvalidInput(f"contexts: give numbers in 0..{learner.n_contexts - 1}")
    return given


def enter_context(learner: Any, schedule: NDArray[np.int64] | None, done: int, stop: int) -> int:
    """Tell the learner its context; how far, at most to ``stop``, the context stays the same."""
    if schedule is None:
        return stop
    learner.enter(int(schedule[done]))
    others = np.flatnonzero(schedule[done:stop] != schedule[done])
    return done + int(others[0]) if len(others) else stop
