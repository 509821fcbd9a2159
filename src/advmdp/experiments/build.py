"""Build the MDP, the losses and the learner of a spec.

One ``SeedSequence`` is the root of a replicate; its children draw the MDP, the loss tables, the
episodes and the learner's own numbers.  The first three do not depend on the learner: learners of
one replicate meet the same world and the same random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import instance
from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.evaluation.run import checked_checkpoints, log_spaced
from advmdp.experiments.catalogue import BY_CONTEXT, Factory
from advmdp.experiments.loss_recipes import Draw
from advmdp.experiments.spec import RunSpec
from advmdp.learners.adaptive.per_context import PerContext
from advmdp.learners.base import TakesContexts, TakesLateFeedback, offers
from advmdp.learners.contract_checks import check_feedback, checked_learner
from advmdp.seeds import generator
from advmdp.world.loss_streams import LossProcess, checked_process
from advmdp.world.mdp import LayeredMDP


class Components(NamedTuple):
    """The arguments of ``play`` for a run."""

    mdp: LayeredMDP
    losses: LossProcess
    learner: Any
    seed: np.random.SeedSequence
    evaluation_points: NDArray[np.int64]


def build(spec: RunSpec) -> Components:
    """Construct everything that a run needs; the constructors check their parameters.

    >>> spec = RunSpec(learner="uniform", mdp={"name": "deep-sea", "depth": 3},
    ...                losses={"name": "stochastic", "means": "natural"}, n_episodes=100)
    >>> build(spec).mdp.layout.layer_sizes
    (1, 2, 3, 1)
    """
    root = np.random.SeedSequence(spec.seed, spawn_key=(spec.replicate,))
    for_mdp, for_losses, for_episodes, for_learner = root.spawn(4)
    mdp = _mdp(spec, for_mdp)
    losses = _losses(spec, mdp, for_losses)
    learner = _learner(spec, mdp, for_learner)
    check_feedback(learner, spec.feedback, "feedback")
    if spec.delay is not None and not offers(learner, TakesLateFeedback):
        raise InvalidInput(
            f"{spec.learner.name!r} knows no late feedback; choose one that does, such as "
            "delayed-uob-reps",
            field="delay",
        )
    return Components(mdp, losses, learner, for_episodes, evaluation_points(spec))


def evaluation_points(spec: RunSpec) -> NDArray[np.int64]:
    """The episodes after which the curves are evaluated."""
    if isinstance(spec.checkpoints, int):
        return log_spaced(spec.n_episodes, spec.checkpoints)
    return checked_checkpoints(spec.checkpoints, spec.n_episodes)


def contexts_of(spec: RunSpec, learner: Any) -> NDArray[np.int64] | None:
    """The context of every episode, for a learner that is told."""
    if spec.contexts is None or not offers(learner, TakesContexts):
        return None
    return np.resize(np.array(spec.contexts, dtype=np.int64), spec.n_episodes)


def _mdp(spec: RunSpec, seed: np.random.SeedSequence) -> LayeredMDP:
    factory, given = spec.mdp.factory, spec.mdp.parameters
    if "seed" in factory.parameters:
        given.setdefault("seed", seed)  # type: ignore[arg-type]
    if "rewards" in factory.parameters and spec.rewards is not None:
        given["rewards"] = spec.rewards.range  # type: ignore[assignment]
    return instance(_made("mdp", factory, **given), LayeredMDP, "mdp")


def _losses(spec: RunSpec, mdp: LayeredMDP, seed: np.random.SeedSequence) -> LossProcess:
    factory, given = spec.losses.factory, spec.losses.parameters
    own_seed = given.pop("seed", seed)
    rng = _constructed("losses", generator, own_seed)
    draw = Draw(mdp, rng, spec.n_episodes)
    if factory.source is None:
        process = _made("losses", factory, draw, **given)
    else:
        parts = {"draw": draw, "mdp": mdp, "layout": mdp.layout, "rng": rng, "seed": own_seed}
        parts["n_episodes"] = spec.n_episodes
        supplied = {name: part for name, part in parts.items() if name in factory.parameters}
        process = _made("losses", factory, **supplied, **given)
    found: LossProcess = checked_process(process)
    return found


def _learner(spec: RunSpec, mdp: LayeredMDP, seed: np.random.SeedSequence) -> Any:
    factory, given = spec.learner.factory, spec.learner.parameters
    preset = given.pop("preset", "theory") if "preset" in factory.extra else "theory"
    if preset not in ("theory", "practical"):
        raise InvalidInput(
            f"{preset!r} is neither 'theory' nor 'practical'", field="learner.preset"
        )
    if preset == "practical":
        given = {**factory.presets, **given}
    if "seed" in factory.parameters:
        given.setdefault("seed", seed)  # type: ignore[arg-type]
    parts = {"layout": mdp.layout, "n_episodes": spec.n_episodes, "transitions": mdp.flat}
    supplied = {name: part for name, part in parts.items() if name in factory.parameters}
    n_contexts = len(set(spec.contexts or (0,)))
    if BY_CONTEXT in factory.extra and given.pop(BY_CONTEXT, False):
        if spec.contexts is None:
            raise InvalidInput(
                "the run has no contexts; add contexts = [...]", field=f"learner.{BY_CONTEXT}"
            )
        given |= {"n_contexts": n_contexts}
        return _constructed("learner", PerContext, factory.make, **supplied, **given)
    if "n_contexts" in factory.parameters:
        given.setdefault("n_contexts", n_contexts)
    return checked_learner(_made("learner", factory, **supplied, **given))


def _made(component: str, factory: Factory, *given: Any, **named: Any) -> Any:
    """Let a factory make its component; what goes wrong in foreign code is told in one line."""
    try:
        return _constructed(component, factory.make, *given, **named)
    except AdvMDPError:
        raise
    except Exception as problem:
        if factory.source is None:
            raise
        raise InvalidInput(f"{type(problem).__name__}: {problem}", field=component) from problem


def _constructed(component: str, make: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a constructor; its errors name the component of the spec."""
    try:
        return make(*given, **named)
    except InvalidInput as problem:
        raise problem.within(component) from None
    except TypeError as problem:
        raise InvalidInput(
            f"{problem}; check the types of its parameters", field=component
        ) from problem
