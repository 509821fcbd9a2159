"""``advmdp serve``: the services of a folder over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from advmdp.cli import options as opt
from advmdp.errors import InvalidInput, MissingExtra
from advmdp.plain_text import plain_text

EVERY = 10_000  # closed episodes between two snapshots: half a second to come back from
LIBRARIES = ("fastapi", "uvicorn", "httptools", "uvloop", "prometheus_client")


def serve(
    folder: Annotated[Path, typer.Argument(help="Holds one service, or several.")],
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; others than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0: the system chooses one.")
    ] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="Holds the token; otherwise ADVMDP_TOKEN, if it is set."),
    ] = None,
    max_open: Annotated[
        int, typer.Option("--max-open", min=1, help="Open tickets of a service.")
    ] = 10_000,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, help="Bytes of a request.")
    ] = 1_048_576,
    rate: Annotated[
        float, typer.Option("--rate", min=0.001, help="Requests a second from one address.")
    ] = 10_000.0,
    create: Annotated[
        str | None,
        typer.Option("--create", metavar="NAME", help="Begin this service, or go on with it."),
    ] = None,
    learner: Annotated[
        str, typer.Option("--learner", help="Of the new service: its name.")
    ] = "uob-reps",
    layers: opt.LayersOption = None,
    actions: opt.ActionsOption = None,
    episodes: Annotated[
        int | None, typer.Option("--episodes", help="How many there will be; none: not known.")
    ] = None,
    contexts: Annotated[
        int | None, typer.Option("--contexts", min=1, help="A learner for each of so many.")
    ] = None,
    sets: opt.SetOption = None,
    stores: Annotated[
        list[Path] | None, typer.Option("--store", help="A store of runs that the page shows.")
    ] = None,
) -> None:
    """Serve learners to many clients at once, over HTTP (docs: A service over HTTP).

    Every acknowledged episode is on the disk. SIGTERM or Ctrl-C ends the server cleanly.
    """
    _check_libraries()
    from advmdp.service import open_service
    from advmdp.web.credentials import allowed_hosts, read_token
    from advmdp.web.folder import checked_name, open_folder
    from advmdp.web.limits import Limits
    from advmdp.web.server import serve as serve_forever

    token = read_token(token_file)
    allowed_hosts(host, token)  # before anything is made
    if create is None:
        for option, value in (("layers", layers), ("actions", actions), ("episodes", episodes)):
            if value is not None:
                raise InvalidInput(f"--{option}: is for a new service; add --create NAME")
    else:
        made = _new_learner(learner, layers, actions, episodes, contexts, sets)
        open_service(folder / checked_name(create), made, EVERY).close()
    services = open_folder(folder)

    def ready(address: str) -> None:
        for name, service in services.items():
            counts = f"{service.finished:,} episodes, {service.n_open:,} open"
            typer.echo(plain_text(f"{address}/{name}  {service.learner!r}, {counts}"))
        typer.echo("ready")

    limits = Limits(max_open, max_body, rate)
    serve_forever(services, host, port, token, limits, stores or [], ready)
    typer.echo("ended; every acknowledged episode is on the disk")


def _check_libraries() -> None:
    from importlib.util import find_spec

    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"serve: needs {', '.join(missing)}; install it with pip install 'advmdp[web]'"
        )


def _new_learner(
    name: str,
    layers: str | None,
    actions: int | None,
    episodes: int | None,
    contexts: int | None,
    sets: list[str] | None,
) -> Any:
    """A learner of the catalogue; without a number of episodes it doubles its horizon."""
    from advmdp.layout import Layout
    from advmdp.learners.adaptive.per_context import PerContext
    from advmdp.learners.catalogue import LEARNERS
    from advmdp.learners.doubling import Doubling

    if name not in LEARNERS:
        raise InvalidInput(f"--learner: {name!r} is not in the catalogue; see README")
    entry: Any = LEARNERS[name]
    if entry.knows_transition:
        raise InvalidInput(
            f"--learner: {name!r} has to be told the transition; begin its service in Python, by "
            "am.open_service"
        )
    sizes = opt.layer_sizes_of(opt.DEFAULT_LAYERS if layers is None else layers)
    layout = Layout(sizes, opt.DEFAULT_ACTIONS if actions is None else actions)
    parts = opt.world_parts("random", layers, actions, "majority", sets)
    if len(parts["mdp"]) > 3 or len(parts["losses"]) > 1:
        raise InvalidInput("a service has no world; set learner.KEY alone", field="set")
    given = parts["learner"]
    horizon = {"n_episodes": episodes} if entry.has_horizon and episodes is not None else {}
    try:
        if contexts is not None:
            if entry.has_horizon and episodes is None:
                raise InvalidInput("--episodes: say how many there will be in each context")
            return PerContext(entry.make, layout, contexts, **horizon, **given)
        if entry.has_horizon and episodes is None:
            return Doubling(entry.make, layout, **given)
        return entry.make(layout, **horizon, **given)
    except TypeError as problem:  # a parameter that it does not have
        raise InvalidInput(f"{problem}; see the learner's page", field="set") from None
