"""What a server does before it is ready changes nothing, for every kind of learner."""

from __future__ import annotations

from typing import Any

import pytest

import advmdp as am
from advmdp.web.warming import some_feedback, warm_up
from tests.reference.contract import DENSE, GRID, made
from tests.web.running import contents_of


@pytest.mark.parametrize(
    "learner",
    [
        made("uob-reps", GRID),
        made("uob-reps", DENSE, 1),
        made("exp3-ix", DENSE),
        made("oppo", DENSE),
        am.PerContext(am.UOBREPS, DENSE.layout, n_contexts=2, n_episodes=5),
        made("uob-ftrl-aggregate", DENSE),
    ],
    ids=["sparse", "one episode", "one at a time", "all losses", "contexts", "the sum"],
)
def test_a_copy_learns_and_the_service_does_not(learner: Any) -> None:
    service = am.Service(learner)
    before = contents_of(service)
    warm_up(service)
    assert contents_of(service) == before
    context = 0 if isinstance(learner, am.PerContext) else None
    ticket = service.begin(context)
    service.finish(ticket, some_feedback(learner))  # what the copy was told can be learnt
    before = contents_of(service)
    warm_up(service)
    assert contents_of(service) == before
