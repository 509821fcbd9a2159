"""The service: hands out episodes, any number at once, and learns when their feedback comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from advmdp.checks.arguments import file_path
from advmdp.checks.numbers import shown, whole_number
from advmdp.checks.range_policy import LossRange
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput
from advmdp.layout import Table
from advmdp.learners.base import Learner
from advmdp.learners.contract_checks import checked_learner
from advmdp.learners.saving.saveable import Saveable, contents
from advmdp.service.closing import Closing, close
from advmdp.service.desk import Desk
from advmdp.service.feedback_io import Stub, Ticket
from advmdp.service.journal import Event
from advmdp.service.keeper import Keeper, is_free
from advmdp.service.kept import KeptInFolder
from advmdp.service.receipts import digest_of_key

EVERY = 1_000
"""Closed episodes between two snapshots."""


class Service(KeptInFolder, Shown):
    """Hands out episodes, any number at once, and learns from each when its feedback comes.

    The estimates of bandit learners divide an observed loss by (a bound on) the probability that
    the policy *of its episode* visits the pair.  A ticket therefore freezes a policy, and the
    service keeps what its feedback has to be divided by:

    * Learners with episode records (UOB-REPS and its family) take feedback late and in any order;
      ``DelayedUOBREPS`` and ``DAPO`` with delay-adapted denominators.  So do learners that see all
      losses, which divide by nothing.  All others serve one episode at a time, and say so.
    * Feedback that comes twice, or after its episode was given up, is refused and changes nothing.
    * Feedback that is lost, or not complete, is given up with ``abandon``.  Nothing is learnt from
      it, and the guarantee speaks of the finished episodes alone.  It holds for them as long as
      losing the feedback has nothing to do with what happened in the episode; if the bad episodes
      are the ones that get lost, nothing is guaranteed.

    Parameters
    ----------
    learner
        Any learner; ``advmdp.Doubling`` where nobody knows how many episodes there will be.
    path
        A new folder to keep the service in; to go on with one that is there, use
        ``advmdp.open_service`` or ``Service.load``.  Every closed episode is on the disk when
        ``finish`` or ``abandon`` returns, whatever happens to the process.  Without a path nothing
        is written.
    every
        Closed episodes between two snapshots; only those since the last one are learnt again when
        the service is loaded.

    losses_outside
        What to do with losses that leave [0, 1], unless the learner takes any.  ``"refuse"`` the
        feedback.  ``"clip"`` each to the nearest end: ``clipped`` counts them, and the guarantee is
        about the clipped losses.  ``"adapt"``: a range is doubled, with a new beginning of the
        learner, whenever a loss leaves it (``loss_range``); nothing is learnt from that episode and
        from those that were open then.

    A service may be used by any number of threads.

    >>> from advmdp import Layout, Trajectory, UOBREPS
    >>> service = Service(UOBREPS(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100))
    >>> one, two = service.begin(), service.begin()
    >>> one.number, two.number, one.policy[0]
    (1, 2, array([[0.5, 0.5]]))
    >>> service.finish(two, Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> service.finish(one, {"states": [0, 0, 0], "actions": [1, 1], "losses": [0.2, 0.4]})
    >>> service.abandon(service.begin())
    >>> service.finished, service.abandoned
    (2, 1)
    """

    def __init__(
        self,
        learner: Learner,
        path: str | Path | None = None,
        every: int = EVERY,
        losses_outside: str = "refuse",
    ) -> None:
        self._prepare(learner, every, losses_outside)
        if path is None:
            return
        if not isinstance(learner, Saveable):
            raise InvalidInput(
                f"path: a {type(learner).__name__} cannot be kept in a file; derive it from "
                "advmdp.learners.saving.saveable.Saveable, or leave the path out"
            )
        folder = Path(file_path(path))
        if not is_free(folder):
            raise InvalidInput(
                f"path: {folder} is there already; go on with it by am.open_service(path, learner)"
            )
        self._keeper = Keeper(folder)
        self._keeper.snapshot(*self._contents())

    @property
    def learner(self) -> Any:
        """The learner; while episodes are open, only look at it."""
        return self._desk.learner

    @property
    def finished(self) -> int:
        """Episodes learnt from."""
        return self._desk.finished

    @property
    def abandoned(self) -> int:
        """Episodes given up."""
        return self._desk.abandoned

    @property
    def losses_outside(self) -> str:
        """What happens to losses that leave [0, 1]."""
        return self._desk.losses_outside

    @property
    def clipped(self) -> int:
        """Losses that were moved into [0, 1]."""
        return self._desk.clipped

    @property
    def loss_range(self) -> LossRange | None:
        """The range of ``losses_outside="adapt"``, with its doublings; None for other choices."""
        following = self._desk.following
        return None if following is None else following.range

    @property
    def n_open(self) -> int:
        """How many episodes are open."""
        return len(self._desk.open)

    @property
    def most_open(self) -> int | None:
        """How many may be open at once; None for any number.  Not kept in the folder."""
        return self._desk.most_open

    @most_open.setter
    def most_open(self, most: int | None) -> None:
        self._desk.most_open = None if most is None else whole_number(most, "most_open")

    def policy(self, context: int | None = None) -> Table:
        """The policy that the next ticket has, in this context for a learner that takes them."""
        with self._lock:
            return self._desk.policy(context)

    def _facts(self) -> dict[str, Any]:
        return {
            "learner": shown(self.learner),
            "open": self.n_open,
            "finished": self.finished,
            "abandoned": self.abandoned,
            **({"clipped losses": self.clipped} if self.clipped else {}),
            **({"loss range": str(self.loss_range)} if self.loss_range else {}),
            "kept in": "nowhere" if self.path is None else self.path,
        }

    @property
    def path(self) -> Path | None:
        """The folder it is kept in."""
        return None if self._keeper is None else self._keeper.folder

    @property
    def open(self) -> list[Ticket]:
        """The episodes whose feedback is awaited, oldest first."""
        with self._lock:
            return [episode.ticket for episode in self._desk.open]

    @contextmanager
    def locked(self) -> Iterator[Desk]:
        """Keep all others waiting while one looks; nothing may be changed."""
        with self._lock:
            yield self._desk

    # ------------------------------------------------------------------ episodes

    def begin(self, context: int | None = None, key: str | None = None) -> Ticket:
        """A new episode; in this context, for a learner of several contexts.

        Who may have to ask again, because an answer can get lost, chooses a ``key`` for every
        episode: as long as that episode is open, the same key gets the same ticket.
        """
        with self._lock:
            self._catch_up()
            self._desk.check_context(context)
            digest = None if key is None else digest_of_key(key)
            known = None if digest is None else self._desk.handed_out_as(digest, context)
            if known is not None:
                return known.ticket
            episode = self._desk.hand_out(context, digest)
            named = {} if key is None else {"key": key}
            self._note({"begin": episode.number, "context": episode.context, **named})
            return episode.ticket

    def act(self, ticket: Ticket | int, layer: int, state: int | str) -> int:
        """An action for an open episode, drawn from its policy in this state of this layer.

        Asked again, the answer is the same.  Who draws the actions himself, independently from
        ``ticket.policy``, has no need of it.
        """
        with self._lock:
            return self._desk.action(self._desk.find(ticket, "act"), layer, state)

    def finish(self, ticket: Ticket | int, feedback: Any) -> None:
        """Learn from an open episode, given by its ticket or number.

        ``feedback`` is a ``Trajectory``, a ``FullInformation`` for learners that see all losses, or
        a dictionary with their fields.  What the learner refuses leaves the episode open.
        """
        with self._lock:
            self._catch_up()
            episode = self._desk.open.find(ticket, "finish")
            event = self._desk.learn(episode, self._desk.feedback(feedback))
            written = self._note_closed(event)
        self._wait_for(written)

    def finish_many(self, closings: Iterable[tuple[Ticket | Stub | int, Any]]) -> list[Closing]:
        """Finish episodes, given as (ticket, feedback), with one wait for the disk for all of them.

        Each is judged alone, and gets its answer in the list: what is refused changes nothing, and
        does not hold up the others.  A call that only repeats an earlier one, with the same
        feedback, is answered by ``"already"``; so a caller who does not know whether it arrived
        may ask again, for as long as the episode is among the last 10,000 that were closed.
        Feedback None gives an episode up.  When the answers come, all is on the disk.
        """
        answers, wait = self.finish_unwritten(closings)
        wait()
        return answers

    def finish_unwritten(
        self, closings: Iterable[tuple[Ticket | Stub | int, Any]]
    ) -> tuple[list[Closing], Callable[[], None]]:
        """``finish_many`` in two halves: the answers, which hold when the returned call has come
        back from the disk.  Until then they must not be passed on.
        """
        answers: list[Closing] = []
        events: list[Event] = []
        with self._lock:
            self._catch_up()
            try:
                for ticket, feedback in closings:
                    answer, event = close(self._desk, ticket, feedback)
                    answers.append(answer)
                    if event is not None:
                        events.append(event)
            finally:  # what was learnt is written, whatever the others raise
                if events:
                    self._note_closed(*events)
            # Also for those that were here before: their first caller may still wait for the disk.
            written = None if self._keeper is None else self._keeper.written
        return answers, lambda: self._wait_for(written)

    def abandon(self, ticket: Ticket | int) -> None:
        """Give an open episode up: nothing is learnt from it, and its number is not used again."""
        with self._lock:
            self._catch_up()
            episode = self._desk.open.find(ticket, "abandon")
            written = self._note_closed(self._desk.give_up(episode))
        self._wait_for(written)


def open_service(path: str | Path, learner: Learner, every: int = EVERY) -> Service:
    """The service of a folder: made with ``learner`` if there is none, continued otherwise.

    Nothing is erased: a folder that holds the service of another learner is refused.

    >>> import tempfile
    >>> from advmdp import Exp3IX, Layout
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     service = open_service(f"{folder}/pump", Exp3IX(layout, n_episodes=100))
    ...     service.abandon(service.begin())
    ...     service.close()
    ...     open_service(f"{folder}/pump", Exp3IX(layout, n_episodes=100)).abandoned
    1
    """
    checked_learner(learner)
    place = Path(file_path(path))
    if is_free(place):
        return Service(learner, place, every)
    if not isinstance(learner, Saveable):
        raise InvalidInput(f"learner: a {type(learner).__name__} cannot be kept in a file")
    service = Service.load(place, type(learner))
    (mine, arrays), (found, kept) = contents(learner), contents(service.learner)
    tables = [key for key in arrays if not key.startswith("state.")]
    same_tables = all(key in kept and np.array_equal(arrays[key], kept[key]) for key in tables)
    if mine != found or not same_tables:
        service.close()
        raise InvalidInput(
            f"learner: {place} holds the service of another one, {shown(service.learner)}; give "
            "that learner, or another folder"
        )
    return service
