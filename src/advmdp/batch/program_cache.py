"""Compiled GPU programs on disk, where numba keeps the CPU's: found again by other processes.

numba could do so by itself, but it knows a function again by pickling whatever it closes over, and
that differs from process to process.  A program is compiled from the sources and a plan, so a
checksum of these, its *stamp*, names its file.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba.cuda.core.caching import IndexDataCacheFile
from numba.cuda.dispatcher import CUDACache, CUDACacheImpl
from numba_cuda import __version__


class _ProgramFiles(CUDACacheImpl):
    def reduce(self, program: Any) -> Any:
        """Without the text before it was compiled: megabytes that nothing reads again."""
        program._codelibrary._llvm_strs = []
        return super().reduce(program)


class ProgramCache(CUDACache):
    """Where numba looks for one program before it compiles it, and leaves it afterwards."""

    _impl_class = _ProgramFiles

    def __init__(self, function: Callable[..., None], stamp: str) -> None:
        super().__init__(function)
        name = f"{self._impl.filename_base}-{stamp[:24]}"
        self._cache_file = IndexDataCacheFile(self._cache_path, name, stamp)

    def _index_key(self, kinds: Any, codegen: Any) -> Any:
        return kinds, codegen.magic_tuple(), __version__

    def load_overload(self, kinds: Any, target: Any) -> Any:
        """The program, or None; files that cannot be read are emptied."""
        try:
            return super().load_overload(kinds, target)
        except Exception:  # pickle raises whatever the bytes make it do
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, kinds: Any, program: Any) -> None:
        """Keep it if that is possible; a full disk is no reason not to play."""
        with suppress(OSError):
            super().save_overload(kinds, program)
