"""The process that plays a run of the playground: a request on stdin, lines of JSON on stdout.

The learners take turns after every picture, so that their curves grow side by side.  The process is
ended by the server, or by itself when nobody reads its lines any more.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from advmdp.errors import AdvMDPError
from advmdp.evaluation.observations import Moment
from advmdp.experiments.build import Components, build
from advmdp.layout import Floats
from advmdp.play import play
from advmdp.web.page.playground_request import PlaygroundRun, checked_request, runs_of
from advmdp.world.losses import Majority, Switching

CPU_SECONDS = 300  # first runs compile
DIGITS = 4


def main() -> None:
    """Play what stdin asks for."""
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    try:
        runs = runs_of(checked_request(json.loads(sys.stdin.readline())))
        _say({"world": _world(build(runs[0].spec), runs[0].spec.n_episodes)})
        _play_in_turns(runs)
    except AdvMDPError as problem:
        _say({"failed": None, "reason": str(problem)})
    _say({"done": True})


def _play_in_turns(runs: list[PlaygroundRun]) -> None:
    turns = _Turns(len(runs))
    threads = [
        threading.Thread(target=_play, args=(run, place, turns), daemon=True)
        for place, run in enumerate(runs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class _Turns:
    """One thread works at a time; each hands over to the next one that has not ended."""

    def __init__(self, number: int) -> None:
        self._gates = [threading.Semaphore(0) for _ in range(number)]
        self._left = list(range(number))
        self._gates[0].release()

    def wait(self, place: int) -> None:
        self._gates[place].acquire()

    def hand_over(self, place: int, *, for_good: bool = False) -> None:
        position = self._left.index(place)
        if for_good:
            self._left.remove(place)
            position -= 1
        if self._left:
            self._gates[self._left[(position + 1) % len(self._left)]].release()


def _play(run: PlaygroundRun, place: int, turns: _Turns) -> None:
    turns.wait(place)

    def look(moment: Moment) -> None:
        _say({"point": _point(run.name, moment)})
        turns.hand_over(place)
        turns.wait(place)

    try:
        _say({"ended": run.name, **_ended(run, look)})
    except AdvMDPError as problem:
        _say({"failed": run.name, "reason": str(problem)})
    except BrokenPipeError:  # nobody looks any more
        os._exit(0)
    except Exception as problem:  # a defect: told like the others, so that the page does not wait
        _say({"failed": run.name, "reason": f"{type(problem).__name__}: {problem}"})
    finally:
        turns.hand_over(place, for_good=True)


def _ended(run: PlaygroundRun, look: Callable[[Moment], None]) -> dict[str, Any]:
    made, spec = build(run.spec), run.spec
    played = play(
        *(made.mdp, made.losses, made.learner, spec.n_episodes, made.seed),
        checkpoints=made.evaluation_points,
        callback=look,
    )
    return {
        "regret": float(played.regret[-1]),
        "seconds": played.seconds,
        "best": _rounded(made.mdp.layout.flat_pairs(played.best.policy)),
    }


def _point(name: str, moment: Moment) -> dict[str, Any]:
    account, learner = moment.account, moment.learner
    return {
        "learner": name,
        "episodes": moment.episodes,
        "regret": float(account.regret),
        "expected_loss": float(account.expected_loss),
        "best_loss": float(account.best_loss),
        "policy": _rounded(np.concatenate([table.ravel() for table in learner.policy()])),
    }


def _world(made: Components, n_episodes: int) -> dict[str, Any]:
    """Sizes, the true chance of every (x, a, x'), and when the losses are different ones."""
    layout, losses = made.mdp.layout, made.losses
    shaded: list[tuple[int, int]] = []
    told = ""
    if isinstance(losses, Majority):
        shaded, told = losses.adverse_stretches(n_episodes), "Shaded: all losses are reversed."
    elif isinstance(losses, Switching):
        shaded, told = _before_the_last(losses, n_episodes), "Shaded: another table of losses."
    return {
        "layer_sizes": list(layout.layer_sizes),
        "n_actions": layout.n_actions,
        "chances": _rounded(made.mdp.flat),
        "shaded": shaded,
        "told": told,
    }


def _before_the_last(losses: Switching, n_episodes: int) -> list[tuple[int, int]]:
    """Where the table is not the last one of the cycle."""
    number, period = len(losses.tables), losses.period
    blocks = [(k * period, (k + 1) * period) for k in range(-(-n_episodes // period))]
    last = losses.tables[-1]
    return [
        (begin, min(end, n_episodes))
        for k, (begin, end) in enumerate(blocks)
        if not np.array_equal(losses.tables[k % number], last)
    ]


def _rounded(values: Floats) -> list[float]:
    rounded: list[float] = np.round(values, DIGITS).tolist()
    return rounded


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
