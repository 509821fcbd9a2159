"""A race detector for loops over ``shared``: kernels in plain Python on arrays that keep a log.

On a GPU the threads of a run take turns of a shared loop at the same time.  Between two barriers no
turn may touch an element that another turn writes, unless the array is declared ``Private``: then
every thread has its own.  Run as a script with numba switched off; prints the arrays with races.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import advmdp as am
import advmdp.kernels as kernels
from advmdp.kernels.runtime.storage import Storage, storage_of

ALONE = ("expected_loss", "draw_trajectory")  # they ask other threads for numbers


class Log:
    """Who wrote and who read which element since the last barrier."""

    turn: int | None = None
    writers: dict[tuple[str, int], int] = {}  # noqa: RUF012
    readers: dict[tuple[str, int], set[int]] = {}  # noqa: RUF012
    races: set[str] = set()  # noqa: RUF012

    @classmethod
    def clear(cls) -> None:
        cls.writers.clear()
        cls.readers.clear()


class Logged(np.ndarray):
    """An array whose elements are logged inside shared loops."""

    name: str = ""

    def __array_finalize__(self, base: Any) -> None:
        self.name = getattr(base, "name", "")

    def __getitem__(self, index: Any) -> Any:
        if Log.turn is not None and self.name:
            element = (self.name, int(index))
            writer = Log.writers.get(element, Log.turn)
            if writer != Log.turn:
                Log.races.add(self.name)
            Log.readers.setdefault(element, set()).add(Log.turn)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if Log.turn is not None and self.name:
            element = (self.name, int(index))
            others = Log.readers.get(element, set()) - {Log.turn}
            if Log.writers.setdefault(element, Log.turn) != Log.turn or others:
                Log.races.add(self.name)
        super().__setitem__(index, value)


def shared(*arguments: int) -> Iterator[int]:
    for turn in range(*arguments):
        Log.turn = turn
        yield turn
    Log.turn = None


def barrier() -> None:
    Log.clear()


def n_threads() -> int:
    return 1 if sys._getframe(1).f_code.co_name in ALONE else 4


def logged(record: Any, also: set[str], prefix: str = "") -> Any:
    """The record on logged arrays; ``also`` names private fields that are logged all the same."""
    parts = []
    declared = storage_of(type(record))
    for field, value in zip(record._fields, record, strict=True):
        if hasattr(value, "_fields"):
            parts.append(logged(value, also, f"{prefix}{field}."))
        elif isinstance(value, np.ndarray) and value.ndim == 1:
            view = value.view(Logged)
            private = declared[field] is Storage.PRIVATE and field not in also
            view.name = "" if private else prefix + field
            parts.append(view)
        else:
            parts.append(value)
    return type(record)(*parts)


def main(case: str, also: set[str]) -> None:
    for found in pkgutil.walk_packages(kernels.__path__, "advmdp.kernels."):
        module = importlib.import_module(found.name)
        exchanged = {"shared": shared, "barrier": barrier, "n_threads": n_threads}
        for name, ours in {**exchanged, "MAY_SHARE": True}.items():
            if hasattr(module, name):
                setattr(module, name, ours)
    sharp: dict[str, float] = {"log_scale": 0.002, "eta_scale": 8.0}
    worlds = {
        "box": ({"layer_sizes": (1, 3, 3, 1)}, "uob-reps", sharp, 25),
        "ball": ({"layer_sizes": (1, 3, 3, 1)}, "uob-reps-l1", sharp, 25),
        "sparse": ({"layer_sizes": (1, 4, 5, 4, 1), "n_successors": 3}, "uob-reps", sharp, 25),
        "full": ({"layer_sizes": (1, 3, 3, 1)}, "uc-o-reps", {"log_scale": 0.01, "hint": 3}, 15),
    }
    shape, name, parameters, n_episodes = worlds[case]
    mdp = am.families.random_mdp(n_actions=2, seed=3, **shape)  # type: ignore[arg-type]
    learner = am.LEARNERS[name].make(mdp.layout, n_episodes=n_episodes, **parameters)
    learner._state = logged(learner._state, also)
    losses = am.losses.Stochastic(np.random.default_rng(3).random(mdp.layout.n_rows))
    am.play(mdp, losses, learner, n_episodes, seed=5)
    print(*sorted(Log.races))


if __name__ == "__main__":
    main(sys.argv[1], set(sys.argv[2:]))
