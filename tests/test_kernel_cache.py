"""Where neither the package nor the home can hold compiled kernels, a temporary folder does."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import advmdp
from advmdp import kernel_cache

UNSET = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A copy of the package without room for caches, and no home; root may write anywhere else."""
    package = tmp_path / "site" / "advmdp"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(advmdp.__file__).parent, package, ignore=ignored)
    for folder in [package, *filter(Path.is_dir, package.rglob("*"))]:
        (folder / "__pycache__").touch()
    (tmp_path / "temporary").mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    own = {"HOME": "/dev/null", "TMPDIR": str(tmp_path / "temporary")}
    return {**kept, **own, "PYTHONPATH": str(package.parent)}


def test_the_command_works(environment: dict[str, str], tmp_path: Path) -> None:
    for arguments in (["-c", "import advmdp"], ["-m", "advmdp.cli", "--help"]):
        ended = subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr.count("\n") == 1
        assert "kernels are kept in" in ended.stderr
    (made,) = (tmp_path / "temporary").iterdir()  # the second process used it as well
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_folder_that_others_can_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cache.tempfile, "tempdir", str(tmp_path))
    first = Path(kernel_cache._temporary_folder())
    assert Path(kernel_cache._temporary_folder()) == first
    first.chmod(0o777)
    assert Path(kernel_cache._temporary_folder()) != first
