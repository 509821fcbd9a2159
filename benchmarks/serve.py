"""``advmdp serve`` under load: whole episodes a second, latencies, and a hundred kills.

Episodes of 1,3,3,1 x2 with UOB-REPS; the answer to feedback means that it is on the disk.  Server
and clients are two processes on the same machine.  On each of 32 connections one request is under
way; 4 connections where a request holds 20 episodes.  Latencies are those of the median run.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section, number, seconds
from benchmarks.serve_kills import LAYOUT, Respawned, killed
from benchmarks.serve_load import Load, batches, five_requests, loaded, two_requests

MODES = (
    ("a request for the ticket, one for the feedback", two_requests, 32, "begin", "finish"),
    ("a request for every action as well", five_requests, 32, "begin", "finish"),
    ("20 episodes in a request", batches, 4, "begin_many", "finish_many"),
)
"""What a client does, over how many connections."""
TARGET = 2_000  # whole episodes a second
LATENCY = 0.050  # seconds, of 99 requests in 100
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    """What a process has used."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICKS


def loads_of(
    server: Respawned, repeats: int, n_episodes: int
) -> tuple[list[tuple[str, ...]], list[Figure]]:
    """A row and figures for every mode."""
    rows: list[tuple[str, ...]] = []
    figures: list[Figure] = []
    loaded(server.port, two_requests, 32, 1_000)  # everything is compiled and warm
    for name, play, connections, asks, closes in MODES:
        loads: list[Load] = []
        used = processor_seconds(server.pid)
        for _ in range(repeats):
            loads.append(loaded(server.port, play, connections, n_episodes))
        used = processor_seconds(server.pid) - used
        loads.sort(key=lambda load: load.rate)
        best, usual = loads[-1], loads[len(loads) // 2]
        cost = used / sum(load.episodes for load in loads)
        rows.append(
            (
                f"{name}, {connections} connections",
                number(best.rate),
                number(usual.rate),
                *(seconds(usual.quantile(asks, share)) for share in (0.5, 0.99)),
                *(seconds(usual.quantile(closes, share)) for share in (0.5, 0.99)),
                seconds(cost),
            )
        )
        single = play is two_requests
        figures += [
            Figure(f"serve: {name}, best of {repeats}", best.rate, "episodes/s", noisy=True),
            Figure(
                f"serve: {name}, median of {repeats}",
                usual.rate,
                "episodes/s",
                TARGET if single else None,
                noisy=True,
            ),
            Figure(
                f"serve: {name}, acknowledged on the disk, p99",
                usual.quantile(closes, 0.99),
                "s",
                LATENCY if single else None,
                AT_MOST,
                noisy=True,
            ),
            Figure(f"serve: {name}, processor time of the server", cost, "s/episode"),
        ]
    return rows, figures


def run(*, quick: bool) -> Section:
    """The section."""
    repeats, n_episodes, n_kills = (1, 2_000, 10) if quick else (5, 10_000, 100)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "load"
        am.Service(am.UOBREPS(LAYOUT, 10**8), folder / "pump", every=10_000).close()
        with Respawned(folder) as server:
            rows, figures = loads_of(server, repeats, n_episodes)
            assert server.end() == 0
        account = killed(Path(scratch) / "kills", n_kills)
    lost = account.acknowledged - min(account.acknowledged, account.learnt)
    doubled = account.learnt - min(account.acknowledged, account.learnt)
    exact = account.same_visits and account.still_open == 0
    figures += [
        Figure(f"serve: {n_kills} kills under load, lost", lost, "episodes", 0, AT_MOST),
        Figure(f"serve: {n_kills} kills under load, doubled", doubled, "episodes", 0, AT_MOST),
        Figure(f"serve: {n_kills} kills under load, visits differ", not exact, "", 0, AT_MOST),
    ]
    columns = (
        "how",
        "episodes/s",
        "median",
        "ask p50",
        "p99",
        "feedback p50",
        "p99",
        "CPU/episode",
    )
    kills = [
        ("kills", f"{account.kills}"),
        ("episodes acknowledged", f"{account.acknowledged:,}"),
        ("episodes learnt", f"{account.learnt:,}"),
        ("lost, doubled", f"{lost}, {doubled}"),
        ("visits are those of the acknowledged episodes", "yes" if exact else "NO"),
    ]
    return Section(
        [
            Grid("advmdp serve, 1,3,3,1 x2, whole episodes a second", columns, rows),
            Grid("SIGKILL under load", ("what", "counted"), kills),
        ],
        figures,
    )
