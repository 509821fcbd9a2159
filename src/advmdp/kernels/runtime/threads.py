"""Several GPU threads for one run; on the CPU there is one.

All threads of a run execute everything, with the same numbers, except loops over
``shared(begin, end)``: each thread takes some of their turns.  Turns must not depend on each other,
and no thread may read what another one wrote before ``barrier()``.  ``advmdp.batch.sharing`` has
the GPU's versions of these functions.
"""

from __future__ import annotations

from .targets import FOR_CUDA, leaf

shared = range

MAY_SHARE = FOR_CUDA
"""``if MAY_SHARE and n_threads() > 1`` is dropped on the CPU before it is compiled."""


@leaf
def n_threads() -> int:
    """How many threads play this run."""
    return 1


@leaf
def thread() -> int:
    """Which of them this one is."""
    return 0


@leaf
def broadcast(value: float, who: int) -> float:
    """The ``value`` that thread number ``who`` has."""
    return value


@leaf
def reduce_max(value: float) -> float:
    """The largest ``value`` that any of them has."""
    return value


@leaf
def barrier() -> None:
    """Wait for the other threads of this run."""


@leaf
def align_at_episode() -> None:
    """Wait for other runs, where several share a warp.

    Runs in a warp drift apart at every branch and meet again where the branch ends.  A loop that
    may return in its middle has no such place: once apart, its runs stay apart, one executing while
    the others wait (measured: thirty times slower).  Nearby warps are waited for as well: those in
    the same part of the code fetch its instructions once for all of them.
    """


@leaf
def align_at_step() -> None:
    """The same for a run that has a warp of its own.

    It waits where it is about to project: an episode that does not move the iterate costs little,
    and nobody has to wait for the others after it.
    """
