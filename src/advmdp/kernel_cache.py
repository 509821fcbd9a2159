"""A place for compiled kernels, chosen before Numba is imported.

Numba keeps them beside the sources or in the user's cache folder, and fails where it can write to
neither (a read-only installation without a home).  Then a private temporary folder serves.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
log = logging.getLogger(__name__)


def choose_kernel_cache() -> None:
    """Set ``NUMBA_CACHE_DIR`` where Numba would find no place by itself."""
    if os.environ.get(VARIABLE):
        return
    own = Path(__file__).parent / "__pycache__"
    user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"
    if _is_writable(own) or _is_writable(user):
        return
    place = _temporary_folder()
    os.environ[VARIABLE] = place  # processes started from here share it
    log.warning(
        "neither %s nor %s can be written: kernels are kept in %s; set %s to a lasting folder",
        *(own, user, place, VARIABLE),
    )


def _is_writable(folder: Path) -> bool:
    """Whether a file can be created in the folder, which is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except (OSError, RuntimeError):
        return False


def _temporary_folder() -> str:
    """The same folder every time, unless somebody else could write to it: a cache holds code."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    place = os.path.join(tempfile.gettempdir(), f"advmdp-kernels-{user}")
    try:
        os.mkdir(place, 0o700)
    except FileExistsError:
        found = os.lstat(place)
        private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
        if not private or found.st_uid != user:
            return tempfile.mkdtemp(prefix="advmdp-kernels-")
    return place
