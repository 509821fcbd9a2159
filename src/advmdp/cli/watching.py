"""``advmdp watch``: sweeps while they run, in a browser or on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from advmdp.cli import options as opt
from advmdp.errors import MissingExtra


def watch(
    stores: Annotated[
        list[Path] | None, typer.Argument(help="Folders of stores; results/store by default.")
    ] = None,
    named: Annotated[
        list[Path] | None, typer.Option("--store", help="The same; may be repeated.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where the page is served; 0: any free port.")
    ] = 0,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show the runs here, without a browser.")
    ] = False,
    playground: Annotated[
        bool, typer.Option(help="Let visitors of the page start small runs.")
    ] = True,
) -> None:
    """Watch the runs of stores: progress, time left, and the curves while they grow.

    Stores are only read.  The page is for this machine alone; Ctrl-C ends it.
    """
    from advmdp.store import Store

    places = [*(stores or ()), *(named or ())] or [opt.DEFAULT_STORE]
    for place in places:
        Store(place)  # refuses what is none
    if terminal:
        from advmdp.cli.terminal.store_screen import watch_stores

        watch_stores(places)
        return
    try:
        from advmdp.web.page.routes import page_app
        from advmdp.web.page.serving import address_of, loopback_socket, serve_page
    except ModuleNotFoundError as problem:
        raise MissingExtra(
            f"the page needs {problem.name}; pip install 'advmdp[web]', or use --terminal"
        ) from None
    bound = loopback_socket(port)
    app = page_app(places, playground=playground)
    typer.echo(f"Watch at {address_of(bound)} (Ctrl-C ends it)")
    serve_page(app, bound)
