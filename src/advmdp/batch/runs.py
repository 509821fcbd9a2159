"""What a batch is made of, checked before anything is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.evaluation.account import new_ledger
from advmdp.kernels.accounting.episode import play_slice
from advmdp.kernels.accounting.ledger import Ledger, World
from advmdp.kernels.model.graph import Graph
from advmdp.kernels.model.losses import LossProgram
from advmdp.learners.base import Learner, plays_compiled
from advmdp.learners.contract_checks import check_range
from advmdp.learners.tuning import refuse_too_many_episodes
from advmdp.seeds import seed_words
from advmdp.world.loss_streams import LossProcess, LossStream
from advmdp.world.mdp import LayeredMDP


class Cast(NamedTuple):
    """Everything that plays in one run, as the kernels take it."""

    graph: Graph
    world: World
    program: LossProgram
    ledger: Ledger
    state: tuple[Any, ...]  # of the learner's compiled loop


@dataclass(frozen=True)
class BatchRun:
    """One run of a batch: exactly what ``advmdp.play`` takes.

    The learner is where the run starts from.  It is copied and stays as it is, so runs that differ
    in their seeds only can share one learner, one MDP and one loss process.
    """

    mdp: LayeredMDP
    losses: LossProcess
    learner: Learner
    seed: int | np.random.SeedSequence = 0


def checked_batch(batch: Sequence[BatchRun], n_episodes: int) -> list[BatchRun]:
    """The runs as a list, or a one-line error that names the first run that does not fit."""
    runs = list(batch)
    if not runs:
        raise InvalidInput("batch: no runs; give at least one BatchRun")
    layout, kind = runs[0].mdp.layout, type(runs[0].learner).__name__
    for i, run in enumerate(runs):
        learner: Any = run.learner
        if not plays_compiled(learner) or learner.compiled_loop().kernel is not play_slice:
            raise InvalidInput(
                f"batch: run {i} has a learner without a compiled loop ({type(learner).__name__}); "
                "play it with advmdp.play"
            )
        if run.mdp.layout != layout or learner.layout != layout:
            raise InvalidInput(f"batch: run {i} has another layout than run 0; play them apart")
        if type(learner).__name__ != kind:
            raise InvalidInput(
                f"batch: run {i} is {type(learner).__name__}, run 0 is {kind}; play them apart"
            )
        refuse_too_many_episodes(learner, n_episodes, f"batch: run {i}")
    return runs


def casts(runs: Sequence[BatchRun], n_episodes: int) -> list[Cast]:
    """For every run what the kernels need; runs share what they may."""
    layout = runs[0].mdp.layout
    graph, ledger = layout.graph(), new_ledger(runs[0].mdp)
    streams: dict[int, LossStream] = {}
    states: dict[int, tuple[Any, ...]] = {}
    found = []
    for i, run in enumerate(runs):
        # The programme of a process is the same for every seed; the seed's words are the world's.
        if id(run.losses) not in streams:
            streams[id(run.losses)] = stream = run.losses.begin(layout, run.seed)
            stream.check_length(n_episodes)
            check_range(run.learner, stream, "play_batch")
            if stream.program is None:
                raise InvalidInput(
                    f"batch: the losses of run {i} exist in Python only; play it with advmdp.play"
                )
        if id(run.learner) not in states:
            states[id(run.learner)] = run.learner.compiled_loop().state  # type: ignore[attr-defined]
        world = World(run.mdp.flat, *seed_words(run.seed))
        program = streams[id(run.losses)].program
        assert program is not None
        found.append(Cast(graph, world, program, ledger, states[id(run.learner)]))
    return found
