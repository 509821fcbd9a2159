"""The queue of a run with late feedback: what arrives when, and what has not come yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.kernels.accounting.late_episodes import ARRIVED, DEPARTED, Arrivals, InFlight
from advmdp.kernels.learners.late_feedback import LateEpisode
from advmdp.layout import Layout
from advmdp.learners.feedback import Trajectory, check_trajectory
from advmdp.learners.saving.state_checks import TOLERANCE
from advmdp.world.delays import LOST, DelayProcess, Delays, drawn_delays

PARTS = LateEpisode._fields
MOST_NUMBERS = 2**30
"""In the queue of a run, 8 GiB of them: refused before they are allocated."""


@dataclass(frozen=True)
class FeedbackTimes:
    """When the feedback of a run came."""

    total_delay: int
    """Sum of all delays, each counted up to the end of the run."""
    largest_delay: int
    """Of the feedback that came."""
    lost: int
    """Episodes whose feedback never comes: the learner has not learnt from them."""
    outstanding: int
    """Episodes whose feedback would have come after the end of the run."""


class LateQueue:
    """Arrivals and episodes in flight of one run."""

    def __init__(
        self,
        layout: Layout,
        process: DelayProcess,
        n_episodes: int,
        words: tuple[int, int],
        keeps_policies: bool = False,
    ) -> None:
        self._layout = layout
        self.delays = drawn_delays(process, n_episodes, words)
        self.arrivals = _arrivals(self.delays)
        places, present = self._longest_wait() + 1, new_late_episode(layout, keeps_policies)
        if places * sum(part.size for part in present) > MOST_NUMBERS:
            raise InvalidInput(
                f"delays: {places} episodes may be in flight at once, more than the memory is for; "
                "give shorter delays"
            )
        room = {
            name: np.zeros((places, part.size), dtype=part.dtype)
            for name, part in present._asdict().items()
        }
        room["learnt"] = room["learnt"].ravel()
        clock = np.zeros(2, dtype=np.int64)
        self.in_flight = InFlight(**room, clock=clock, present=present)

    def _longest_wait(self) -> int:
        """The largest delay of feedback that comes."""
        order = self.arrivals.order
        return int(self.delays[order].max()) if len(order) else 0

    def summary(self) -> FeedbackTimes:
        """When the feedback of the whole run came."""
        lost, left = self.delays == LOST, len(self.delays) - 1 - np.arange(len(self.delays))
        n_lost = int(lost.sum())
        return FeedbackTimes(
            total_delay=int(np.minimum(self.delays, left)[~lost].sum()),
            largest_delay=self._longest_wait(),
            lost=n_lost,
            outstanding=len(self.delays) - len(self.arrivals.order) - n_lost,
        )

    # ------------------------------------------------------------------ snapshots

    def state(self) -> dict[str, NDArray[Any]]:
        """A copy of what is in flight, between two episodes."""
        return {name: getattr(self.in_flight, name).copy() for name in PARTS}

    def restore(self, saved: Mapping[str, NDArray[Any]], episodes: int) -> None:
        """Go on after ``episodes``; nothing is changed unless every value is one of a run."""
        empty = {name: a for name, a in self.state().items() if a.size == 0}
        saved = {**empty, **saved}  # which earlier versions did not have
        for name in PARTS:
            mine = getattr(self.in_flight, name)
            if name not in saved or saved[name].shape != mine.shape:
                raise InvalidInput("resume: the snapshot is of a run with other delays")
            if saved[name].dtype != mine.dtype:
                raise InvalidInput(f"resume: late.{name} holds {saved[name].dtype}")
        for episode in self._in_flight_after(episodes):
            self._check_episode(saved, episode % len(saved["learnt"]), episode)
        for name in PARTS:
            getattr(self.in_flight, name)[...] = saved[name]
        self.in_flight.clock[DEPARTED] = episodes
        self.in_flight.clock[ARRIVED] = self.arrivals.first[episodes]

    def _in_flight_after(self, episodes: int) -> list[int]:
        """The episodes that a run with ``episodes`` behind it is waiting for."""
        coming = self.arrivals.order[self.arrivals.first[episodes] :]
        return sorted(int(episode) for episode in coming if episode < episodes)

    def _check_episode(self, saved: Mapping[str, NDArray[Any]], place: int, episode: int) -> None:
        states, path = saved["states"][place], saved["path"][place]
        within = states - self._layout.layer_start[:-1]
        wrong = f"resume: episode {episode + 1} in flight has values that no run has"
        try:
            trajectory = Trajectory(within, path % self._layout.n_actions, saved["losses"][place])
            checked = check_trajectory(self._layout, trajectory)
        except InvalidInput:
            raise InvalidInput(wrong) from None
        chances = ("bound", "occupancy", "policy", "upper", "lower")
        bounds = np.concatenate([saved[name][place] for name in chances])
        proper = np.isfinite(bounds).all() and bounds.min() >= 0.0 and bounds.max() <= 1.0 + 1e-9
        total = saved["policy"][place].reshape(-1, self._layout.n_actions).sum(axis=1)
        proper = proper and (np.abs(total - 1.0) <= TOLERANCE).all()
        if not proper or not np.array_equal(checked.path, path) or saved["learnt"][place] < 0:
            raise InvalidInput(wrong)


def new_late_episode(layout: Layout, keeps_policies: bool) -> LateEpisode:
    """Room for one trajectory with what is fixed when it is played."""
    n_layers = layout.n_layers
    n_rows, n_states = (layout.n_rows, layout.n_states) if keeps_policies else (0, 0)
    return LateEpisode(
        states=np.zeros(n_layers + 1, dtype=np.int64),
        path=np.zeros(n_layers, dtype=np.int64),
        losses=np.zeros(n_layers),
        bound=np.zeros(n_layers),
        occupancy=np.zeros(n_layers),
        learnt=np.zeros(1, dtype=np.int64),
        policy=np.zeros(n_rows),
        upper=np.zeros(n_states),
        lower=np.zeros(n_states),
    )


def _arrivals(delays: Delays) -> Arrivals:
    n_episodes = len(delays)
    episodes = np.arange(n_episodes)
    comes = (delays != LOST) & (episodes + delays < n_episodes)
    due = (episodes + delays)[comes]
    order = episodes[comes][np.lexsort((episodes[comes], due))]
    first = np.zeros(n_episodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(due, minlength=n_episodes), out=first[1:])
    return Arrivals(first, order.astype(np.int64))
