"""A learner inside somebody's program: numbered episodes, explicit feedback, files that last.

No simulator is needed.  The program asks for a policy, plays an episode with it in its own world,
and hands back what it saw; what happens to feedback that is late or lost is said here, not guessed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from advmdp.archive import JSON, read_archive, write_archive
from advmdp.argument_checks import file_path, flag
from advmdp.display.shown import Shown
from advmdp.errors import DamagedFile, InvalidInput
from advmdp.layout import Table
from advmdp.learners.base import (
    Learner,
    TakesContexts,
    checked_learner,
    horizon_of,
    offers,
    takes_any_losses,
)
from advmdp.learners.feedback import with_clipped_losses
from advmdp.learners.loading import rebuilt
from advmdp.learners.saveable import Saveable, contents
from advmdp.number_checks import float_array, shown, whole_number
from advmdp.range_policy import checked_outside

KIND = "service"


class Ticket(NamedTuple):
    """An episode that was handed out: its number, and the policy to play it with."""

    number: int
    policy: Table


class Service(Shown):
    """Hands out one episode at a time, and learns from it when its feedback comes.

    The estimates of the learners divide an observed loss by (a bound on) the probability that the
    current policy visits its pair.  Feedback of an episode that was played with any other policy
    would be divided by the wrong number and bias everything learnt later, without a sign.  Hence:

    * ``finish`` takes the feedback of the open episode only.  Feedback that comes twice, or after
      its episode was given up, or for another policy, is refused and changes nothing.
    * Feedback that is late is waited for: the next ``begin`` is refused until the open episode is
      finished or given up.
    * Feedback that is lost, or not complete, is given up with ``abandon``.  The learner stays as it
      is, and its guarantee speaks of the finished episodes alone.  It holds for them as long as
      losing the feedback has nothing to do with what happened in the episode; if the bad episodes
      are the ones that get lost, nothing is guaranteed.

    Parameters
    ----------
    learner
        Any learner; ``advmdp.Doubling`` where nobody knows how many episodes there will be.
    path
        Where the service is kept; without it nothing is written.  An existing file is replaced at
        the first writing: to go on with it, use ``Service.load``.
    every
        Write after every so many closed episodes.  A crash loses those since the last writing and
        never damages the file.  If a writing fails, the error says so and the episode stays closed.
    losses_outside
        What to do with losses that leave [0, 1], unless the learner takes any: ``"refuse"`` the
        feedback, or ``"clip"`` each to the nearest end.  ``clipped`` counts them; the guarantee is
        about the clipped losses.

    A service is for one thread at a time; a program with several needs a lock around it.

    >>> from advmdp import Layout, Trajectory, UOBREPS
    >>> service = Service(UOBREPS(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100))
    >>> ticket = service.begin()
    >>> ticket.number, ticket.policy[0]
    (1, array([[0.5, 0.5]]))
    >>> service.finish(ticket, Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> service.abandon(service.begin())
    >>> service.finished, service.abandoned
    (1, 1)
    """

    def __init__(
        self,
        learner: Learner,
        path: str | Path | None = None,
        every: int = 1,
        losses_outside: str = "refuse",
    ) -> None:
        checked_learner(learner)
        if path is not None:
            file_path(path)
        if path is not None and not isinstance(learner, Saveable):
            raise InvalidInput(
                f"path: a {type(learner).__name__} cannot be kept in a file; derive it from "
                "advmdp.learners.saveable.Saveable, or leave the path out"
            )
        self.learner = learner
        self.path = path
        self.every = whole_number(every, "every")
        self.losses_outside = checked_outside(losses_outside, "losses_outside")
        self.clipped = 0
        self.finished = 0
        self.abandoned = 0
        self._open: Ticket | None = None

    # ------------------------------------------------------------------ episodes

    def _facts(self) -> dict[str, Any]:
        waiting = "none" if self._open is None else self._open.number
        kept = "nowhere" if self.path is None else self.path
        return {
            "learner": shown(self.learner),
            "open episode": waiting,
            "abandoned": self.abandoned,
            **({"clipped losses": self.clipped} if self.clipped else {}),
            "kept in": kept,
        }

    @property
    def open(self) -> Ticket | None:
        """The episode whose feedback is awaited."""
        return None if self._open is None else _copy(self._open)

    def begin(self, context: int | None = None) -> Ticket:
        """A new episode; in this context, for a learner that takes contexts."""
        if self._open is not None:
            raise InvalidInput(
                f"begin: episode {self._open.number} is still open; finish or abandon it first"
            )
        planned = horizon_of(self.learner)
        if planned is not None and self.learner.episodes >= planned:  # type: ignore[attr-defined]
            raise InvalidInput(
                f"begin: the learner was made for n_episodes={planned}, and all are played; "
                "use advmdp.Doubling where the number is not known"
            )
        if context is not None:
            if not offers(self.learner, TakesContexts):
                raise InvalidInput(
                    f"context: {type(self.learner).__name__} takes none; serve PerContext of it"
                )
            self.learner.enter(context)  # type: ignore[attr-defined]
        self._open = self._next_ticket()
        return _copy(self._open)

    def finish(self, ticket: Ticket, feedback: Any) -> None:
        """Learn from the open episode; feedback that the learner refuses leaves it open."""
        self._check_open(ticket, "finish")
        clipped = 0
        if self.losses_outside == "clip" and not takes_any_losses(self.learner):
            feedback, clipped = with_clipped_losses(feedback)
        self.learner.update(feedback)
        self.clipped += clipped
        self.finished += 1
        self._close()

    def abandon(self, ticket: Ticket) -> None:
        """Give the open episode up: nothing is learnt from it, and its number is not used again."""
        self._check_open(ticket, "abandon")
        self.abandoned += 1
        self._close()

    def _next_ticket(self) -> Ticket:
        return _copy(Ticket(self.finished + self.abandoned + 1, self.learner.policy()))

    def _check_open(self, ticket: Ticket, call: str) -> None:
        if not isinstance(ticket, Ticket):
            raise InvalidInput(f"{call}: give the ticket of begin(), not {shown(ticket)}")
        number = whole_number(ticket.number, f"{call}: number of the ticket")
        if self._open is None or number != self._open.number:
            waiting = "none is" if self._open is None else f"{self._open.number} is"
            raise InvalidInput(
                f"{call}: episode {number} is not open, {waiting}; what comes twice, or "
                "after its episode was given up, must be dropped"
            )
        if not _is_same_policy(ticket.policy, self._open.policy):
            raise InvalidInput(
                f"{call}: episode {number} was played with another policy than the open "
                "one (before a restart?); drop its feedback, or abandon the open ticket"
            )

    def _close(self) -> None:
        self._open = None
        if self.path is not None and (self.finished + self.abandoned) % self.every == 0:
            self.save()

    # ------------------------------------------------------------------ files

    def save(self, path: str | Path | None = None) -> None:
        """Keep the learner, the numbers and the open episode: in one step, or not at all.

        Without a path the service's own is used.
        """
        target = self.path if path is None else path
        if target is None or not isinstance(self.learner, Saveable):
            raise InvalidInput("save: give a path, and a learner that can be kept in a file")
        described, arrays = contents(self.learner)
        header: dict[str, JSON] = {
            "learner": described,
            "finished": self.finished,
            "abandoned": self.abandoned,
            "every": self.every,
            "open": self._open is not None,
        }
        if self.losses_outside == "clip":
            header["clipped"] = self.clipped
        write_archive(target, KIND, header, arrays)

    @classmethod
    def load(cls, path: str | Path, *own: type[Saveable]) -> Self:
        """The service of a file, which continues with the same bits and writes to the same path.

        An episode that was open when the file was written is open again, see ``open``.  One that
        was begun afterwards is not known: ``begin`` hands out its number again, with the same
        policy, and its feedback fits that ticket.  ``own`` as in ``advmdp.load``.
        """
        header, arrays = read_archive(path, KIND)
        try:
            service = cls(rebuilt(header["learner"], arrays, str(path), *own), path)
            service.every = whole_number(header["every"], "every")
            service.finished, service.abandoned = (
                whole_number(header[name], name, least=0) for name in ("finished", "abandoned")
            )
            if "clipped" in header:
                service.losses_outside = "clip"
                service.clipped = whole_number(header["clipped"], "clipped", least=0)
            if flag(header["open"], "open"):
                service._open = service._next_ticket()
        except (KeyError, TypeError) as error:
            raise DamagedFile(
                f"{path}: its contents do not make a service ({error}); "
                "read it with the advmdp that wrote it"
            ) from None
        return service


def _is_same_policy(played: Any, handed_out: Table) -> bool:
    if not isinstance(played, list | tuple) or len(played) != len(handed_out):
        return False
    given = [float_array(table, f"policy: layer {k}") for k, table in enumerate(played)]
    return all(np.array_equal(mine, own) for mine, own in zip(given, handed_out, strict=True))


def _copy(ticket: Ticket) -> Ticket:
    """A ticket whose holder may do with it what he likes."""
    return Ticket(ticket.number, [np.array(table) for table in ticket.policy])
