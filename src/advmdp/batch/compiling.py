"""GPU kernels with the arithmetic of the CPU's: no product is fused with a sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import cuda
from numba.core import config

MOST = 1024  # threads in a block, whatever the card


class Program:
    """A GPU kernel, compiled when it is first launched: ``program[grid](*arguments)``.

    ``stamp`` tells apart what is compiled from the same function; with it, the result is kept on
    disk.
    """

    def __init__(
        self,
        function: Callable[..., None],
        threads: int,
        registers: int | None = None,
        stamp: str | None = None,
    ) -> None:
        self._threads = threads
        # No optimisation when linking: everything is in one piece already, and the linker would
        # fuse what the compiler was told not to.  (Used as a decorator, jit forgets ``lto``.)
        options = {} if config.ENABLE_CUDASIM else {"max_registers": registers, "lto": False}
        self._kernel = cuda.jit(function, **options)
        if stamp is not None and not config.ENABLE_CUDASIM:
            from advmdp.batch.program_cache import ProgramCache

            self._kernel._cache = ProgramCache(function, stamp)

    def largest_block(self, *arguments: Any) -> int:
        """How many threads a block can have, with arguments like these."""
        return MOST if config.ENABLE_CUDASIM else self._compiled(arguments).max_threads_per_block

    def __getitem__(self, grid: tuple[int, int]) -> Callable[..., None]:
        def launch(*arguments: Any) -> None:
            if not config.ENABLE_CUDASIM:
                self._compiled(arguments)
            self._kernel[grid](*arguments)

        return launch

    def _compiled(self, arguments: tuple[Any, ...]) -> Any:
        from advmdp.batch.sharing import among

        kinds = tuple(map(self._kernel.typeof_pyval, arguments))
        if kinds not in self._kernel.overloads:
            with _nothing_fused(), among(self._threads):
                self._kernel.compile(kinds)
        return self._kernel.overloads[kinds]


@contextmanager
def _nothing_fused() -> Iterator[None]:
    """numba has no option for it, so its call of the compiler is exchanged while it compiles."""
    from numba.cuda.core.compiler_lock import global_compiler_lock
    from numba.cuda.cudadrv import nvvm

    plain = nvvm.compile_ir

    def strict(*arguments: Any, **options: Any) -> Any:
        return plain(*arguments, **options, fma=0)

    with global_compiler_lock:
        nvvm.compile_ir = strict
        try:
            yield
        finally:
            nvvm.compile_ir = plain
