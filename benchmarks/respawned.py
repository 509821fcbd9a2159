"""``advmdp serve`` under a parent that starts it again whenever it dies, at once.

The parent has imported everything and forks, so that a hundred kills do not cost a hundred imports.
It prints the process id of every server; ``python -m benchmarks.respawned FOLDER PORT``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from advmdp import UOBREPS, Layout, Service
from advmdp.errors import AdvMDPError
from advmdp.web.folder import open_folder
from advmdp.web.limits import Limits
from advmdp.web.server import serve
from advmdp.web.warming import warm_up


def run(folder: Path, port: int) -> None:
    """One server, until it is ended."""
    services = open_folder(folder)

    def ready(address: str) -> None:
        print(os.getpid(), flush=True)

    serve(services, "127.0.0.1", port, None, Limits(rate=1e9), [], ready)


def main(folder: Path, port: int) -> int:
    """Servers, one after the other, until one ends by itself."""
    warm_up(Service(UOBREPS(Layout((1, 3, 3, 1), 2), 10)))  # children find it compiled and loaded
    while True:
        child = os.fork()
        if child == 0:
            try:
                run(folder, port)
            except AdvMDPError as problem:
                print(f"error: {problem}", flush=True)
                os._exit(2)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), int(sys.argv[2])))
