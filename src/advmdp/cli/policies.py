"""``advmdp policy``: what a learner has learnt, for every state and action."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advmdp.cli import options as opt
from advmdp.errors import InvalidInput
from advmdp.plain_text import plain_text

if TYPE_CHECKING:
    from advmdp.layout import Floats, Layout

ENDINGS = (".csv", ".json", ".svg")


def policy(
    run: Annotated[str, typer.Argument(help="Id of a stored run, or a file of learner.save().")],
    store: opt.StoreOption = opt.DEFAULT_STORE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file: .csv, .json, .svg (a picture).")
    ] = None,
    allow_code: opt.AllowCodeOption = False,
) -> None:
    """Show policy, visits, estimates and values of every state and action of a learner.

    A finished run is played again, to the same bits; a cut one is shown at its checkpoint.
    """
    from rich.console import Console

    from advmdp.cli.terminal.policy_table import policy_table
    from advmdp.reports.output_path import checked_path

    target = None if output is None else checked_path(output, ENDINGS, "output")
    file = Path(run)
    title, layout, columns, flow = (
        _of_file(file) if file.is_file() else _of_run(run, store, allow_code)
    )
    if target is None:
        Console(highlight=False).print(policy_table(title, layout, columns))
        return
    _write(target, title, layout, columns, flow)
    typer.echo(plain_text(f"Policy: {target}"))


Shown = tuple[str, "Layout", dict[str, "Floats"], "tuple[Floats, str] | None"]


def _of_file(file: Path) -> Shown:
    from advmdp.learners.base import Auditable, offers
    from advmdp.learners.pair_knowledge import knowledge_of, pair_columns
    from advmdp.learners.saving.loading import load

    learner = load(file)
    layout = learner.layout
    flow = None
    if offers(learner, Auditable):
        flow = layout.flat_triples(learner.occupancy()), "Lines: the learner's own measure."
    columns = pair_columns(layout, learner.policy(), knowledge_of(learner))
    return f"{type(learner).__name__} of {file.name}", layout, columns, flow


def _of_run(run: str, store: Path, allow_code: bool) -> Shown:
    from advmdp.experiments.replaying import learner_of_run
    from advmdp.experiments.spec import RunSpec
    from advmdp.learners.pair_knowledge import knowledge_of, pair_columns
    from advmdp.steps.occupancy import occupancy_measure
    from advmdp.store import Store

    there = Store(store)
    manifest = there.manifest(run)
    if allow_code:
        opt.search_for(":")
    spec = RunSpec.from_json(json.dumps(manifest["spec"]), allow_code=allow_code)
    played = learner_of_run(spec, there, manifest["status"])
    layout, policy_now = played.mdp.layout, played.learner.policy()
    known = knowledge_of(played.learner)
    if known.estimated_loss is None and played.estimated_losses is not None:
        known = known._replace(estimated_loss=played.estimated_losses / played.episodes)
    columns = pair_columns(layout, policy_now, known)
    true = occupancy_measure(played.mdp.transitions, policy_now, layout)
    flow = layout.flat_triples(true), "Lines: the policy under the true transition."
    title = f"{manifest['run']} after {played.episodes:,} episodes"
    return title, layout, columns, flow


def _write(
    target: Path,
    title: str,
    layout: Layout,
    columns: dict[str, Floats],
    flow: tuple[Floats, str] | None,
) -> None:
    """Write the form that the name of the file asks for."""
    from advmdp.files.atomic import write_atomically
    from advmdp.layout.pair_frame import frame_of
    from advmdp.reports.figures.flow_picture import flow_picture
    from advmdp.store.frames import as_bytes

    ending = target.suffix.lower()
    if ending == ".svg":
        if flow is None:
            raise InvalidInput(
                "this learner has no measure to draw; choose .csv or .json, or draw a stored run",
                field="output",
            )
        content = flow_picture(layout, flow[0], columns, title, flow[1]).encode()
    elif ending == ".csv":
        content = as_bytes(frame_of(layout, columns).fill_nan(None), csv=True)
    else:
        rows = frame_of(layout, columns).fill_nan(None).to_dicts()
        content = json.dumps({"title": title, "pairs": rows}, indent=1).encode()
    write_atomically(target, [content])
