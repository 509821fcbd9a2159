"""Saved states of version 1, in the names and codes of today.

The first version kept the set of transitions in one record for boxes, balls and known rows; the
meaning of its arrays depended on ``rows.kind``: 0 free, 1 box, 2 ball, 3 fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
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


def is_first_version(saved: Mapping[str, NDArray[Any]]) -> bool:
    """Whether a state has names that only the first version used."""
    return any(name == "rows.kind" or name.startswith(tuple(NEW_NAMES)) for name in saved)


def renamed(saved: Mapping[str, NDArray[Any]], wanted: Mapping[str, NDArray[Any]]) -> Saved:
    """The arrays of a state under the names of ``wanted``, the arrays of a fresh learner.

    What the first version kept beyond these did not last and is left out.
    """
    found: Saved = {}
    for name, array in saved.items():
        old = next((prefix for prefix in NEW_NAMES if name.startswith(prefix)), "")
        found[NEW_NAMES.get(old, "") + name.removeprefix(old)] = array
    if {"rows.kind", "rows.lower"} <= found.keys():  # box or ball: ``wanted`` says which
        if (found["rows.kind"] >= len(STATUS_OF_KIND)).any():
            raise InvalidInput("restore: rows.kind has unknown codes; restore it from a copy")
        found["rows.status"] = STATUS_OF_KIND[found["rows.kind"]]
        found["rows.centre"] = found["rows.lower"]
    return {name: array for name, array in found.items() if name in wanted}
