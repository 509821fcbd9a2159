"""The manifest of a run: a small JSON file with a checksum of its own.

It holds the spec, versions, machine, times and status, the final figures, and the checksums of the
other files of the run.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from advmdp.archive import write_atomically
from advmdp.errors import DamagedFile
from advmdp.store.identity import Identity

NAME = "manifest.json"
FINISHED, RUNNING, CUT, FAILED = "finished", "running", "cut", "failed"


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@cache
def surroundings() -> dict[str, dict[str, Any]]:
    """Versions and machine, for the record; no figure depends on the machine."""
    from advmdp import __version__

    return {
        "versions": {
            "advmdp": __version__,
            "python": platform.python_version(),
            **{package: version(package) for package in ("numpy", "numba", "polars")},
        },
        "machine": {
            "host": platform.node(),
            "system": f"{platform.system()} {platform.release()}",
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
    }


def manifest_of(identity: Identity, status: str, **rest: Any) -> dict[str, Any]:
    """The content of a manifest."""
    return {**identity._asdict(), "status": status, **surroundings(), **rest}


def encode(manifest: dict[str, Any]) -> bytes:
    """The bytes of a manifest, with its checksum."""
    sealed = {**manifest, "checksum": _checksum(manifest)}
    return json.dumps(sealed, indent=1, sort_keys=True).encode() + b"\n"


def write(folder: Path, manifest: dict[str, Any]) -> None:
    """Put the manifest of a run into its folder."""
    write_atomically(folder / NAME, [encode(manifest)])


def read(folder: Path) -> dict[str, Any]:
    """The manifest in a folder; ``DamagedFile`` if there is no whole one."""
    path = folder / NAME
    try:
        manifest: dict[str, Any] = json.loads(path.read_bytes())
        checksum = manifest.pop("checksum")
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        raise DamagedFile(f"{path}: missing or not a manifest") from None
    if checksum != _checksum(manifest):
        raise DamagedFile(f"{path}: the checksum does not fit")
    return manifest


def _checksum(manifest: dict[str, Any]) -> str:
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
