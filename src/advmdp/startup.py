"""What ends the command before, or outside of, its own checks: told in one line.

With little memory or few file descriptors the libraries fail while they are loaded, each in its own
way and before the command line is even read.  In a program that merely imports the package nothing
is changed.
"""

from __future__ import annotations

import os
import sys
import warnings
from types import TracebackType

OWN = ("advmdp", "__main__", "runpy")


def is_command() -> bool:
    """Whether this process is the ``advmdp`` command, by its script or by ``python -m``."""
    started = sys.orig_argv[1:]
    by_module = "-m" in started and started[started.index("-m") + 1 :][:1] in (
        ["advmdp"],
        ["advmdp.cli"],
    )
    return by_module or os.path.basename(sys.argv[0] if sys.argv else "") == "advmdp"


def tell_in_one_line() -> None:
    """If this is the command, an error that ends it while it is loaded is one line."""
    if is_command():
        sys.excepthook = _one_line
        warnings.filterwarnings("ignore", "Polars binary is missing")  # the error says it too


def _one_line(
    kind: type[BaseException], problem: BaseException, traceback: TracebackType | None
) -> None:
    line = line_about(problem)
    if line is None:
        sys.__excepthook__(kind, problem, traceback)
    else:
        sys.stderr.write(f"error: {line}\n")


def line_about(problem: BaseException) -> str | None:
    """A line about a refusal of the system or of a library; None for anything else, a defect."""
    library = _library_being_loaded(problem)
    if library is not None:
        reason = " ".join(str(problem).split())[:200]
        return (
            f"{library} cannot be loaded ({type(problem).__name__}: {reason}); "
            "is there enough memory, and are enough open files allowed?"
        )
    if isinstance(problem, MemoryError):
        return "not enough memory; use fewer states or fewer actions"
    if isinstance(problem, OSError):
        return _refusal(problem)
    return None


def _refusal(problem: OSError) -> str:
    try:
        os.getcwd()
    except OSError:
        return "the working folder no longer exists; change to another one"
    where = "" if problem.filename is None else f"{os.fsdecode(problem.filename)}: "
    return f"{where}the system refused ({problem.strerror or problem}); free what it is short of"


def _library_being_loaded(problem: BaseException) -> str | None:
    """The library, other than this package, that could not be loaded, or only in part."""
    traceback, name = problem.__traceback__, OWN[0]
    while traceback is not None:
        frame = traceback.tb_frame
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_name == "<module>" and name not in OWN:
            return name
        traceback = traceback.tb_next
    in_part = type(problem).__name__ in ("NameError", "PanicException")  # polars, without its core
    return name if in_part and name not in OWN else None
