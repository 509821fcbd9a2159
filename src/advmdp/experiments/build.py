"""From a spec to the objects that play.

One ``SeedSequence`` is the root of a replicate; its children draw the MDP, the loss tables, the
episodes and the learner's own numbers.  The learner has no say in the first three: learners of one
replicate meet the same world and the same random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.run import checked_checkpoints, log_spaced
from advmdp.experiments.catalogue import LEARNERS, LOSSES, MDPS
from advmdp.experiments.loss_recipes import Draw
from advmdp.experiments.spec import RunSpec
from advmdp.learners.catalogue import LEARNERS as LEARNER_ENTRIES
from advmdp.learners.presets import PRACTICAL
from advmdp.seeds import generator
from advmdp.world.loss_streams import LossProcess
from advmdp.world.mdp import LayeredMDP


class Parts(NamedTuple):
    """What ``play`` takes."""

    mdp: LayeredMDP
    losses: LossProcess
    learner: Any
    seed: np.random.SeedSequence
    checkpoints: NDArray[np.int64]


def build(spec: RunSpec) -> Parts:
    """Everything that a run needs; every parameter is checked by its constructor.

    >>> spec = RunSpec(learner="uniform", mdp={"name": "deep-sea", "depth": 3},
    ...                losses={"name": "stochastic", "means": "natural"}, n_episodes=100)
    >>> build(spec).mdp.layout.layer_sizes
    (1, 2, 3, 1)
    """
    root = np.random.SeedSequence(spec.seed, spawn_key=(spec.replicate,))
    for_mdp, for_losses, for_episodes, for_learner = root.spawn(4)
    mdp = _mdp(spec, for_mdp)
    return Parts(
        mdp,
        _losses(spec, mdp, for_losses),
        _learner(spec, mdp, for_learner),
        for_episodes,
        checkpoints_of(spec),
    )


def checkpoints_of(spec: RunSpec) -> NDArray[np.int64]:
    """The episodes at which the account is taken."""
    if isinstance(spec.checkpoints, int):
        return log_spaced(spec.n_episodes, spec.checkpoints)
    return checked_checkpoints(spec.checkpoints, spec.n_episodes)


def _mdp(spec: RunSpec, seed: np.random.SeedSequence) -> LayeredMDP:
    maker, given = MDPS[spec.mdp.name], spec.mdp.parameters
    if "seed" in maker.parameters:
        given.setdefault("seed", seed)  # type: ignore[arg-type]
    if "rewards" in maker.parameters and spec.rewards is not None:
        given["rewards"] = spec.rewards.range  # type: ignore[assignment]
    mdp: LayeredMDP = _made("mdp", maker.make, **given)
    return mdp


def _losses(spec: RunSpec, mdp: LayeredMDP, seed: np.random.SeedSequence) -> LossProcess:
    given = spec.losses.parameters
    rng = _made("losses", generator, given.pop("seed", seed))
    draw = Draw(mdp, rng, spec.n_episodes)
    process: LossProcess = _made("losses", LOSSES[spec.losses.name].make, draw, **given)
    return process


def _learner(spec: RunSpec, mdp: LayeredMDP, seed: np.random.SeedSequence) -> Any:
    name, given = spec.learner.name, spec.learner.parameters
    entry, maker = LEARNER_ENTRIES[name], LEARNERS[name]
    preset = given.pop("preset", "theory")
    if preset not in ("theory", "practical"):
        raise InvalidInput(f"learner.preset: {preset!r} is neither 'theory' nor 'practical'")
    if preset == "practical":
        given = {**PRACTICAL[name], **given}
    if entry.has_horizon:
        given["n_episodes"] = spec.n_episodes
    if entry.knows_transition:
        given["transitions"] = mdp.flat  # type: ignore[assignment]
    if "seed" in maker.parameters:
        given.setdefault("seed", seed)  # type: ignore[arg-type]
    return _made("learner", maker.make, mdp.layout, **given)


def _made(what: str, make: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a constructor; what it refuses is said with the part of the spec it belongs to."""
    try:
        return make(*given, **named)
    except InvalidInput as problem:
        raise InvalidInput(f"{what}.{problem}") from None
    except TypeError as problem:
        raise InvalidInput(f"{what}: {problem}; check the types of its parameters") from None
