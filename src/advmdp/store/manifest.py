"""The manifest of a run: a small JSON file that contains its own checksum.

It holds the spec, versions, machine, times and status of the run, its final figures, and the
checksums of its other files.
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

from advmdp.atomic_files import write_atomically
from advmdp.errors import DamagedFile
from advmdp.store.identity import Identity

NAME = "manifest.json"


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@cache
def environment() -> dict[str, dict[str, Any]]:
    """Versions and machine, for documentation; no figure depends on the machine."""
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
    return {**identity._asdict(), "status": status, **environment(), **rest}


def encode(manifest: dict[str, Any]) -> bytes:
    """The bytes of a manifest, with its checksum."""
    sealed = {**manifest, "checksum": _own_checksum(manifest)}
    return json.dumps(sealed, indent=1, sort_keys=True).encode() + b"\n"


def write(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest of a run into its folder."""
    write_atomically(folder / NAME, [encode(manifest)])


def read(folder: Path) -> dict[str, Any]:
    """The manifest in a folder; ``DamagedFile`` if it is missing or damaged."""
    path = folder / NAME
    try:
        manifest: dict[str, Any] = json.loads(path.read_bytes())
        recorded = manifest.pop("checksum")
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        raise DamagedFile(f"{path}: missing or not a manifest") from None
    if recorded != _own_checksum(manifest):
        raise DamagedFile(f"{path}: the checksum does not match")
    return manifest


def checksum(data: bytes) -> str:
    """SHA-256, in hexadecimal: how a manifest records the contents of a file."""
    return hashlib.sha256(data).hexdigest()


def _own_checksum(manifest: dict[str, Any]) -> str:
    return checksum(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode())
