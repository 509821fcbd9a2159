"""How much is known of one row: the part that all sets of transitions have in common.

Every set is a record of arrays with two common fields,

    status            (R,) FREE, BOUND or KNOWN
    least_occupancy   a floor under the occupancy of every state (``kl/state_floor``)

and arrays of its own, which say what a BOUND row may be and where a KNOWN row lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.targets import leaf

Marks = NDArray[np.uint8]

FREE = 0  # any distribution over the successors
BOUND = 1  # what the set's own arrays allow
KNOWN = 2  # one distribution


@leaf
def is_free(rows: Any, r: int) -> bool:
    """Whether row r may be any distribution."""
    return bool(rows.status[r] == FREE)


@leaf
def is_bound(rows: Any, r: int) -> bool:
    """Whether the set's own arrays bound row r."""
    return bool(rows.status[r] == BOUND)


@leaf
def is_known(rows: Any, r: int) -> bool:
    """Whether row r is one distribution."""
    return bool(rows.status[r] == KNOWN)
