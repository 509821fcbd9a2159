"""Sets of transitions: one file per set, the same functions in each (``interface``).

``SETS`` is the registry: every property of ``tests/test_every_set.py`` is tested for each of them.
"""

from . import box_counts as box_counts  # the second half of the box, which registers itself
from . import box_eights as box_eights  # and its other parts
from . import box_lanes as box_lanes
from . import box_packs as box_packs
from .ball import BallRows
from .box import BoxRows
from .known import KnownRows

SETS = (BoxRows, BallRows, KnownRows)
