"""The services of a folder, by name."""

from __future__ import annotations

import re
from pathlib import Path

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput, StorageFailure
from advmdp.service import Service
from advmdp.service.keeper import SNAPSHOT

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""What can be a part of an address as it stands."""


def checked_name(name: str) -> str:
    """The name of a service."""
    if not NAME.fullmatch(name):
        raise InvalidInput(
            f"{shown(name)} is no name of a service; use up to 100 letters, digits, '_', '-', '.'"
        )
    return name


def service_folders(folder: Path) -> dict[str, Path]:
    """Where the services of a folder are: in it, or the folder itself is one."""
    if (folder / SNAPSHOT).exists():
        return {checked_name(folder.resolve().name): folder}
    try:
        inside = sorted(path for path in folder.iterdir() if (path / SNAPSHOT).exists())
    except FileNotFoundError:
        inside = []
    except OSError as error:
        raise StorageFailure(f"{folder}: cannot be read ({error.strerror})") from error
    return {checked_name(path.name): path for path in inside}


def open_folder(folder: Path) -> dict[str, Service]:
    """All services of a folder, locked for this process; none if one of them cannot be opened."""
    places = service_folders(folder)
    if not places:
        raise InvalidInput(
            f"{folder}: holds no service; begin one with --create NAME, or am.open_service"
        )
    services: dict[str, Service] = {}
    try:
        for name, place in places.items():
            services[name] = Service.load(place)
    except BaseException:
        for service in services.values():
            service.close()
        raise
    return services
