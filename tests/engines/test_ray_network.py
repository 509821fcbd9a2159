"""A Ray cluster that the engine starts by itself is reachable from this machine alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, sys
from pathlib import Path
from advmdp.experiments.engines.interface import EngineOptions
from advmdp.experiments.engines.ray_cluster import RayEngine

engine = RayEngine(Path(sys.argv[1]), EngineOptions(workers=1))
sockets = {}
for table in ("tcp", "tcp6"):
    for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[3] == "0A":  # it listens
            sockets[f"socket:[{columns[9]}]"] = columns[1].partition(":")[0]
parents = {}
for folder in Path("/proc").glob("[0-9]*"):
    try:
        stat = (folder / "stat").read_text()
    except OSError:
        continue
    parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])

def is_ours(pid):
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()

for pid in filter(is_ours, parents):
    try:
        links = [os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        continue
    for address in filter(None, map(sockets.get, links)):
        print(address)
engine.close()
"""
LOOPBACK = {
    "0100007F",
    "0000000000000000FFFF00000100007F",
    "00000000000000000000000001000000",
}


def test_it_listens_on_the_loopback_only(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    listening = set(ended.stdout.split())
    assert listening  # the cluster has servers, and they were found
    assert listening <= LOOPBACK
