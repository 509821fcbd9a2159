"""Shared by the commands: exit codes, options, and how their text becomes specs."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.experiments.engines.registry import DEFAULT_ENGINE as DEFAULT_ENGINE
from advmdp.experiments.engines.registry import engine_names
from advmdp.experiments.own.registry import search_here
from advmdp.plain_text import plain_text

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes; 130 is what shells expect after Ctrl-C
MOST_EPISODES = 2**31 - 1  # visits are counted in 32 bits

# The options that set a field of an error, see ``advmdp.errors``.
SAME_NAME = (
    *("delta", "seed", "eta_scale", "gamma_scale", "log_scale", "rewards", "set"),
    *("output", "store", "engine", "address", "status", "delay", "feedback", "baseline"),
    *("width", "height", "x_axis", "y_axis", "task_cores", "task_memory"),
)
OPTION_OF_FIELD = {
    **{field: "--" + field.replace("_", "-") for field in SAME_NAME},
    "n_episodes": "--episodes",
    "layer_sizes": "--layers",
    "mdp.layer_sizes": "--layers",
    "n_actions": "--actions",
    "mdp.n_actions": "--actions",
}

StoreOption = Annotated[Path, typer.Option("--store", help="The folder that keeps the runs.")]
# Commands about a whole store take it as their argument or, as all others do, by --store.
StoreArgument = Annotated[
    Path | None, typer.Argument(help="The folder that keeps the runs; results/store by default.")
]
SameStoreOption = Annotated[
    Path | None, typer.Option("--store", help="The folder that keeps the runs, named here.")
]
EngineOption = Annotated[
    str, typer.Option("--engine", help=f"Where runs are played: {engine_names()}.")
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes; as many as cores by default.")
]
AddressOption = Annotated[
    str | None, typer.Option("--address", help="Of a Ray cluster; none: one is started here.")
]
TaskCoresOption = Annotated[
    float | None,
    typer.Option("--task-cores", help="Cores that Ray sets aside for a run; one by default."),
]
TaskMemoryOption = Annotated[
    str | None,
    typer.Option("--task-memory", help="Memory that Ray sets aside for a run, such as 500MB, 2GB."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results.")]
JSONOption = Annotated[bool, typer.Option("--json", help="One JSON object a line, for machines.")]
SaveSecondsOption = Annotated[
    float, typer.Option("--save-seconds", min=0.0, help="Seconds between checkpoints of a run.")
]
SaveEpisodesOption = Annotated[
    int | None,
    typer.Option("--save-episodes", min=1, help="Episodes between checkpoints of a run."),
]

AllowCodeOption = Annotated[
    bool, typer.Option("--allow-code", help="Let the file name modules, which are imported.")
]

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what there is to play, and write nothing.")
]

BaselineOption = Annotated[
    str | None,
    typer.Option("--baseline", metavar="LEARNER", help="Compare all others with this one."),
]

MeasureOption = Annotated[
    bool,
    typer.Option(
        "--measure", help="With --dry-run: play a moment of what the store has no rate of."
    ),
]

# Some runs of a store.
LearnerFilter = Annotated[str | None, typer.Option("--learner", help="Part of the label.")]
MDPFilter = Annotated[str | None, typer.Option("--mdp", help="Part of the label.")]
LossesFilter = Annotated[str | None, typer.Option("--losses", help="Part of the label.")]
StatusFilter = Annotated[
    str | None, typer.Option("--status", help="finished, running, cut or failed.")
]
EpisodesFilter = Annotated[int | None, typer.Option("--episodes", help="Length of the runs.")]

# The world of `run` and `compare`.
MDPOption = Annotated[str, typer.Option("--mdp", help="Family of MDPs, or module:Name.")]
LayersOption = Annotated[
    str | None, typer.Option("--layers", help="States in each layer, for --mdp random.")
]
ActionsOption = Annotated[int | None, typer.Option("--actions", help="Actions in every state.")]
LossesOption = Annotated[str, typer.Option("--losses", help="Loss process, or module:Name.")]
EpisodesOption = Annotated[int, typer.Option("--episodes", help="Episodes to play.")]
HorizonsOption = Annotated[
    str, typer.Option("--episodes", help="Episodes to play; several with commas between them.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Root of all random numbers.")]
ReplicatesOption = Annotated[
    int, typer.Option("--replicates", "-r", min=1, help="Worlds drawn from the seed.")
]
RewardsOption = Annotated[
    str | None,
    typer.Option("--rewards", metavar="LOW,HIGH[,UNIT]", help="What losses 1 and 0 stand for."),
]
DelayOption = Annotated[
    str | None,
    typer.Option("--delay", help="When feedback comes: constant:10, geometric:100, blocks:16."),
]
FeedbackOption = Annotated[
    str | None,
    typer.Option("--feedback", help="What can be seen at most: full, bandit or aggregate."),
]
InFlightOption = Annotated[
    int | None,
    typer.Option("--in-flight", min=1, help="Episodes played with one policy: blocks:N."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PART.KEY=VALUE", help="A parameter: learner.eta_scale=2"),
]

DEFAULT_STORE = Path("results/store")
DEFAULT_LAYERS, DEFAULT_ACTIONS = "1,3,3,1", 2


def store_of(argument: Path | None, option: Path | None) -> Path:
    """The store that was named in one of the two places, or the default one."""
    if argument is not None and option is not None and argument != option:
        raise InvalidInput(f"two stores are named, {argument} and {option}; leave one of them out")
    return argument or option or DEFAULT_STORE


def layer_sizes_of(text: str) -> tuple[int, ...]:
    """A list of whole numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(
            f"{text!r} is not a list of whole numbers such as 1,5,5,5,1", field="layer_sizes"
        ) from None


