"""Compiles the kernel sources for the CPU or for CUDA.

Every kernel file decorates plain functions with ``kernel`` or ``leaf`` from this file.
Imported as ``advmdp.kernels`` they become cached ``numba.njit`` functions.  ``load_cuda_kernels``
imports the very same files a second time under another package name, where both mean
``cuda.jit(device=True)``: one source, two machines.

Rules for a kernel: loops over arrays handed in, no allocation, no NumPy function, only ``math``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])
_machine_code: dict[tuple[object, bytes], object] = {}

CPU_PACKAGE = "advmdp.kernels"
CUDA_PACKAGE = "advmdp._cuda_kernels"
FOR_CUDA = __name__.startswith(CUDA_PACKAGE)
"""Whether this copy of the sources becomes device functions."""

# No fast mathematics: a reordered sum or a fused multiply-add depends on what the compiler sees
# around it, and numba may run either of two copies of a kernel, one compiled by itself and one
# inside its caller, whichever was loaded first.  With plain IEEE arithmetic all copies give the
# same bits, in every process.  (Allowing both was 0 to 25% faster.)


# A kernel inlines kernels of other files, but numba renews a cached one only when its own file
# changes; and an index that names a class since renamed cannot even be read.  With a stamp of all
# the sources in the names of the cache files any edit renews them all.
FOLDER = Path(__file__).parents[1]
KERNEL_FILES = [*FOLDER.rglob("*.py"), *FOLDER.parent.rglob("*_kernel.py")]
SOURCE_STAMP = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(KERNEL_FILES))
).hexdigest()


CPU_OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    # Kernels never allocate, so nothing needs counting references: with the counting on, atomic
    # increments took two thirds of the time of a narrow row.
    "_nrt": False,
}


def kernel(function: F) -> F:
    """Compile ``function`` for the target this package was imported for."""
    return _compile(function, inline=False)


def leaf(function: F) -> F:
    """A ``kernel`` that is always inlined.

    Bundles of arrays travel as hundreds of machine words, so a call inside a row loop costs more
    than the row.  Leaves have one or two callers, or are a few instructions long.
    """
    return _compile(function, inline=True)


def _compile(function: F, *, inline: bool) -> F:
    if FOR_CUDA:
        from numba import cuda
        from numba.core import config

        # Inlined as a whole, one kernel knows the offset of every array of a batch (see
        # advmdp.batch): its addresses are one base plus constants.
        options = {} if config.ENABLE_CUDASIM else {"forceinline": True}
        return cuda.jit(device=True, **options)(function)  # type: ignore[no-any-return, no-untyped-call]
    if inline:
        return _linked(function, inline=True)
    from numba import njit

    from .linking import ProgramCompiler

    compiled = njit(cache=True, pipeline_class=ProgramCompiler, **CPU_OPTIONS)(function)  # type: ignore
    if hasattr(compiled, "_cache"):  # not so when numba is switched off for debugging
        _stamp_cache(compiled._cache, "")
        # Made when a kernel first calls it: making all of them takes a tenth of a second.
        linked = cache(lambda: _linked(function, inline=False))
        compiled.get_call_template = lambda *types: linked().get_call_template(*types)
        compiled.get_overload = lambda signature: linked().get_overload(signature)
    return compiled  # type: ignore[no-any-return]


def _linked(function: Any, *, inline: bool) -> Any:
    """The function as its callers among the kernels see it (``linking``)."""
    from numba import njit

    from .linking import LinkedCompiler

    compiled = njit(  # type: ignore[call-overload]
        cache=True,
        forceinline=inline,
        no_cpython_wrapper=True,
        pipeline_class=LinkedCompiler,
        **CPU_OPTIONS,
    )(function)
    if hasattr(compiled, "_cache"):
        _stamp_cache(compiled._cache, "linked-")
        # It has no machine code.  A call from Python must not find it, and gets some made.
        compiled._insert = lambda *overload: None
        compiled._compile_for_args = lambda *arguments: machine_code(_alone(function), *arguments)
    return compiled


@cache
def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """A leaf as a function that Python can call; compiled anew in every process."""
    from numba import njit

    return njit(**CPU_OPTIONS)(function)  # type: ignore


def compiles_for_cpu() -> bool:
    """Whether kernels become machine code of this machine's processor."""
    from numba.core import config

    return not FOR_CUDA and not config.DISABLE_JIT


