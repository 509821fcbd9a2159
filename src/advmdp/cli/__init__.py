"""The ``advmdp`` command: parse, call, print.

Commands import what they need when they run, so that ``advmdp --help`` answers at once.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import getdoc
from typing import Annotated, Any

import typer

import advmdp
from advmdp.cli import housekeeping, playing, policies, reading, reporting, serving, verifying
from advmdp.cli.demo import demo
from advmdp.cli.options import BAD_INPUT, FAILED, message_of
from advmdp.cli.watching import watch
from advmdp.errors import AdvMDPError, UnsafeChoice
from advmdp.plain_text import PlainFormatter, plain_text
from advmdp.startup import line_about

app = typer.Typer(
    help="Learning in adversarial Markov decision processes: UOB-REPS, exact and fast.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "run": playing.run,
    "compare": playing.compare,
    "sweep": playing.sweep,
    "watch": watch,
    "ls": reading.list_runs,
    "rm": housekeeping.remove,
    "merge": housekeeping.merge,
    "gc": housekeeping.collect,
    "show": reading.show,
    "policy": policies.policy,
    "export": reading.export,
    "report": reporting.report,
    "figure": reporting.figure,
    "serve": serving.serve,
    "verify": verifying.verify,
}


def _help_of(command: Callable[..., None]) -> str:
    """Its docstring, a line for each paragraph: where lines end is for the terminal to say."""
    paragraphs = (getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for name, command in COMMANDS.items():
    app.command(name, help=_help_of(command))(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; every failure is one line on stderr."""
    if logging.lastResort is not None:  # it writes warnings to stderr
        logging.lastResort.setFormatter(PlainFormatter("%(message)s"))
    warnings.showwarning = _warn_in_one_line(warnings.showwarning)
    try:
        code = app(arguments, prog_name="advmdp", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except AdvMDPError as problem:
        return _refuse(message_of(problem))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as problem:  # libraries written in Rust raise such ones
        # Typer's own errors ("No such option: ...") share no public base class across the
        # supported versions, but all have this method.  Anything else is a defect: let it show.
        if hasattr(problem, "format_message"):
            return _refuse(_with_remedy(problem.format_message(), problem))
        line = line_about(problem)
        if line is None:
            raise
        _give_up_output()
        return FAILED if isinstance(problem, BrokenPipeError) else _refuse(line)
    return code if isinstance(code, int) else 0


def _with_remedy(message: str, problem: BaseException) -> str:
    """The message; where it proposes nothing, with the help of the command called wrongly."""
    context = getattr(problem, "ctx", None)
    if context is None or message.endswith("?"):
        return message
    return f"{message.rstrip('.')}; see '{context.command_path} --help'"


def _warn_in_one_line(usual: Callable[..., None]) -> Callable[..., None]:
    """What shows a warning: of an unsafe choice one line, once, and others as usual."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if not issubclass(category, UnsafeChoice):
            usual(message, category, *where)
        elif str(message) not in said:
            said.add(str(message))
            with suppress(OSError):
                typer.echo(f"warning: {plain_text(str(message))}", err=True)

    return show


def _refuse(message: str) -> int:
    with suppress(OSError):  # a full device behind stderr: the exit code remains
        typer.echo(f"error: {plain_text(' '.join(message.split()))}", err=True)
    return BAD_INPUT


def _give_up_output() -> None:
    """Let go of an output that takes nothing more, so that the interpreter can end."""
    try:
        sys.stdout.flush()
    except (OSError, AttributeError):
        with suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"advmdp {advmdp.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