def horizons_of(text: str) -> tuple[int, ...]:
    """Numbers of episodes: 10000 or 1_000,10_000."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(
            f"{text!r} is not a list such as 1000,10000", field="n_episodes"
        ) from None


def bytes_of(text: str | None) -> int | None:
    """A number of bytes.

    >>> bytes_of("500MB"), bytes_of("1.5 GB"), bytes_of(None)
    (500000000, 1500000000, None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kMGT]?)B?\s*", text)
    try:
        number = float(found[1]) * 1000 ** " kMGT".index(found[2] or " ") if found else 0.0
    except ValueError:
        number = 0.0
    if not 1.0 <= number < 2**63:
        raise InvalidInput(f"{text!r} is not an amount such as 500MB or 2GB", field="task_memory")
    return int(number)


def rewards_of(text: str | None) -> dict[str, Any] | None:
    """The table ``rewards`` of a spec, from -1,0 or -1,0,EUR."""
    if text is None:
        return None
    low, _, rest = text.partition(",")
    high, _, unit = rest.partition(",")
    try:
        ends = {"low": float(low), "high": float(high)}
    except ValueError:
        raise InvalidInput(
            f"{text!r} is not of the form LOW,HIGH or LOW,HIGH,UNIT, such as -1,0,EUR",
            field="rewards",
        ) from None
    return {**ends, "unit": unit} if unit else ends


def delay_of(delay: str | None, in_flight: int | None) -> str | None:
    """The ``delay`` of a spec from the two options."""
    if in_flight is None:
        return delay
    if delay is not None:
        raise InvalidInput("--in-flight is a delay by itself; leave one of the two out")
    return f"blocks:{in_flight}"


def world_parts(
    mdp: str, layers: str | None, actions: int | None, losses: str, sets: list[str] | None
) -> dict[str, dict[str, Any]]:
    """The tables ``mdp``, ``losses`` and ``learner`` (parameters only) of a spec."""
    search_for(mdp, losses)
    parts: dict[str, dict[str, Any]] = {
        "mdp": {"name": mdp},
        "losses": {"name": losses},
        "learner": {},
    }
    if mdp == "random" or layers is not None:
        text = DEFAULT_LAYERS if layers is None else layers
        parts["mdp"]["layer_sizes"] = list(layer_sizes_of(text))
    if mdp == "random" or actions is not None:
        parts["mdp"]["n_actions"] = DEFAULT_ACTIONS if actions is None else actions
    for item in sets or ():
        path, equals, text = item.partition("=")
        part, dot, key = path.partition(".")
        if not equals or not dot or part not in parts or not key:
            raise InvalidInput(
                f"{item!r} is not of the form PART.KEY=VALUE with learner, mdp or losses as PART",
                field="set",
            )
        parts[part][key] = _value(text)
    return parts


def search_for(*names: str) -> None:
    """Let modules of the working directory be found if one of the names is a place."""
    if any(":" in name for name in names):
        search_here()


def _value(text: str) -> Any:
    """A TOML value; a string if the text is not one."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def message_of(problem: AdvMDPError) -> str:
    """The text of an error, with the option's name in place of the field that it sets.

    >>> message_of(InvalidInput("0 is too few", field="layer_sizes[2]"))
    '--layers[2]: 0 is too few'
    >>> message_of(InvalidInput("seed: cannot be read"))
    'seed: cannot be read'
    """
    field, bracket, index = (problem.field or "").partition("[")
    option = OPTION_OF_FIELD.get(field)
    return f"{option}{bracket}{index}: {problem.detail}" if option else str(problem)


def command_line() -> str:
    """The command that is running, ready to be pasted into a shell."""
    return plain_text(shlex.join(["advmdp", *sys.argv[1:]]))
