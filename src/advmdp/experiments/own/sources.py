"""Hashes of source files, which tell the results of different sources apart.

The hash of a part covers the file of its module and the files of its base classes outside of advmdp
and of the standard library.  Other modules that it imports and data that it reads are not covered:
what matters there belongs into the parameters.
"""

from __future__ import annotations

import hashlib
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.experiments.own.registry import OwnPart

_hashes: dict[str, tuple[ModuleSpec | None, str]] = {}


def source_hash(part: OwnPart) -> str:
    """SHA-256 of the source files behind a part, as they were when it was first looked at."""
    bases = (base.__module__ for base in getattr(part.made_by, "__mro__", ()))
    defined_in = getattr(part.made_by, "__module__", part.module)
    others = {name for name in (defined_in, *bases) if isinstance(name, str) and _is_own(name)}
    names = [part.module, *sorted(others - {part.module})]
    return _sha256("".join(_module_hash(name) for name in names).encode())


def _is_own(module: str) -> bool:
    top = module.partition(".")[0]
    return top != "advmdp" and top not in sys.stdlib_module_names


def _module_hash(name: str) -> str:
    """The hash of a module's file; a module that is loaded again is looked at again."""
    module: Any = sys.modules[name]
    loaded = getattr(module, "__spec__", None)
    known = _hashes.get(name)
    if known is None or known[0] is not loaded:
        known = _hashes[name] = (loaded, _sha256(_content(module, name)))
    return known[1]


def _content(module: Any, name: str) -> bytes:
    file = getattr(module, "__file__", None)
    try:
        return Path(file).read_bytes()  # type: ignore[arg-type]
    except (OSError, TypeError):
        raise InvalidInput(
            f"the module {name!r} has no source file, by whose hash results are told apart; "
            "move the code into a file that can be imported"
        ) from None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
