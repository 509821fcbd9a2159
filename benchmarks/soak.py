"""``python -m benchmarks.soak``: kill what writes, and put wrong data before what reads.

Sweeps, services and Ray workers are ended with SIGKILL at random moments and started again, until
the kills are spent; nothing may be lost, and every result must have the bytes of a run that nobody
disturbed.  Then every loader gets wrong data, by structure, until the time is up (``tests/fuzz``).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.engines.test_ray_engine import _ray_tasks
from tests.experiments.sweeps import (
    command,
    curve_bytes,
    play_here,
    runs_of,
    sweep_command,
    sweep_text,
)
from tests.fuzz.loaders import LOADERS, attempts

import advmdp as am
from advmdp.store import Store
from benchmarks.machine import describe

RESULTS = Path(__file__).parent / "soak.json"
LONGEST = 1.5  # seconds that a sweep or a service is left alone before it is killed
SERVICE = """
import sys
from pathlib import Path
import numpy as np
import advmdp as am

path, n_episodes = Path(sys.argv[1]), int(sys.argv[2])
layout = am.Layout((1, 3, 3, 1), 2)
service = am.open_service(path, am.UOBREPS(layout, n_episodes=n_episodes), every=50)
print("ready", flush=True)
while service.finished < n_episodes:
    while len(service.open) < min(4, n_episodes - service.finished):
        service.begin()
    ticket = service.open[service.finished % len(service.open)]
    rng = np.random.default_rng(ticket.number)
    states = [0, *rng.integers(3, size=2), 0]
    actions = rng.integers(2, size=3)
    service.finish(ticket, am.Trajectory(states, actions, rng.random(3)))
