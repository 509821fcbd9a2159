"""How the tests reach the example scripts, which are run by path and are no package."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.image import imread

FOLDER = Path(__file__).parents[2] / "examples"


def script(name: str) -> Any:
    """The module of ``examples/<name>.py``, found as the scripts find their neighbours."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return import_module(name)


def assert_a_picture(path: Path) -> None:
    """A PNG of a fair size with ink and colour on it, neither blank nor blotted."""
    pixels = np.asarray(imread(path))[..., :3]
    assert pixels.shape[0] > 400
    assert pixels.shape[1] > 800
    assert 0.005 < (pixels.min(axis=2) < 0.7).mean() < 0.3
    coloured = pixels.max(axis=2) - pixels.min(axis=2) > 0.3
    assert coloured.mean() > 0.001