def machine_code(compiled: F, *arguments: object) -> F:
    """What ``compiled`` runs for arguments of exactly these types.

    In every call numba looks up the type of every array: 8 microseconds for a projection, half a
    microsecond without.  Who calls the machine code itself promises that the types never change.
    Bundles that are alike share one look-up, which takes milliseconds.
    """
    from numba import _dispatcher, typeof

    if not hasattr(compiled, "compile"):  # numba is switched off
        return compiled
    key = (compiled, _dispatcher.compute_fingerprint(arguments))  # type: ignore[arg-type]
    if key not in _machine_code:
        _machine_code[key] = compiled.compile(tuple(map(typeof, arguments)))
    return cast("F", _machine_code[key])


def overload_for_target(function: Callable[..., Any], *, inline: bool) -> Callable[[F], F]:
    """``numba.extending.overload`` for the target, with the options of ``leaf`` or ``kernel``.

    The simulator and switched-off numba run ``function`` itself.
    """
    if not FOR_CUDA:
        from numba.extending import overload

        from .linking import LinkedCompiler

        options = {
            **CPU_OPTIONS,
            "forceinline": inline,
            "no_cpython_wrapper": True,
            "pipeline_class": LinkedCompiler,
        }
        return overload(function, jit_options=options, strict=False)  # type: ignore
    from numba.core import config

    if config.ENABLE_CUDASIM:
        return lambda choose: choose
    from numba.cuda.extending import overload as cuda_overload

    return cuda_overload(function, jit_options={"forceinline": True}, strict=False)  # type: ignore[no-any-return, no-untyped-call]


def _stamp_cache(cache: Any, form: str) -> None:
    """Renew a cache with every edit, and keep classes from outside the package out of it.

    An index that names a class which another process cannot import cannot be read at all there.
    """
    from numba.core.caching import IndexDataCacheFile

    save = cache.save_overload

    def save_own(signature: Any, data: Any) -> None:
        if all(map(_is_own, signature)):
            save(signature, data)

    cache.save_overload = save_own
    name = f"{cache._impl.filename_base}-{form}{SOURCE_STAMP[:12]}"
    cache._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
        cache._cache_path, name, SOURCE_STAMP
    )


def _is_own(kind: Any) -> bool:
    """Whether a numba type names only classes of this package."""
    found = getattr(kind, "instance_class", None)
    if found is not None and not found.__module__.startswith("advmdp."):
        return False
    return all(map(_is_own, getattr(kind, "types", ())))


def load_cuda_kernels() -> ModuleType:
    """The kernel package once more, as CUDA device functions."""
    if CUDA_PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            CUDA_PACKAGE, FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[CUDA_PACKAGE] = module
        spec.loader.exec_module(module)
        for path in sorted(FOLDER.rglob("[!_]*.py")):
            name = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
            importlib.import_module(f"{CUDA_PACKAGE}.{name}")
    return sys.modules[CUDA_PACKAGE]


def cuda_twin(name: str) -> ModuleType:
    """A module with kernels once more, as CUDA device functions: of this package or of any other.

    A module outside the package imports ``advmdp.kernels`` by its name; while its twin is being
    made that name stands for the CUDA kernels.
    """
    load_cuda_kernels()
    if name.startswith(f"{CPU_PACKAGE}."):
        return importlib.import_module(CUDA_PACKAGE + name.removeprefix(CPU_PACKAGE))
    twin = f"{CUDA_PACKAGE}.outside.{name}"
    if twin not in sys.modules:
        spec = importlib.util.spec_from_file_location(twin, sys.modules[name].__file__)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[twin] = module
        kernels = {
            loaded: sys.modules[CUDA_PACKAGE + loaded.removeprefix(CPU_PACKAGE)]
            for loaded in list(sys.modules)
            if loaded == CPU_PACKAGE or loaded.startswith(f"{CPU_PACKAGE}.")
        }
        before = {loaded: sys.modules[loaded] for loaded in kernels}
        try:
            sys.modules.update(kernels)
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[twin]
            raise
        finally:
            sys.modules.update(before)
    return sys.modules[twin]
