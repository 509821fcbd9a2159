"""The wheel and the sdist: built in this process's Python, without a network, and installed."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import advmdp

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"
BUILD = "import sys; from hatchling import build; print(getattr(build, sys.argv[1])(sys.argv[2]))"


def built(kind: str, root: Path, target: Path) -> Path:
    """What the backend of ``pyproject.toml`` builds from a source tree."""
    target.mkdir(exist_ok=True)
    command = [sys.executable, "-c", BUILD, f"build_{kind}", str(target)]
    made = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return target / made.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def contents(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_whole_package(wheel: Path) -> None:
    inside = contents(wheel)
    sources = [
        path.relative_to(SOURCES).as_posix()
        for path in (SOURCES / "advmdp").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {"advmdp/py.typed", "advmdp/reports/html/chart.js"} <= set(sources)
    assert set(sources) == {name for name in inside if name.startswith("advmdp/")}
    assert not [name for name in inside if not name.startswith(("advmdp/", "advmdp-"))]


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = built("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
    assert (unpacked / "tests" / "test_packages.py").exists()
    again = contents(built("wheel", unpacked, tmp_path / "again"))
    assert {name: again[name] for name in again if name.startswith("advmdp/")} == {
        name: data for name, data in contents(wheel).items() if name.startswith("advmdp/")
    }


def test_the_installed_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    """Beside the libraries that are here, and without this source tree."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    pip += ["--no-compile", "--disable-pip-version-check", "--target", str(tmp_path / "site")]
    installed = subprocess.run([*pip, str(wheel)], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import advmdp, importlib.metadata as metadata\n"
        "from advmdp.cli import main\n"
        "print(advmdp.__file__, metadata.version('advmdp'))\n"
        "entry, = metadata.entry_points(group='console_scripts', name='advmdp')\n"
        "assert entry.load() is main\n"
        "main(['--version'])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-E", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [
        str(tmp_path / "site" / "advmdp" / "__init__.py"),
        advmdp.__version__,
        "advmdp",
        advmdp.__version__,
    ]


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert citation is not None
    assert newest is not None
    assert {project["version"], citation[1], newest[1]} == {advmdp.__version__}


def test_kernels_compile_before_the_packages_of_the_tests_are_installed() -> None:
    """What ``make compiled`` imports are dependencies, none of them of an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [each for part in project["optional-dependencies"].values() for each in part]
    names = {re.split(r"[\[<>=]", each)[0].replace("-", "_") for each in extras}
    names -= {"advmdp", "numpy"}
    assert {"hypothesis", "scipy"} <= names
    script = (
        "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:]))\n"
        "import tests.warm_up, advmdp.claims.playing.observed_runs\n"
    )
    command = [sys.executable, "-c", script, *sorted(names)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
