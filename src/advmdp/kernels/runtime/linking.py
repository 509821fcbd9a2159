"""Programs compiled as a whole: kernels below them are linked in before anything is optimised.

Numba generates machine code for every function, and each copy holds all the functions below it: of
a program as deep as an episode, nine tenths of what the compiler writes is never run.  Here a
kernel exists twice:

    linked     what other kernels call: intermediate code, never translated by itself
    a program  what Python calls: the kernel with everything below it, optimised once

A program keeps no name but its own, so that the optimiser may drop arguments: a learner's state
travels as hundreds of machine words, of which a function reads a few.  An episode of UOB-REPS is
compiled in half the time, and at 1,3,3,1 x2 it runs a quarter faster.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

ENVIRONMENT = "_ZN08NumbaEnv"
"""How numba's names of a function's environment begin."""


RARE = 200_000
"""New objects after which garbage is looked for while compiling."""


class LinkedLibrary(JITCodeLibrary):
    """Code to be linked into other libraries.

    The engine gets a stub: numba stores its object code beside the intermediate code, and looks
    the environments of functions up in it.
    """

    def finalize(self) -> None:
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        shared = self._final_module
        for function in shared.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"  # several callers may hold a copy
        self._shared_module = shared
        self._final_module = _stub(self.name, shared)
        self._finalize_final_module()  # type: ignore[no-untyped-call]


class ProgramLibrary(JITCodeLibrary):
    """A function that Python calls, with everything below it.

    What was linked in becomes internal: only then may the optimiser change how it is called.

    Loops of constant length were unrolled when their function was optimised by itself.  Unrolling
    the others, along rows and layers of a few entries, would not pay: the program of an episode of
    UOB-REPS took 60% longer to compile, and an episode 9 to 25% longer (1,10x5,1 x4 to 1,3,3,1 x2).
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = "internal"
        codegen: Any = self._codegen
        passes, builder = codegen._module_pass_manager(
            opt=codegen._opt_level,
            loop_vectorize=codegen._loopvect,
            slp_vectorize=False,
            cost="cheap",
        )
        passes.run(self._final_module, builder)
        builder = llvm.create_pass_builder(codegen._tm, _without_unrolling())
        builder.getModulePassManager().run(self._final_module, builder)


class _CompilerInto(Compiler):
    """Numba's compiler with another class of library for the result."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> Any:
        codegen = self.state.targetctx.codegen()
        library = self.library(codegen, self.state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        library.enable_object_caching()  # type: ignore[no-untyped-call]
        self.state.library = library
        return super().define_pipelines()  # type: ignore[no-untyped-call]

    def compile_extra(self, func: Any) -> Any:
        with _rare_collections():
            return super().compile_extra(func)  # type: ignore[no-untyped-call]


class LinkedCompiler(_CompilerInto):
    """Compiles what other kernels call."""

    library = LinkedLibrary


class ProgramCompiler(_CompilerInto):
    """Compiles what Python calls."""

    library = ProgramLibrary


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Compiling makes millions of objects that live until it ends: looking for garbage among them
    takes a seventh of the time."""
    before = gc.get_threshold()
    gc.set_threshold(RARE, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _without_unrolling() -> Any:
    """Numba's options, but loops keep their bodies once."""
    options = llvm.create_pipeline_tuning_options(speed_level=int(config.OPT))
    options.loop_vectorization = config.LOOP_VECTORIZE
    options.slp_vectorization = config.SLP_VECTORIZE
    options.loop_unrolling = False
    return options


def _stub(name: str, module: Any) -> Any:
    """A module with the environments of ``module`` and nothing else."""
    names = (variable.name for variable in module.global_variables)
    lines = [
        f'@"{each}" = common global ptr null' for each in names if each.startswith(ENVIRONMENT)
    ]
    stub = llvm.parse_assembly("\n".join([f'target triple = "{module.triple}"', *lines]))
    stub.name = name
    stub.data_layout = module.data_layout
    return stub
