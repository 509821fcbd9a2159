"""Sets of transitions: one file per set, the same functions in each (``interface``).

``SETS`` is the registry: what every set is tested for, it is tested for over this list.
"""

from .ball import BallRows
from .box import BoxRows
from .known import KnownRows

SETS = (BoxRows, BallRows, KnownRows)
