"""The manifest of a run: a small JSON file that contains its own checksum.

It holds the spec, versions, machine, times and status of the run, its final figures, and the
checksums of its other files.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from advmdp.errors import DamagedFile
from advmdp.files.atomic import write_atomically
from advmdp.files.plain import read_plain
from advmdp.store.identity import Identity
from advmdp.store.run_row import check_manifest
from advmdp.store.source_stamp import source_stamp

NAME = "manifest.json"


class MissingManifest(DamagedFile):
    """There is no manifest: the run is about to begin, or is being removed."""


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@cache
def environment() -> dict[str, dict[str, Any]]:
    """Versions and machine, for documentation; no figure depends on the machine."""
    return {
        "versions": {
            "advmdp": sys.modules["advmdp"].__version__,  # which imports rooms above this one
            "sources": source_stamp(),
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
    """The manifest in a folder; ``DamagedFile`` if it is missing, damaged or incomplete."""
    path = folder / NAME
    try:
        manifest: dict[str, Any] = json.loads(read_plain(path))
        recorded = manifest.pop("checksum")
        own = _own_checksum(manifest)
    except FileNotFoundError:
        raise MissingManifest(f"{path}: missing") from None
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise DamagedFile(f"{path}: not a manifest") from None
    if recorded != own:
        raise DamagedFile(f"{path}: the checksum does not match")
    try:
        check_manifest(manifest)
    except ValueError as problem:
        raise DamagedFile(f"{path}: {problem}") from None
    return manifest


def read_own(folder: Path) -> dict[str, Any]:
    """The manifest in a folder of a store, which has the name of the run."""
    manifest = read(folder)
    if manifest["run"] != folder.name:
        raise DamagedFile(f"{folder / NAME}: it is that of another run")
    return manifest


def checksum(data: bytes) -> str:
    """SHA-256, in hexadecimal: how a manifest records the contents of a file."""
    return hashlib.sha256(data).hexdigest()


def _own_checksum(manifest: dict[str, Any]) -> str:
    return checksum(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode())
