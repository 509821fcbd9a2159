"""What a visitor of the playground may ask for: small runs, and nothing but the catalogue.

A request becomes specs (``RunSpec``), so that a run of the page is the run that ``advmdp run`` and
``am.play`` make of the same spec, to the last bit.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advmdp.errors import InvalidInput
from advmdp.experiments.catalogue import LEARNERS, LOSSES
from advmdp.experiments.spec import RunSpec
from advmdp.learners.presets import PRACTICAL
from advmdp.reports.settings import by_setting, setting_of

MOST_LAYERS, MOST_STATES, MOST_ACTIONS = 7, 7, 5
MOST_EPISODES, MOST_LEARNERS = 50_000, 3
MOST_SEED = 2**31 - 1
FRAMES = 120  # pictures of a run
SWITCHED_OFF = ("corrupted",)  # it needs a number that nobody can guess
WORLD_WORDS = {
    "stochastic": "coin flips: every pair has a fixed mean loss",
    "switching": "two tables of losses in turn",
    "majority": "one table, reversed for a part of every period: do not be talked out of it",
    "turning": "everything is reversed at first, then turns for good",
    "drifting": "a slow move from one table to another and back",
    "adaptive": "an adversary that makes expensive what was played often",
}


class Request(BaseModel):
    """The choices of a visitor, checked one by one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    layers: Annotated[
        list[Annotated[int, Field(ge=1, le=MOST_STATES)]],
        Field(min_length=1, max_length=MOST_LAYERS - 2),
    ]
    """States in the layers between the first and the last, which have one each."""
    actions: Annotated[int, Field(ge=1, le=MOST_ACTIONS)]
    losses: str
    learners: Annotated[list[str], Field(min_length=1, max_length=MOST_LEARNERS)]
    episodes: Annotated[int, Field(ge=10, le=MOST_EPISODES)]
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)]
    practical: bool
    """Whether learners that have practical constants use them, instead of the theorems'."""


class PlaygroundRun(NamedTuple):
    """One learner's part of a request."""

    name: str
    spec: RunSpec


def checked_request(given: Any) -> Request:
    """The request; ``InvalidInput`` in one line if it is not one."""
    try:
        request = Request.model_validate(given)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(map(str, first["loc"])) or "request"
        raise InvalidInput(str(first["msg"]).lower(), field=place) from None
    if request.losses not in offered_losses():
        raise InvalidInput("none of the list", field="losses")
    if len(set(request.learners)) < len(request.learners):
        raise InvalidInput("one of them is chosen twice", field="learners")
    for name in request.learners:
        if name not in LEARNERS:
            raise InvalidInput("none of the list", field="learners")
    return request


def runs_of(request: Request) -> list[PlaygroundRun]:
    """A run for each learner; they meet the same world, losses and random numbers."""
    n = request.episodes
    points = sorted({max(1, round(n * k / FRAMES)) for k in range(1, FRAMES + 1)})
    runs = []
    for name in request.learners:
        learner: dict[str, Any] = {"name": name}
        if request.practical and name in PRACTICAL:
            learner["preset"] = "practical"
        sizes = [1, *request.layers, 1]
        spec = RunSpec(
            learner=learner,  # type: ignore[arg-type]
            mdp={"name": "random", "layer_sizes": sizes, "n_actions": request.actions},  # type: ignore[arg-type]
            losses=request.losses,  # type: ignore[arg-type]
            n_episodes=n,
            seed=request.seed,
            checkpoints=tuple(points),
        )
        runs.append(PlaygroundRun(name, spec))
    return runs


def offered_losses() -> dict[str, str]:
    """The loss processes by name, each in a few words."""
    return {name: WORLD_WORDS[name] for name in LOSSES if name not in SWITCHED_OFF}


def explanation(name: str) -> str:
    """What a learner is: the first line of its documentation."""
    documented = inspect.getdoc(LEARNERS[name].make) or setting_of(name).words
    return documented.partition("\n\n")[0].replace("\n", " ").replace("``", "")


def command(request: Request, name: str) -> str:
    """The command that plays the same run into a store."""
    sizes = ",".join(map(str, (1, *request.layers, 1)))
    preset = " --set learner.preset=practical" * (request.practical and name in PRACTICAL)
    return (
        f"advmdp run {name} --layers {sizes} --actions {request.actions} "
        f"--losses {request.losses} --episodes {request.episodes} --seed {request.seed}{preset}"
    )


def catalogue() -> dict[str, Any]:
    """What the form of the playground offers."""
    return {
        "learners": [
            {"setting": setting.words, "names": names}
            for setting, names in by_setting(LEARNERS).items()
        ],
        "explanations": {name: explanation(name) for name in LEARNERS},
        "practical": sorted(PRACTICAL),
        "losses": offered_losses(),
        "limits": {
            "layers": MOST_LAYERS - 2,
            "states": MOST_STATES,
            "actions": MOST_ACTIONS,
            "episodes": MOST_EPISODES,
            "learners": MOST_LEARNERS,
            "seed": MOST_SEED,
        },
        "usual": {
            "layers": [3, 3, 3],
            "actions": 3,
            "losses": "majority",
            "learners": ["uob-reps", "uniform"],
            "episodes": 5_000,
            "seed": 1,
            "practical": True,
        },
    }
