"""The learner of a stored run as it was at the end, or at its newest checkpoint.

A store keeps curves, not learners.  Runs are deterministic, so a finished run is played again, to
the same bits; one that is cut or under way is looked at where its checkpoint stands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from advmdp.evaluation.schema import FINISHED
from advmdp.experiments.build import build, contexts_of
from advmdp.experiments.spec import RunSpec
from advmdp.layout import Floats
from advmdp.learners.base import EstimatesLosses, offers
from advmdp.play import play
from advmdp.store import Store
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.folder import WORK
from advmdp.world.mdp import LayeredMDP

LEARNER = "learner."


class PlayedLearner(NamedTuple):
    """A learner after some episodes of a run, and the world it met."""

    learner: Any
    mdp: LayeredMDP
    episodes: int
    estimated_losses: Floats | None
    """The sum of its loss estimates by pair, if it estimates losses."""


def learner_of_run(spec: RunSpec, store: Store, status: str) -> PlayedLearner:
    """Play a finished run again, or read the newest checkpoint of another; 0 episodes without."""
    made = build(spec)
    if status == FINISHED:
        run = play(
            *(made.mdp, made.losses, made.learner, spec.n_episodes, made.seed),
            checkpoints=[spec.n_episodes],
            contexts=contexts_of(spec, made.learner),
        )
        return PlayedLearner(made.learner, made.mdp, spec.n_episodes, run.estimated_losses)
    saved = Checkpoints(store.path / WORK / spec.id, spec.hash).newest()
    if saved is None:
        return PlayedLearner(made.learner, made.mdp, 0, None)
    state = {
        name.removeprefix(LEARNER): array
        for name, array in saved.snapshot.items()
        if name.startswith(LEARNER)
    }
    made.learner.restore(state)
    estimates = saved.snapshot["ledger.estimated"]
    has_any = offers(made.learner, EstimatesLosses)
    return PlayedLearner(made.learner, made.mdp, saved.episodes, estimates if has_any else None)
