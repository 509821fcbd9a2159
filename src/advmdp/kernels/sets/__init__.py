"""Sets of transitions: one file or folder per set, the same functions in each (``interface``).

``SETS`` is the registry: every property of ``tests/test_every_set.py`` is tested for each of them.
"""

from .ball import BallRows
from .box.rows import BoxRows
from .known import KnownRows

SETS = (BoxRows, BallRows, KnownRows)
