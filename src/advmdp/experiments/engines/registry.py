"""The engines by name: the only table to edit when one is added.

Engines are imported when they are used, so that the command line can list them at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from advmdp.errors import InvalidInput

if TYPE_CHECKING:
    from advmdp.experiments.engines.interface import Engine


class EngineEntry(NamedTuple):
    """Where an engine's class is, as ``module:class``, and where it plays runs."""

    location: str
    place: str

    def load(self) -> type[Engine]:
        """Import the class."""
        module, _, name = self.location.partition(":")
        engine: type[Engine] = getattr(import_module(module), name)
        return engine


ENGINES: dict[str, EngineEntry] = {
    "local": EngineEntry(
        "advmdp.experiments.engines.local:LocalEngine", "processes of this machine"
    ),
    "ray": EngineEntry("advmdp.experiments.engines.ray_cluster:RayEngine", "a Ray cluster"),
    "cuda": EngineEntry("advmdp.experiments.engines.cuda_batches:CudaEngine", "an NVIDIA GPU"),
}
DEFAULT_ENGINE = "local"


def register_engine(name: str, location: str, place: str) -> None:
    """Add an engine of another package; its class is imported when it is used.

    >>> register_engine("here", "advmdp.experiments.engines.inline:InlineEngine", "this process")
    >>> find_engine("here").__name__
    'InlineEngine'
    >>> engine_names()
    'local, ray, cuda or here'
    >>> del ENGINES["here"]
    """
    if name in ENGINES:
        raise InvalidInput(f"{name!r} is registered already; choose another name", field="engine")
    ENGINES[name] = EngineEntry(location, place)


def find_engine(name: str) -> type[Engine]:
    """The class of an engine; whether this machine can run it is checked by ``require``."""
    check_engine_name(name)
    return ENGINES[name].load()


def check_engine_name(name: str) -> None:
    """Reject unknown engine names; availability is checked later."""
    if name not in ENGINES:
        raise InvalidInput(f"there is no {name!r}; choose {engine_names()}", field="engine")


def engine_names() -> str:
    """All names, as a message or a help text lists them."""
    *others, last = ENGINES
    return f"{', '.join(others)} or {last}"
