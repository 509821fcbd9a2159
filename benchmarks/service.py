"""What it costs to keep a service: acknowledgements on the disk, the way back, bytes.

Whole episodes of 1,3,3,1 x2 with UOB-REPS: ``begin`` and ``finish``, whose return means that the
episode is on the disk.  Threads share the waits for it.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section, number, seconds

LAYOUT = am.Layout((1, 3, 3, 1), 2)
ROWS = ("kept nowhere, 1 thread", "on the disk, 1 thread", "on the disk, 32 threads")


def episode(t: int) -> dict[str, Any]:
    """Feedback that does not look at the policy: only its form matters here."""
    rng = np.random.default_rng(t)
    states = [0, *rng.integers(3, size=2).tolist(), 0]
    actions = rng.integers(2, size=3).tolist()
    return {"states": states, "actions": actions, "losses": rng.random(3).tolist()}


def serve(service: am.Service, episodes: list[dict[str, Any]], threads: int) -> float:
    """Episodes a second."""

    def one(feedback: dict[str, Any]) -> None:
        service.finish(service.begin(), feedback)

    begin = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(one, episodes):
            pass
    return len(episodes) / (time.perf_counter() - begin)


def run(*, quick: bool) -> Section:
    """The section."""
    n_kept, n_many = (500, 5_000) if quick else (3_000, 50_000)
    horizon = 10**7
    episodes = [episode(t) for t in range(2_000)]

    def some(n: int) -> list[dict[str, Any]]:
        return [episodes[t % len(episodes)] for t in range(n)]

    with tempfile.TemporaryDirectory() as scratch:
        in_memory = am.Service(am.UOBREPS(LAYOUT, horizon))
        serve(in_memory, some(100), 1)
        rates = [serve(in_memory, some(n_kept), 1)]
        for name, threads in (("one", 1), ("many", 32)):
            kept = am.Service(am.UOBREPS(LAYOUT, horizon), Path(scratch) / name)
            rates.append(serve(kept, some(n_kept), threads))
            kept.close()
        # The way back when no snapshot was ever taken: every episode is learnt again.
        folder = Path(scratch) / "long"
        kept = am.Service(am.UOBREPS(LAYOUT, horizon), folder, every=horizon)
        keeper, kept._keeper = kept._keeper, None  # the same events without waiting for the disk
        assert keeper is not None
        for feedback in some(n_many):
            ticket = kept.begin()
            keeper.append({"begin": ticket.number, "context": None})
            kept.finish(ticket, feedback)
            keeper.append({"finish": ticket.number, "clipped": 0, "feedback": feedback})
        keeper.close()
        size = sum(file.stat().st_size for file in folder.iterdir())
        begin = time.perf_counter()
        again = am.Service.load(folder)
        way_back = time.perf_counter() - begin
        assert again.finished == n_many
        again.close()
    figures = [
        *(
            Figure(f"service: {row}", rate, "episodes/s", noisy=True)
            for row, rate in zip(ROWS, rates, strict=True)
        ),
        Figure("service: journal of an episode", size / n_many, "bytes"),
        Figure(
            "service: the way back, an episode of the journal", way_back / n_many, "s", noisy=True
        ),
        Figure(
            "service: the way back after a kill, snapshots as by default",
            1_000 * way_back / n_many,
            "s",
            1.0,
            AT_MOST,
            noisy=True,
        ),
    ]
    rows = [(row, f"{number(rate)} episodes/s") for row, rate in zip(ROWS, rates, strict=True)]
    rows += [
        ("journal", f"{size / n_many:.0f} bytes an episode"),
        ("the way back, 1,000 episodes (the default)", seconds(1_000 * way_back / n_many)),
        ("the way back, 10^6 episodes without a snapshot", seconds(10**6 * way_back / n_many)),
    ]
    return Section([Grid("A service at 1,3,3,1 x2", ("what", "measured"), rows)], figures)
