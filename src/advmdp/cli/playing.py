"""``advmdp run``, ``compare`` and ``sweep``: play runs into a store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advmdp.cli import options as opt
from advmdp.cli.engine_choice import MakeEngine, engine_maker, engine_options, with_tasks
from advmdp.errors import InvalidInput, StorageFailure
from advmdp.experiments.own.registry import search_here
from advmdp.plain_text import plain_text

if TYPE_CHECKING:
    from advmdp.experiments.spec import RunSpec
    from advmdp.store import Store


MOST_BYTES = 16 * 2**20  # of a file with a spec
IN_A_SPEC = (
    *("learner", "mdp", "layers", "actions", "losses", "episodes", "seed", "rewards", "sets"),
    *("delay", "in_flight", "feedback"),
)


def run(
    context: typer.Context,
    learner: Annotated[str, typer.Argument(help="Name of a learner, or module:Name.")] = "uob-reps",
    mdp: opt.MDPOption = "random",
    layers: opt.LayersOption = None,
    actions: opt.ActionsOption = None,
    losses: opt.LossesOption = "majority",
    episodes: opt.EpisodesOption = 100_000,
    seed: opt.SeedOption = 0,
    rewards: opt.RewardsOption = None,
    delay: opt.DelayOption = None,
    in_flight: opt.InFlightOption = None,
    feedback: opt.FeedbackOption = None,
    sets: opt.SetOption = None,
    spec: Annotated[
        Path | None, typer.Option(help="A spec in a .json or .toml file, instead of the flags.")
    ] = None,
    allow_code: opt.AllowCodeOption = False,
    store: opt.StoreOption = opt.DEFAULT_STORE,
    save_seconds: opt.SaveSecondsOption = 30.0,
    save_episodes: opt.SaveEpisodesOption = None,
    quiet: opt.QuietOption = False,
    as_json: opt.JSONOption = False,
) -> None:
    """Play one run into a store; an interrupted run resumes from its checkpoint."""
    from advmdp.experiments.engines.inline import InlineEngine
    from advmdp.experiments.spec import RunSpec

    if spec is not None:
        _reject_beside_a_file(context)
        text = _text_of(spec, allow_code)
        with _errors_of(spec):
            read = RunSpec.from_json if spec.suffix == ".json" else RunSpec.from_toml
            one = read(text, allow_code=allow_code)
    else:
        parts = opt.world_parts(mdp, layers, actions, losses, sets)
        opt.search_for(learner)
        parts["learner"]["name"] = learner
        common: dict[str, Any] = {"seed": seed, "rewards": opt.rewards_of(rewards)}
        common |= {"delay": opt.delay_of(delay, in_flight), "feedback": feedback}
        one = RunSpec(**parts, n_episodes=episodes, **common)  # type: ignore[arg-type]
    options = engine_options(save_seconds=save_seconds, save_episodes=save_episodes)
    _play([one], store, lambda path: InlineEngine(path, options), quiet, as_json, spec)


def compare(
    learners: Annotated[list[str], typer.Argument(help="Names of learners, or module:Name.")],
    mdp: opt.MDPOption = "random",
    layers: opt.LayersOption = None,
    actions: opt.ActionsOption = None,
    losses: opt.LossesOption = "majority",
    episodes: opt.HorizonsOption = "100000",
    seed: opt.SeedOption = 0,
    replicates: opt.ReplicatesOption = 8,
    rewards: opt.RewardsOption = None,
    delay: opt.DelayOption = None,
    in_flight: opt.InFlightOption = None,
    feedback: opt.FeedbackOption = None,
    sets: opt.SetOption = None,
    store: opt.StoreOption = opt.DEFAULT_STORE,
    engine: opt.EngineOption = opt.DEFAULT_ENGINE,
    workers: opt.WorkersOption = None,
    address: opt.AddressOption = None,
    task_cores: opt.TaskCoresOption = None,
    task_memory: opt.TaskMemoryOption = None,
    save_seconds: opt.SaveSecondsOption = 30.0,
    save_episodes: opt.SaveEpisodesOption = None,
    baseline: opt.BaselineOption = None,
    dry_run: opt.DryRunOption = False,
    measure: opt.MeasureOption = False,
    quiet: opt.QuietOption = False,
    as_json: opt.JSONOption = False,
) -> None:
    """Play several learners in the same worlds, with the same random numbers."""
    from advmdp.experiments.sweep import SweepSpec
    from advmdp.reports.learner_names import label_of

    parts: dict[str, Any] = opt.world_parts(mdp, layers, actions, losses, sets)
    opt.search_for(*learners)
    parts["learner"] = [{"name": learners, **parts["learner"]}]
    parts |= {"seed": seed, "replicates": replicates, "rewards": opt.rewards_of(rewards)}
    parts |= {"delay": opt.delay_of(delay, in_flight), "feedback": feedback}
    sweep_spec = SweepSpec(**parts, n_episodes=opt.horizons_of(episodes))
    if baseline is not None:
        labels = {run.learner.label for run in sweep_spec.runs()}
        baseline = label_of(baseline, labels, "baseline")
    if dry_run:
        _print_plan(sweep_spec.runs(), store, workers, measure, as_json)
        return
    options = engine_options(workers, address, save_seconds, save_episodes)
    make = engine_maker(engine, with_tasks(options, engine, task_cores, task_memory))
    _play(sweep_spec.runs(), store, make, quiet, as_json, baseline=baseline)


def sweep(
    file: Annotated[Path, typer.Argument(help="A sweep in a .toml file; lists multiply.")],
    allow_code: opt.AllowCodeOption = False,
    store: opt.StoreOption = opt.DEFAULT_STORE,
    engine: opt.EngineOption = opt.DEFAULT_ENGINE,
    workers: opt.WorkersOption = None,
    address: opt.AddressOption = None,
    task_cores: opt.TaskCoresOption = None,
    task_memory: opt.TaskMemoryOption = None,
    save_seconds: opt.SaveSecondsOption = 30.0,
    save_episodes: opt.SaveEpisodesOption = None,
    dry_run: opt.DryRunOption = False,
    measure: opt.MeasureOption = False,
    quiet: opt.QuietOption = False,
    as_json: opt.JSONOption = False,
) -> None:
    """Play all runs of a sweep that the store does not have yet."""
    from advmdp.experiments.sweep import SweepSpec

    text = _text_of(file, allow_code)
    with _errors_of(file):
        runs = SweepSpec.from_toml(text, allow_code=allow_code).runs()
        if dry_run:
            _print_plan(runs, store, workers, measure, as_json)
            return
    options = engine_options(workers, address, save_seconds, save_episodes)
    make = engine_maker(engine, with_tasks(options, engine, task_cores, task_memory))
    _play(runs, store, make, quiet, as_json, file)


def _print_plan(
    runs: list[RunSpec], store: Path, workers: int | None, measure: bool, as_json: bool
) -> None:
    """What there is to play; nothing is created, and no engine is started."""
    from advmdp.cli.terminal.listing import plan_lines
    from advmdp.experiments.planning import plan_runs
    from advmdp.store import Store

    groups = plan_runs(runs, Store(store) if store.exists() else None, measure=measure)
    if as_json:
        for group in groups:
            typer.echo(json.dumps({"event": "planned", **group._asdict()}))
        return
    typer.echo("\n".join(plan_lines(groups, workers or os.cpu_count() or 1)))


MOST_TABLES = 8  # on a terminal; the report has them all


def _play(
    runs: Sequence[RunSpec],
    store_path: Path,
    make_engine: MakeEngine,
    quiet: bool,
    as_json: bool,
    file: Path | None = None,
    baseline: str | None = None,
) -> None:
    """Play runs into a store; ``file`` holds their specs, if they come from one."""
    from advmdp.cli.terminal.sweep_progress import following
    from advmdp.experiments.runner import run_all
    from advmdp.experiments.sweep import first_replicates
    from advmdp.store import Store
    from advmdp.store.log import attach_log, detach_log

    engine = make_engine(store_path)
    try:
        with _errors_of(file):
            engine.check(first_replicates(runs))  # before anything is created
        store = Store(store_path, create=True)
    except BaseException:
        engine.close()
        raise
    handler = attach_log(store.path)
    try:
        with following(quiet=quiet, as_json=as_json) as watcher:
            summary = run_all(runs, store, engine, watcher)
    except StorageFailure as problem:
        remedy = f"{problem.detail}; to go on: {opt.command_line()}"
        raise StorageFailure(remedy, field=problem.field) from None
    finally:
        detach_log(handler)
    if summary.interrupted:
        typer.echo(
            f"interrupted: checkpoints are written; to go on: {opt.command_line()}", err=True
        )
        raise typer.Exit(opt.INTERRUPTED)
    if not as_json and summary.n_found + summary.n_played:
        _print_tables(store, runs, baseline)
    for failed, reason in summary.failures.items():
        typer.echo(f"failed: {failed}: {plain_text(reason)}", err=True)
    if summary.failures:
        raise typer.Exit(opt.FAILED)


def _print_tables(store: Store, runs: Sequence[RunSpec], baseline: str | None) -> None:
    """The results of these runs, a table for every world."""
    from rich.console import Console

    from advmdp.cli.terminal.tables import rich_table
    from advmdp.reports.cells import cells_of
    from advmdp.reports.from_store import results_from_store
    from advmdp.reports.tables.cell_tables import reward_table, summary_table
    from advmdp.reports.tables.comparison_tables import readable_comparisons

    cells = cells_of(results_from_store(store, [run.id for run in runs]))
    console = Console(highlight=False)
    for cell in cells[:MOST_TABLES]:
        console.print(rich_table(summary_table(cell), cell.name))
        earned = reward_table(cell)
        if earned is not None:
            console.print(rich_table(earned, cell.name))
        if len(cell.groups) > 1 and len(cells) == 1:
            console.print(rich_table(readable_comparisons(cell, baseline), cell.name))
    if len(cells) > MOST_TABLES:
        more = f"and {len(cells) - MOST_TABLES} more: advmdp report {store.path}"
        console.print(plain_text(more), markup=False)


def _reject_beside_a_file(context: typer.Context) -> None:
    """A file holds the whole spec: options of the spec beside it would have no effect."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in IN_A_SPEC and source is not None and source.name == "COMMANDLINE":
            given = option.opts[0] if option.param_type_name == "option" else f"the {option.name}"
            raise InvalidInput(f"--spec: give the file alone; {given} is in it")


@contextmanager
def _errors_of(file: Path | None) -> Iterator[None]:
    """Errors in the block are about a file, not about options, and begin with its name."""
    try:
        yield
    except InvalidInput as problem:
        raise (problem if file is None else InvalidInput(f"{file}: {problem}")) from None


def _text_of(path: Path, allow_code: bool) -> str:
    """The text of a spec; a pipe will do, but not what has no end.

    With ``allow_code`` the modules that it names may lie in the working directory.
    """
    if allow_code:
        search_here()
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) <= MOST_BYTES:
            return data.decode("utf-8")
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"{path}: cannot be read: {problem}") from None
    raise InvalidInput(f"{path}: longer than {MOST_BYTES:,} bytes, which no spec is")
