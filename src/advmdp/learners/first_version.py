"""Saved states of version 1, in the names and codes of today.

The first version kept the set of transitions in one record for boxes, balls and known rows; the
meaning of its arrays depended on ``rows.kind``: 0 free, 1 box, 2 ball, 3 fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.kernels.model.row_status import BOUND, FREE, KNOWN

Saved = dict[str, NDArray[Any]]

STATUS_OF_KIND = np.array([FREE, BOUND, BOUND, KNOWN], dtype=np.uint8)
NEW_NAMES = {
    "measure.": "step.measure.",
    "path.": "visited.",
    "solver.report": "step.solver.certificate.counts",
    "solver.figures": "step.solver.certificate.figures",
    "solver.dual.": "step.solver.dual.held.",
}


def renamed(saved: Mapping[str, NDArray[Any]], wanted: Mapping[str, NDArray[Any]]) -> Saved:
    """The arrays of a state under the names of ``wanted``, the state of a fresh learner."""
    found: Saved = {}
    for name, array in saved.items():
        outer = "learner." if name.startswith("learner.") else ""  # the inner one of a Doubling
        own = name.removeprefix(outer)
        old = next((prefix for prefix in NEW_NAMES if own.startswith(prefix)), "")
        found[outer + NEW_NAMES.get(old, "") + own.removeprefix(old)] = array
    for name in list(found):
        if name.endswith("rows.kind"):
            _convert_set(found, name.removesuffix("kind"))
    return {name: array for name, array in found.items() if name in wanted}


def _convert_set(found: Saved, prefix: str) -> None:
    """The arrays of a box and of a ball; a fresh learner says which of the two it wants."""
    found[f"{prefix}status"] = STATUS_OF_KIND[found[f"{prefix}kind"]]
    found[f"{prefix}centre"] = found[f"{prefix}lower"]
