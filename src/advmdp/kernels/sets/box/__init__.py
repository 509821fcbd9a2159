"""The box: every entry of a row between two bounds.

``rows`` has the record and what a single row is asked; the other parts register themselves.
"""

from . import counts as counts
from . import eights as eights
from . import lanes as lanes
from . import packs as packs
