"""Feedback that comes some episodes after its policy was played: what every learner of it offers.

The learner has moved meanwhile.  What then divides the loss of episode j, with u_j the bound of the
policy pi_j and the set that it was played with, and u that of pi and the set of today:

    OWN_TIME   u_j     unbiased up to gamma, with a variance that the delay lets grow
    ADAPTED    the delay-adapted denominator: what is rare today counts no more than it did then.
               max(u_j, u) for occupancy measures (Jin, Lancewicki, Luo, Mansour, Rosenberg 2022),
               u_j max(pi_j, pi) / pi_j for policies (Lancewicki, Rosenberg, Sotnikov 2023)
    TODAY      u       a control: the pair was drawn with u_j
    WAITING    u_j     a control: only of episodes that were played with today's policy
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..model.graph import Floats, Graph
from ..model.visits import Counts
from ..runtime.dispatch import dispatched
from ..runtime.storage import Scratch
from ..runtime.targets import leaf

OWN_TIME, ADAPTED, TODAY, WAITING = 0, 1, 2, 3


class LateEpisode(NamedTuple):
    """A trajectory with what was fixed when it was played.

    The bonus of policy optimisation is one of all states: such learners keep their policy and its
    occupancy bounds.  For the others these arrays are empty.
    """

    states: Scratch[Counts]  # (L + 1,)
    path: Scratch[Counts]  # (L,)
    losses: Scratch[Floats]  # (L,)
    bound: Scratch[Floats]  # (L,) u_j(x_k, a_k)
    occupancy: Scratch[Floats]  # (L,) q^_j(x_k, a_k)
    learnt: Scratch[Counts]  # (1,) episodes learnt from when it was played
    policy: Scratch[Floats]  # (R,) pi_j, or empty
    upper: Scratch[Floats]  # (S,) max over the set of q_j(x), or empty
    lower: Scratch[Floats]  # (S,) min over the set of q_j(x), or empty


@dispatched("state")
def note_departure(graph: Graph, state: Any, late: LateEpisode) -> None:
    """Write what is fixed today into the record of an episode, whose trajectory is in it."""


@dispatched("state")
def episodes_learnt(state: Any) -> int:
    """Episodes learnt from so far."""


@dispatched("state")
def begin_late_update(graph: Graph, state: Any, reading: int, late: LateEpisode) -> bool:
    """``begin_update`` for an episode of the past; True if a step is pending.

    With TODAY the record may be written anew.
    """


@leaf
def _nothing_to_close(graph: Graph, state: Any) -> None:
    return


@dispatched("state", default=_nothing_to_close)
def close_arrivals(graph: Graph, state: Any) -> None:
    """All that arrives before the next episode has arrived."""


@leaf
def is_dropped(state: Any, reading: int, late: LateEpisode) -> bool:
    """Whether a learner that waits has moved since the episode was played."""
    return reading == WAITING and late.learnt[0] != episodes_learnt(state)
