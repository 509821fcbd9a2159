"""A look at a service: copies of what a picture of it needs, taken in a moment."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.range_policy import LossRange
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.learners.base import Auditable, HasEpochs, HasEpochStarts, HasLayout, HasWidth, offers
from advmdp.learners.contract_checks import horizon_of
from advmdp.learners.pair_knowledge import knowledge_of
from advmdp.service.loss_history import LossBlocks
from advmdp.service.service import Service
from advmdp.steps.occupancy import occupancy_measure

MOST_TICKETS = 100  # open episodes that are listed


class Look(NamedTuple):
    """A service at one moment."""

    learner: str
    finished: int
    abandoned: int
    n_open: int
    open: list[tuple[int, int | None]]
    """Number and context of the episodes that have been open for the longest."""
    clipped: int
    loss_range: LossRange | None
    horizon: int | None
    epoch: int | None
    epoch_starts: NDArray[np.int64] | None
    width: float | None
    losses: LossBlocks
    layout: Layout | None = None
    policy: Floats | None = None
    """Over pairs."""
    flow: Floats | None = None
    """Over triples: what the learner itself expects of an episode."""


def look_at(service: Service) -> Look:
    """Take the copies while the service waits; the learner is not changed."""
    chance = None
    with service.locked() as desk:
        learner = desk.learner
        starts = learner.epoch_starts if offers(learner, HasEpochStarts) else None
        look = Look(
            learner=type(learner).__name__,
            finished=desk.finished,
            abandoned=desk.abandoned,
            n_open=len(desk.open),
            open=[(one.number, one.context) for one in desk.open][:MOST_TICKETS],
            clipped=desk.clipped,
            loss_range=None if desk.following is None else desk.following.range,
            horizon=horizon_of(learner),
            epoch=learner.epoch if offers(learner, HasEpochs) else None,
            epoch_starts=None if starts is None else np.array(starts),
            width=float(learner.mean_width) if offers(learner, HasWidth) else None,
            losses=desk.history.blocks(),
        )
        if offers(learner, HasLayout):
            layout = learner.layout
            look = look._replace(layout=layout, policy=layout.flat_pairs(learner.policy()).copy())
            if offers(learner, Auditable):
                look = look._replace(flow=layout.flat_triples(learner.occupancy()).copy())
            else:
                chance = knowledge_of(learner).chance
    if chance is not None and look.layout is not None:
        with suppress(InvalidInput):  # a pair that was never tried may have no distribution
            flow = occupancy_measure(chance, look.policy, look.layout)
            look = look._replace(flow=look.layout.flat_triples(flow))
    return look
