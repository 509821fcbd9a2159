"""The contract of a learner.

Two methods make a learner (``Learner``).  What else one may offer is declared by the small
protocols below: a built-in learner names them among its base classes, and the package asks with
``offers(learner, protocol)`` before it uses any of their members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from advmdp.layout import Floats, Layout, Table


class CompiledLoop(NamedTuple):
    """How ``play`` runs a built-in learner without leaving compiled code.

    ``kernel(graph, world, program, ledger, points, start, stop, *state)`` returns the first
    episode that is not finished; ``finish(states, path)`` completes it on the safe path, or raises
    with the learner as it was.  ``points`` are evaluation points (``kernels/accounting``), which
    ``late_loop`` does without.
    """

    kernel: Callable[..., int]
    state: tuple[Any, ...]
    finish: Callable[[NDArray[np.int64], NDArray[np.int64]], None]


# ---------------------------------------------------------------------- the contract


@runtime_checkable
class Learner(Protocol):
    """Anything with a policy that learns from feedback."""

    def policy(self) -> Table:
        """pi_t of the coming episode: a pair table of action probabilities."""
        ...

    def update(self, feedback: Any) -> None:
        """Learn from one episode played with ``policy()``.

        The feedback is a ``Trajectory``; a ``FullInformation`` for learners with an attribute
        ``feedback = "full"``, an ``Aggregate`` for those with ``feedback = "aggregate"``.
        """
        ...


@runtime_checkable
class HasLayout(Protocol):
    """Made for one layout."""

    layout: Layout


@runtime_checkable
class DeclaresFeedback(Protocol):
    """Says what it sees of an episode; without it, the losses of its own path."""

    @property
    def feedback(self) -> Literal["bandit", "full", "aggregate"]: ...


@runtime_checkable
class CountsEpisodes(Protocol):
    """Knows how many episodes it has learnt from."""

    @property
    def episodes(self) -> int: ...


@runtime_checkable
class HasHorizon(CountsEpisodes, Protocol):
    """Tuned for a number of episodes, which it may not exceed."""

    n_episodes: int


@runtime_checkable
class HasEpochs(Protocol):
    """Works in epochs 1, 2, ..."""

    @property
    def epoch(self) -> int: ...


@runtime_checkable
class HasEpochStarts(Protocol):
    """Remembers when its epochs began."""

    @property
    def epoch_starts(self) -> NDArray[np.int64]: ...


@runtime_checkable
class HasWidth(Protocol):
    """Keeps a confidence set, of which it can say how much it leaves open."""

    @property
    def mean_width(self) -> float: ...


@runtime_checkable
class EstimatesLosses(Protocol):
    """Has an iterate and loss estimates, so that its regret splits into the four terms."""

    @property
    def kernel_state(self) -> Any:
        """The state as the kernels hold it (``kernels/learners/interface``)."""
        ...

    @property
    def moved(self) -> bool:
        """Whether the last update moved the iterate."""
        ...

    def iterate_loss(self, losses: Floats) -> float:
        """<q^_t, losses> of the coming episode, losses over rows."""
        ...

    def account_for_last(self, ledger: Any, iterate: float) -> None:
        """Add the estimates and the certificate of the last update to a ledger."""
        ...


@runtime_checkable
class Auditable(Protocol):
    """Shows everything that ``play(check=True)`` verifies; its estimator divides by u + gamma.

    What it divides is the loss less the baseline, which is zero unless it was asked for.
    """

    layout: Layout
    gamma: float

    @property
    def divides_by_upper_bound(self) -> bool: ...
    @property
    def episodes(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def visits(self) -> Table: ...
    @property
    def upper_occupancy_of_last(self) -> Floats: ...
    @property
    def estimate_of_last(self) -> Floats: ...
    def baseline_table(self) -> Table: ...
    def policy(self) -> Table: ...
    def occupancy(self) -> Table: ...
    def confidence_set(self) -> Any: ...


@runtime_checkable
class AcceptsAnyLosses(Protocol):
    """Takes losses in any unit and of any sign; without it, they are to lie in [0, 1]."""

    @property
    def accepts_any_losses(self) -> bool: ...


@runtime_checkable
class Observes(Protocol):
    """Learns also from the losses of episodes that it has not played, such as a history."""

    def observe(self, losses: Any) -> None: ...


@runtime_checkable
class TakesContexts(Protocol):
    """Is told the context of an episode, one of 0, 1, ..., before its policy is asked for."""

    n_contexts: int

    def enter(self, context: int) -> None: ...


@runtime_checkable
class IssuesRecords(Protocol):
    """Hands out policies with a record, and takes ``update(feedback, record)`` in any order."""

    def issue(self) -> Any: ...


@runtime_checkable
class TakesLateFeedback(Protocol):
    """Learns from feedback that comes episodes after its policy was played, in any order."""

    @property
    def keeps_policies(self) -> bool:
        """Whether the queue holds the whole policy of every episode, with its bounds."""
        ...

    def late_loop(self, queue: Any) -> CompiledLoop:
        """For ``play``: whole episodes with a queue (``playing/late_queue``), in compiled code."""
        ...

    def depart(self, episode: int, ledger: Any, queue: Any) -> None:
        """Put the trajectory of a ledger into a queue, with the bounds of its own time."""
        ...

    def arrive(self, ledger: Any, queue: Any) -> None:
        """Learn from the next arrival of a queue, and account for it."""
        ...


@runtime_checkable
class CountsTransitions(Protocol):
    """Counts where actions lead, and can go on with what others of its class have counted since."""

    def transition_counts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """N of pairs and M of triples, live."""
        ...

    def expect_others(self, n_episodes: int) -> None:
        """Make room for the visits of ``n_episodes`` in all, by learners that count together."""
        ...

    def catch_up(self, latest: Any) -> None:
        """Go on with the visits that ``latest`` has counted, one's own among them."""
        ...


