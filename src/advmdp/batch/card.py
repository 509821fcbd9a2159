"""The GPU: whether there is one, and how much it can hold."""

from __future__ import annotations

import importlib.util

from advmdp.errors import NoGPU

RESERVE = 0.9  # of the free memory is used; the rest is for the driver and for small arrays


def why_no_gpu() -> str | None:
    """One line that says why nothing can run on a GPU here; None when it can.

    >>> reason = why_no_gpu()
    >>> reason is None or reason.startswith("GPU: ")
    True
    """
    if importlib.util.find_spec("numba_cuda") is None:
        return "GPU: numba-cuda is not installed; pip install 'advmdp[cuda]'"
    try:
        from numba import cuda
    except Exception as problem:
        return (
            f"GPU: numba-cuda cannot be loaded ({_one_line(problem)}); pip install 'advmdp[cuda]'"
        )
    if cuda.is_available():
        return None
    return (
        f"GPU: no CUDA device can be used ({_one_line(cuda.cuda_error())}); "
        "install a driver, or play on the CPU"
    )


def _one_line(problem: object) -> str:
    words = " ".join(str(problem).split()).strip(" :")
    return words.removeprefix("Error at driver init:").strip() or "none found"


def require_gpu() -> None:
    """Refuse in one line."""
    reason = why_no_gpu()
    if reason is not None:
        raise NoGPU(reason)


def card_name() -> str:
    """As the driver tells it."""
    from numba import cuda
    from numba.core import config

    if config.ENABLE_CUDASIM:
        return "numba's CUDA simulator"
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def is_simulated() -> bool:
    """Whether numba plays the GPU: its threads are Python's, and do not run in step."""
    from numba.core import config

    return bool(config.ENABLE_CUDASIM)


def processors() -> int:
    """Multiprocessors of the card."""
    from numba import cuda
    from numba.core import config

    return 1 if config.ENABLE_CUDASIM else int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


def runs_that_fit(bytes_per_run: int, n_runs: int, memory: int | None = None) -> int:
    """How many runs the card's free memory holds at a time; refused when it is not even one."""
    if memory is None:
        from numba import cuda
        from numba.core import config

        free = 2**30 if config.ENABLE_CUDASIM else cuda.current_context().get_memory_info()[0]
        memory = int(RESERVE * free)
    fit = memory // bytes_per_run
    if fit < 1:
        raise NoGPU(
            f"GPU: a run needs {bytes_per_run / 2**20:,.1f} MiB and {memory / 2**20:,.1f} MiB are "
            "free on the card; use a smaller layout, or play on the CPU"
        )
    return min(fit, n_runs)
