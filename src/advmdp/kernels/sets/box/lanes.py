"""Boxes for many linear functions at once (``planning/occupancy_lanes``): they are written out."""

from __future__ import annotations

from ...model.graph import Floats
from ...runtime.targets import leaf
from .. import interface
from .rows import BoxRows


@interface.has_boxes.register(BoxRows)
@leaf
def boxes_are_boxes(rows: BoxRows) -> bool:
    return True


@interface.write_box.register(BoxRows)
@leaf
def copy_box(rows: BoxRows, r: int, begin: int, size: int, lower: Floats, room: Floats) -> float:
    for j in range(size):
        lower[j] = rows.lower[begin + j]
        room[j] = rows.upper[begin + j] - rows.lower[begin + j]
    return rows.slack[r]
