"""Every loader before wrong data: it is refused in one line, or what it makes works.

The soak (``python -m benchmarks.soak``) makes the same attempts for an hour.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.loaders import LOADERS, attempts

ATTEMPTS = 120
ACCEPTED = {"checkpoints"}  # a checkpoint that does not fit is passed over


@pytest.mark.parametrize("name", LOADERS)
def test_wrong_data_is_refused_or_harmless(name: str, tmp_path: Path) -> None:
    attempt = LOADERS[name](tmp_path)
    refused, accepted = attempts(attempt, random.Random(name), ATTEMPTS)
    if name in ACCEPTED:
        assert accepted == ATTEMPTS
    else:
        assert refused > ATTEMPTS // 4


def test_versions_and_numbers_that_are_text(tmp_path: Path) -> None:
    """What the attempts have found, kept."""
    import advmdp as am
    from advmdp.files.archive import read_archive, write_archive

    am.Service(am.Uniform(am.Layout((1, 2, 1), 2))).save(tmp_path / "service")
    good, arrays = read_archive(tmp_path / "service", "service")
    for change in (
        {"finished": "x"},
        {"finished": -3},
        {"abandoned": 1.5},
        {"open": "no"},
        {"learner": {**good["learner"], "version": "x"}},
    ):
        write_archive(tmp_path / "service", "service", {**good, **change}, arrays)
        with pytest.raises(am.AdvMDPError):
            am.Service.load(tmp_path / "service")


BOUNDS_CHECKED = """
import random, sys
from pathlib import Path
import numpy as np
from numba.core import config
import advmdp as am
from advmdp.files.archive import read_archive, write_archive
from tests.fuzz.loaders import goes_on, saved_learner
from tests.fuzz.mutations import altered

assert config.BOUNDSCHECK == 1
path, accepted = Path(sys.argv[1]) / "learner", 0
header, arrays = saved_learner("ucrl2-window", path)
for seed in range(3):
    for what, wrong in altered(arrays, np.random.default_rng(seed)):
        write_archive(path, "learner", header, wrong)
        try:
            learner = am.load(path)
        except am.AdvMDPError:
            continue
        goes_on(learner)
        accepted += 1
assert accepted > 10
print("within bounds", accepted)
"""


def test_what_is_accepted_stays_within_its_arrays(tmp_path: Path) -> None:
    """Compiled code that checks every index, with a cache of its own."""
    cache = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", BOUNDS_CHECKED, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, **cache},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "within bounds" in done.stdout
