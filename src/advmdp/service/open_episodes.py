"""Episodes that were handed out and whose feedback has not come, with what was fixed for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import float_array, whole_number
from advmdp.errors import DamagedFile
from advmdp.kernels.model.row_status import BOUND, FREE, KNOWN
from advmdp.kernels.runtime.storage import leaves
from advmdp.layout import Table
from advmdp.learners.doubling import Doubling
from advmdp.learners.episode_record import EpisodeRecord
from advmdp.service.feedback_io import Stub, Ticket, stamp_of
from advmdp.service.refusals import Conflict

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Issued:
    """A policy, and the record that its feedback is learnt with; shared until the learner moves."""

    policy: Table
    record: EpisodeRecord | None = None


@dataclass(frozen=True)
class OpenEpisode:
    """An episode that waits for its feedback."""

    number: int
    context: int | None
    issued: Issued = field(repr=False)

    @property
    def ticket(self) -> Ticket:
        """A ticket whose holder may do with it what he likes."""
        return Ticket(self.number, [table.copy() for table in self.issued.policy], self.context)


class OpenEpisodes:
    """By number."""

    def __init__(self) -> None:
        self._by_number: dict[int, OpenEpisode] = {}

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[OpenEpisode]:
        return iter(self._by_number.values())

    def __contains__(self, number: int) -> bool:
        return number in self._by_number

    def add(self, episode: OpenEpisode) -> None:
        """A new one."""
        self._by_number[episode.number] = episode

    def remove(self, number: int) -> None:
        """It is finished or given up."""
        del self._by_number[number]

    def find(self, ticket: Any, call: str) -> OpenEpisode:
        """The open episode of a ticket, or of its number; refused in one line otherwise."""
        number = number_of(ticket, call)
        episode = self._by_number.get(number)
        if episode is None:
            raise Conflict(
                f"{call}: episode {number} is not open; what comes twice, or after its episode was "
                "given up, must be dropped"
            )
        handed_out = episode.issued.policy
        if (isinstance(ticket, Ticket) and not _is_same(ticket.policy, handed_out)) or (
            isinstance(ticket, Stub) and ticket.stamp != stamp_of(handed_out)
        ):
            raise Conflict(
                f"{call}: episode {number} was handed out with another policy (before a loss of "
                "power?); drop its feedback"
            )
        return episode

    # ------------------------------------------------------------------ files

    def contents(self) -> tuple[list[list[int | None]], Arrays]:
        """[number, context, place of what was issued] of each, and the arrays of what was."""
        listed: list[list[int | None]] = []
        arrays: Arrays = {}
        places: dict[int, int] = {}
        for episode in self._by_number.values():
            issued = episode.issued
            if id(issued) not in places:
                place = places[id(issued)] = len(places)
                flat = np.concatenate([table.ravel() for table in issued.policy])
                arrays[f"open.{place}.policy"] = flat
                arrays |= {
                    f"open.{place}.record.{k}": a for k, a in _arrays_of(issued.record).items()
                }
            listed.append([episode.number, episode.context, places[id(issued)]])
        return listed, arrays

    def restore(self, learner: Any, listed: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Open again what was open when a file was written; its values are checked."""
        found: dict[int, Issued] = {}
        for number, context, place in listed:
            if place not in found:
                found[place] = _issued(learner, arrays, f"open.{place}.")
            self.add(
                OpenEpisode(
                    whole_number(number, "number of an open episode"),
                    None if context is None else whole_number(context, "context", least=0),
                    found[place],
                )
            )


def number_of(ticket: Any, call: str) -> int:
    """The number of a ticket, of its stub, or the number itself."""
    given = ticket.number if isinstance(ticket, Ticket | Stub) else ticket
    return whole_number(given, f"{call}: number of the ticket")


def issue(learner: Any, with_record: bool) -> Issued:
    """What is fixed for the episodes until the learner moves."""
    if not with_record:
        return Issued([table.copy() for table in learner.policy()])
    record: EpisodeRecord = learner.issue()
    return Issued(record.policy, record)


def _arrays_of(record: EpisodeRecord | None) -> Arrays:
    """The arrays of a record, live."""
    if record is None:
        return {}
    found = {name: a for name, a, _ in leaves(record.fixed) if isinstance(a, np.ndarray)}
    return {**found, "number": np.array(record.number)}


def _issued(learner: Any, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Issued:
    """What a file says was issued, in the form that the learner issues itself."""
    flat = learner.layout.flat_pairs(arrays[f"{prefix}policy"], "policy of an open episode")
    policy = learner.layout.pairs(flat)
    saved = {
        key.removeprefix(f"{prefix}record."): array
        for key, array in arrays.items()
        if key.startswith(f"{prefix}record.")
    }
    if not saved:
        return Issued(policy)
    # Not of Doubling itself, which would begin a round that nobody has asked for.
    inner = learner.learner if isinstance(learner, Doubling) else learner
    record: EpisodeRecord = inner.issue()
    own = _arrays_of(record)
    if set(own) != set(saved):
        raise DamagedFile("an open episode does not fit the learner")
    for name, array in own.items():
        if saved[name].shape != array.shape or saved[name].dtype != array.dtype:
            raise DamagedFile(f"an open episode: {name} does not fit the learner")
        if not _is_proper(saved[name], is_status=name.endswith("status")):
            raise DamagedFile(f"an open episode: {name} has values that no learner has")
        if name != "number":
            array[...] = saved[name]
    return Issued(policy, EpisodeRecord(int(saved["number"]), policy, record.layout, record.fixed))


def _is_proper(array: NDArray[Any], *, is_status: bool) -> bool:
    """Whether kernels may see it: they compute with these numbers and never index with them."""
    if is_status:
        return bool(np.isin(array, (FREE, BOUND, KNOWN)).all())
    return bool(np.isfinite(array).all())


def _is_same(played: Any, handed_out: Table) -> bool:
    if not isinstance(played, list | tuple) or len(played) != len(handed_out):
        return False
    given = [float_array(table, f"policy: layer {k}") for k, table in enumerate(played)]
    return all(np.array_equal(mine, own) for mine, own in zip(given, handed_out, strict=True))