"""


class Toll:
    """What was killed, what was compared, and what differed."""

    def __init__(self) -> None:
        self.kills = self.compared = self.lost = 0

    def compare(self, found: dict[str, bytes], expected: dict[str, bytes]) -> None:
        """Count the results, and those that are missing, doubled or different."""
        self.compared += len(expected)
        self.lost += sum(found.get(name) != data for name, data in expected.items())
        self.lost += len(found.keys() - expected.keys())

    def as_data(self) -> dict[str, int]:
        """For the file of results."""
        return vars(self)


def undisturbed(text: str, folder: Path) -> dict[str, bytes]:
    """The curves of a sweep that is played in this process."""
    store = Store(folder / "whole", create=True)
    play_here(store, runs_of(text))
    return curve_bytes(store)


def kill_sweeps(folder: Path, n_kills: int, rng: random.Random) -> Toll:
    """The sweep alone, whose workers then end by themselves, or all of its processes."""
    text, toll = sweep_text(n_episodes=150_000, replicates=2), Toll()
    (folder / "sweep.toml").write_text(text)
    expected, n_stores = undisturbed(text, folder), 0
    while toll.kills < n_kills or not toll.compared:
        path = folder / f"store{n_stores}"
        process = command(*sweep_command(folder / "sweep.toml", path))
        patience = rng.uniform(0.5, 1.5 + LONGEST) if toll.kills < n_kills else None
        try:
            process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            if rng.random() < 0.5:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.communicate()
            toll.kills += 1
            continue
        toll.compare(curve_bytes(Store(path)), expected)
        n_stores += 1
    return toll


def kill_services(folder: Path, n_kills: int, rng: random.Random) -> Toll:
    """A service with four open episodes, killed while it plays."""
    toll, n_episodes = Toll(), 3000

    def started(path: Path) -> subprocess.Popen[str]:
        arguments = [sys.executable, "-c", SERVICE, str(path), str(n_episodes)]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def learnt(path: Path) -> dict[str, bytes]:
        service = am.Service.load(path)
        service.close()
        return {name: array.tobytes() for name, array in service.learner.state().items()}

    started(folder / "whole").communicate()
    expected, n_services = learnt(folder / "whole"), 0
    while toll.kills < n_kills or not toll.compared:
        path = folder / f"service{n_services}"
        process = started(path)
        try:
            process.communicate(timeout=rng.uniform(0.0, 0.4) if toll.kills < n_kills else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            toll.kills += 1
            continue
        toll.compare(learnt(path), expected)
        n_services += 1
    return toll


def kill_ray_workers(folder: Path, n_kills: int, rng: random.Random) -> Toll:
    """The processes of Ray that play runs; a sweep that gives a run up is started again."""
    text, toll = sweep_text(n_episodes=400_000, replicates=2), Toll()
    (folder / "sweep.toml").write_text(text)
    expected, n_stores = undisturbed(text, folder), 0
    while toll.kills < n_kills or not toll.compared:
        path = folder / f"store{n_stores}"
        process = command(*sweep_command(folder / "sweep.toml", path, "--engine", "ray"))
        while process.poll() is None:
            time.sleep(rng.uniform(0.2, LONGEST))
            victims = _ray_tasks(process.pid) if toll.kills < n_kills else []
            if victims:
                os.kill(rng.choice(victims), signal.SIGKILL)
                toll.kills += 1
        process.communicate()
        if process.returncode == 0:
            toll.compare(curve_bytes(Store(path)), expected)
            n_stores += 1
    return toll


FUZZED = "loaders"
KILLED: dict[str, tuple[float, Callable[[Path, int, random.Random], Toll]]] = {
    "sweeps": (0.5, kill_sweeps),
    "services": (0.4, kill_services),
    "Ray workers": (0.1, kill_ray_workers),
}


def fuzz(folder: Path, minutes: float, rng: random.Random) -> dict[str, dict[str, int]]:
    """Wrong data for every loader in turn; whatever is not refused in one line comes through."""
    logging.getLogger("advmdp").setLevel(logging.ERROR)  # checkpoints that are passed over
    made, found = {}, {name: {"refused": 0, "harmless": 0} for name in LOADERS}
    for name, make in LOADERS.items():
        (folder / name).mkdir()
        made[name] = make(folder / name)
    end = time.monotonic() + 60.0 * minutes
    while time.monotonic() < end:
        for name, attempt in made.items():
            tally = attempts(attempt, rng, 50)
            found[name]["refused"] += tally.refused
            found[name]["harmless"] += tally.accepted
    return found


Lot = tuple[str, float, int]
"""What is disturbed, how much (kills, or minutes of wrong data) and the seed."""


def lots(n_kills: int, minutes: float, seed: int, n_jobs: int) -> list[Lot]:
    """Equal shares for every process."""
    shares = [
        (name, round(share * n_kills * (i + 1) / n_jobs) - round(share * n_kills * i / n_jobs))
        for name, (share, _) in KILLED.items()
        for i in range(n_jobs)
    ]
    every = [*shares, *((FUZZED, minutes / n_jobs) for _ in range(n_jobs))]
    return [(name, much, seed + i) for i, (name, much) in enumerate(every) if much]


def disturb(lot: Lot) -> dict[str, Any]:
    """One share, in a folder of its own."""
    name, much, seed = lot
    with tempfile.TemporaryDirectory() as scratch:
        if name == FUZZED:
            return fuzz(Path(scratch), much, random.Random(seed))
        return KILLED[name][1](Path(scratch), round(much), random.Random(seed)).as_data()


def add(total: dict[str, Any], part: dict[str, Any]) -> None:
    """Add the counts of ``part``, level by level."""
    for name, value in part.items():
        if isinstance(value, dict):
            add(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value


def main() -> int:
    """Kill, fuzz, print and keep the figures; the exit code is the number of losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--fuzz-minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the work")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    begin, found = time.monotonic(), {}
    shares = lots(options.kills, options.fuzz_minutes, options.seed, options.jobs)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for (name, *_), part in zip(shares, pool.map(disturb, shares), strict=True):
            print(f"{name}: {part}", flush=True)
            add(found.setdefault(name, {}), part)
    content: dict[str, Any] = {
        "machine": describe(),
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "processes": options.jobs,
        "kills": {name: found[name] for name in KILLED if name in found},
        "fuzz": found.get(FUZZED, {}),
    }
    options.output.write_text(json.dumps(content, indent=1) + "\n")
    return min(sum(toll["lost"] for toll in content["kills"].values()), 125)


if __name__ == "__main__":
    sys.exit(main())