@runtime_checkable
class CertifiesRegret(CountsEpisodes, Protocol):
    """Knows after the fact a number that its regret since the first episode cannot exceed."""

    @property
    def regret_bound(self) -> float: ...


@runtime_checkable
class KnowsPairs(Protocol):
    """Says what it knows of every state and action (``learners/pair_knowledge``)."""

    def pair_knowledge(self) -> Any: ...


@runtime_checkable
class Compiled(Protocol):
    """Can be played without leaving compiled code."""

    def compiled_loop(self) -> CompiledLoop: ...


@runtime_checkable
class Resumable(Protocol):
    """Can hand out everything its future depends on, and go on from it."""

    def state(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None: ...


CAPABILITIES: tuple[type, ...] = (
    *(HasLayout, DeclaresFeedback, CountsEpisodes, HasHorizon, HasEpochs, HasEpochStarts),
    *(HasWidth, EstimatesLosses, Auditable, Compiled, Resumable),
    *(AcceptsAnyLosses, Observes, TakesContexts, IssuesRecords, TakesLateFeedback),
    *(CountsTransitions, CertifiesRegret, KnowsPairs),
)
"""All that a learner may offer beside the two methods."""


def offers(learner: Any, protocol: type) -> bool:
    """Whether a learner has all members of a protocol.

    By ``hasattr``, so that a learner which stands for another one (``Doubling``) offers what that
    one does; ``isinstance`` looks at the class alone from Python 3.12 on.
    """
    return all(hasattr(learner, name) for name in _members(protocol))


@cache
def _members(protocol: type) -> frozenset[str]:
    return frozenset(
        name
        for base in protocol.__mro__
        if getattr(base, "_is_protocol", False) and base is not Protocol
        for name in (*vars(base), *vars(base).get("__annotations__", {}))
        if not name.startswith("_")
    )


def plays_compiled(learner: Any) -> bool:
    """Whether whole episodes can be played in compiled code: not if a function has to be called."""
    return offers(learner, Compiled) and not getattr(learner, "needs_python", False)


def context_of(learner: Any) -> int | None:
    """The context that a learner is in; None for one that does not say."""
    context: int | None = getattr(learner, "context", None)
    return context
