"""The record of an episode: what was fixed when its policy was issued."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from advmdp.layout import Layout, Table


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """Travels with an episode from ``issue()`` to ``update(feedback, record)``.

    The estimators divide an observed loss by (a bound on) the probability with which the policy of
    that episode visits its pair, over the confidence set of that time.  Feedback may come later and
    out of order as long as it comes with its record.
    """

    number: int
    """Episodes learnt from when the policy was issued, plus one."""
    policy: Table
    """The policy to play, a pair table."""
    layout: Layout = field(repr=False)
    fixed: Any = field(repr=False)
    """Policy, occupancy and confidence set as the kernels hold them."""
