"""Find a part by its name: ``package.module:Name``, a registered name, or an entry point.

A part is a class or a function that makes a learner, an MDP or a loss process.  An MDP or a loss
process may also be a finished object of a module.  Specs hold names alone; other processes import
the parts themselves, so a part must be found under its name in a module.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput

KINDS = ("learner", "mdp", "losses")
"""What a part can be; the keys of a spec have the same names."""
GROUP = "advmdp"
"""Of the entry points; their names are those of the parts after their kind: ``learner.hedge``."""
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
MAIN = ("__main__", "__mp_main__")  # the script, in this process and in its workers

_locations: dict[tuple[str, str], str] = {}


class OwnPart(NamedTuple):
    """A part and the place it was imported from, as ``module:Name``."""

    made_by: Any
    location: str

    @property
    def module(self) -> str:
        """The name of the module."""
        return self.location.partition(":")[0]


class OwnParts(NamedTuple):
    """What another process needs to find the parts that this one finds."""

    registered: tuple[tuple[str, str, str], ...]
    search_path: tuple[str, ...]


def register(kind: str, name: str, part: Any) -> None:
    """Give a part of your own a name for specs, sweeps and the command line.

    Parameters
    ----------
    kind
        ``"learner"``, ``"mdp"`` or ``"losses"``.
    name
        Small letters, digits, ``.``, ``_`` and ``-``.
    part
        A class or a function at the top of a module, or its place as ``"package.module:Name"``,
        which is imported when it is used.

    A package registers its parts without a call by entry points of the group ``advmdp``, named
    ``learner.NAME``, ``mdp.NAME`` or ``losses.NAME``.

    >>> register("learner", "even", "advmdp.learners.uniform:Uniform")
    >>> find_own("learner", "even").made_by.__name__
    'Uniform'
    >>> del _locations["learner", "even"]
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"{shown(kind)} is none of {', '.join(KINDS)}", field="kind")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInput(
            f"{shown(name)} is not a name such as 'hedge-2'; use a-z, 0-9, '.', '_' and '-'",
            field="name",
        )
    if name in built_in_names(kind):
        raise InvalidInput(
            f"{name!r} is one of the built-in ones, and stays it; choose another name", field="name"
        )
    location = _location_of(part)
    known = _locations.setdefault((kind, name), location)
    if known != location:
        raise InvalidInput(f"{name!r} is {known} already; choose another name", field="name")


def built_in_names(kind: str) -> Collection[str]:
    """The names of the parts that come with the package."""
    # The catalogue looks for parts here, so it is imported when it is there.
    from advmdp.experiments import catalogue

    tables: dict[str, Collection[str]] = {
        "learner": catalogue.LEARNERS,
        "mdp": catalogue.MDPS,
        "losses": catalogue.LOSSES,
    }
    return tables[kind]


def find_own(kind: str, name: str) -> OwnPart | None:
    """The part of that name, imported; None if there is none."""
    location = name if ":" in name else _locations.get((kind, name)) or _entry_point(kind, name)
    return None if location is None else OwnPart(_imported(location), location)


def registered_names(kind: str) -> list[str]:
    """The names of parts that were registered, by a call or by an installed package."""
    prefix = f"{kind}."
    installed = (entry.name for entry in entry_points(group=GROUP))
    declared = [name.removeprefix(prefix) for name in installed if name.startswith(prefix)]
    return sorted({*declared, *(name for of, name in _locations if of == kind)})


def own_parts() -> OwnParts:
    """What to send to a process that shall play specs of this one."""
    registered = tuple((kind, name, place) for (kind, name), place in _locations.items())
    return OwnParts(registered, tuple(os.path.abspath(folder) for folder in sys.path))


def adopt(parts: OwnParts) -> None:
    """Find, in this process, what the sender of ``own_parts()`` finds."""
    for kind, name, location in parts.registered:
        register(kind, name, location)
    for folder in parts.search_path:
        if folder not in sys.path and os.path.exists(folder):
            sys.path.append(folder)


def search_here() -> None:
    """Let modules of the working directory be found, after all others."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def _location_of(part: Any) -> str:
    """The place of a part, which must lead back to it."""
    if isinstance(part, str) and part.count(":") == 1 and all(part.split(":")):
        return ":".join(_checked_place(part))
    module, name = getattr(part, "__module__", None), getattr(part, "__qualname__", None)
    if not callable(part) or not isinstance(module, str) or not isinstance(name, str):
        raise InvalidInput(
            f"give a class, a function or a place such as 'mymodule:Hedge', not {shown(part)}",
            field="part",
        )
    location = f"{module}:{name}"
    if "<" in name or _imported(location) is not part:
        raise InvalidInput(
            f"{name} is not found at {location}, where other processes look for it; "
            "define it at the top of a module",
            field="part",
        )
    return location


def _entry_point(kind: str, name: str) -> str | None:
    found = {entry.value for entry in entry_points(group=GROUP, name=f"{kind}.{name}")}
    if len(found) > 1:
        raise InvalidInput(
            f"{name!r} is offered by several packages: {', '.join(sorted(found))}; "
            "use one of these places as the name",
            field=kind,
        )
    return found.pop() if found else None


def _checked_place(location: str) -> tuple[str, str]:
    """The module and the name in it, which another process can find."""
    module, _, path = location.partition(":")
    if module in MAIN:
        raise InvalidInput(
            f"{path!r} is defined in the script or notebook that runs, where no other process "
            "finds it; move it into a module of its own, and import it from there"
        )
    if module.endswith(".py") or os.path.basename(module) != module:
        name = os.path.basename(module).removesuffix(".py")
        raise InvalidInput(f"{location!r}: name the module, not its file, such as '{name}:{path}'")
    return module, path


def _imported(location: str) -> Any:
    """Import what ``module:Name`` stands for."""
    module, path = _checked_place(location)
    try:
        part: Any = import_module(module)
    except Exception as problem:  # of foreign code: anything can go wrong while it is imported
        raise InvalidInput(
            f"{location!r}: the module {module!r} cannot be imported "
            f"({type(problem).__name__}: {problem}); run where Python finds it, or set PYTHONPATH"
        ) from problem
    for name in path.split("."):
        if not hasattr(part, name):
            close = get_close_matches(name, [n for n in dir(part) if n[0] != "_"], n=1, cutoff=0.6)
            hint = f"did you mean {close[0]!r}?" if close else "is the name right?"
            raise InvalidInput(f"{location!r}: {module} has no {path!r}; {hint}")
        part = getattr(part, name)
    return part
