"""Have everything compiled before the first client comes: a copy of the service learns first."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from advmdp.errors import AdvMDPError
from advmdp.layout import Layout
from advmdp.learners.base import HasLayout, TakesContexts, offers
from advmdp.learners.contract_checks import sees_all_losses, sees_the_sum
from advmdp.service import Service

SOME_LOSS = 0.5


def warm_up(service: Service) -> None:
    """Let a copy learn from two episodes, the later one first; the service itself is not changed.

    After an installation this compiles the programs of its learner, which takes a minute or two.
    """
    with tempfile.TemporaryDirectory() as scratch:
        service.save(Path(scratch) / "copy.am")
        copy = Service.load(Path(scratch) / "copy.am")
    if not offers(copy.learner, HasLayout):
        return
    context = 0 if offers(copy.learner, TakesContexts) else None
    with suppress(AdvMDPError):  # one at a time, or all are handed out
        for _ in range(2):
            copy.begin(context)
    for ticket in reversed(copy.open[-2:]):
        with suppress(AdvMDPError):
            copy.finish(ticket, some_feedback(copy.learner))


def some_feedback(learner: Any) -> dict[str, Any]:
    """Of an episode that takes the first action everywhere, to the first successor."""
    layout: Layout = learner.layout
    states, successors = [0], layout.entry_successors()
    for k in range(layout.n_layers):
        row = (int(layout.layer_start[k]) + states[k]) * layout.n_actions
        state = int(successors[layout.row_start[row]]) - int(layout.layer_start[k + 1])
        states.append(state)
    path = {"states": states, "actions": [0] * layout.n_layers}
    if sees_the_sum(learner):
        return {**path, "total": SOME_LOSS}
    if sees_all_losses(learner):
        return {**path, "losses": layout.pairs(np.full(layout.n_rows, SOME_LOSS))}
    return {**path, "losses": [SOME_LOSS] * layout.n_layers}
