"""Keeps a service in its folder: events in a journal, snapshots, and the way back from both."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from advmdp.checks.arguments import file_path
from advmdp.checks.numbers import whole_number
from advmdp.errors import AdvMDPError, DamagedFile, InvalidInput, StorageFailure
from advmdp.files.archive import JSON, read_archive, write_archive
from advmdp.learners.saving.loading import rebuilt
from advmdp.learners.saving.saveable import Saveable, contents
from advmdp.service.desk import Desk
from advmdp.service.draws import checked_key
from advmdp.service.journal import Event
from advmdp.service.keeper import KIND, SNAPSHOT, Keeper


class KeptInFolder:
    """The half of ``Service`` that writes and reads; the other half is the desk.

    What was learnt is noted in the journal before anybody is told, and a snapshot now and then
    keeps the journal short.
    """

    _desk: Desk
    _keeper: Keeper | None
    _lock: threading.RLock
    every: int

    def _prepare(self, learner: Any, every: Any, losses_outside: Any) -> None:
        self._desk = Desk(learner, losses_outside)
        self.every = whole_number(every, "every")
        self._keeper = None
        self._is_ahead = False
        """Whether the learner knows more than the folder, because a disk refused an event."""
        self._lock = threading.RLock()

    def _note(self, *events: Event) -> int:
        if self._keeper is None:
            return 0
        try:
            return self._keeper.append(*events)
        except StorageFailure as problem:
            self._is_ahead = True
            raise StorageFailure(
                f"{problem}; the episode counts, and is written with the next one"
            ) from problem

    def _note_closed(self, *events: Event) -> int | None:
        """Write the events; None when a snapshot has them, which is on the disk already."""
        if self._keeper is None:
            return None
        written = self._note(*events)
        if self._desk.closed % self.every < len(events):
            self._keeper.snapshot(*self._contents())
            return None
        return written

    def _wait_for(self, written: int | None) -> None:
        if self._keeper is not None and written is not None:
            try:
                self._keeper.sync(written)
            except StorageFailure:
                # A second fsync of the same file may succeed without what the first one lost.
                self._is_ahead = True
                raise

    def _catch_up(self) -> None:
        """After a disk has refused an event: a snapshot with everything, or no further step."""
        if self._is_ahead and self._keeper is not None:
            self._keeper.snapshot(*self._contents())
            self._is_ahead = False

    def save(self, path: str | Path | None = None) -> None:
        """Take a snapshot now; with a path, into one file that ``Service.load`` reads."""
        with self._lock:
            if path is not None:
                write_archive(path, KIND, *self._contents())
            elif self._keeper is None:
                raise InvalidInput("save: give a path, or keep the service in a folder")
            else:
                self._keeper.snapshot(*self._contents())
                self._is_ahead = False

    def close(self) -> None:
        """Let another process serve the folder; the service is not used any more."""
        with self._lock:
            if self._keeper is not None:
                self._keeper.close()

    def _contents(self) -> tuple[dict[str, JSON], dict[str, NDArray[Any]]]:
        if not isinstance(self._desk.learner, Saveable):
            raise InvalidInput("save: the learner cannot be kept in a file")
        described, arrays = contents(self._desk.learner)
        arrays |= self._desk.history.contents()
        listed, issued = self._desk.open.contents()
        header: dict[str, JSON] = {
            "learner": described,
            "finished": self._desk.finished,
            "abandoned": self._desk.abandoned,
            "every": self.every,
            "open": listed,
            "draw_key": self._desk.draw_key.hex(),
        }
        if self._desk.losses_outside == "clip":
            header["clipped"] = self._desk.clipped
        if self._desk.following is not None:
            header["range"] = [*self._desk.following.range, self._desk.begun_anew_after]
        return header, {**arrays, **issued, **self._desk.receipts.contents()}

    @classmethod
    def load(cls, path: str | Path, *own: type[Saveable]) -> Self:
        """The service of a folder, which goes on with the same bits; ``own`` as ``advmdp.load``.

        A single file, as ``save(path)`` writes it, gives a service that is kept nowhere.
        """
        place = Path(file_path(path))
        if place.is_dir():
            if not (place / SNAPSHOT).exists():
                raise InvalidInput(f"path: {place} holds no service; give its folder")
            return cls._from_keeper(Keeper(place), own)
        header, arrays = read_archive(place, KIND)
        return cls._rebuilt(header, arrays, place, own)

    @classmethod
    def _from_keeper(cls, keeper: Keeper, own: tuple[type[Saveable], ...]) -> Self:
        try:
            header, arrays, events = keeper.read()
            service = cls._rebuilt(header, arrays, keeper.folder, own)
            service._replay(events, keeper.folder)
        except BaseException:
            keeper.close()
            raise
        service._keeper = keeper
        if "draw_key" not in header:  # made now: what was drawn with it must be drawn again
            service.save()
        return service

    @classmethod
    def _rebuilt(
        cls, header: dict[str, Any], arrays: dict[str, Any], place: Path, own: Any
    ) -> Self:
        service = cls.__new__(cls)
        try:
            learner = rebuilt(header["learner"], arrays, str(place), *own)
            outside = "clip" if "clipped" in header else "adapt" if "range" in header else "refuse"
            service._prepare(learner, header["every"], outside)
            desk, listed = service._desk, header["open"]
            if desk.following is not None:
                *ends, begun = header["range"]
                desk.following.restore_range(ends)
                desk.begun_anew_after = whole_number(begun, "range", least=0)
            desk.history.restore(arrays)
            desk.clipped = whole_number(header.get("clipped", 0), "clipped", least=0)
            desk.finished, desk.abandoned = (
                whole_number(header[name], name, least=0) for name in ("finished", "abandoned")
            )
            if isinstance(listed, bool):  # one at most, in files of earlier versions
                if listed:
                    desk.hand_out(None)
            else:
                desk.open.restore(desk.learner, listed, arrays)
            desk.receipts.restore(arrays)
            if "draw_key" in header:  # not in files of earlier versions
                desk.draw_key = checked_key(header["draw_key"])
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(
                f"{place}: its contents do not make a service ({error}); "
                "read it with the advmdp that wrote it"
            ) from None
        return service

    def _replay(self, events: list[Event], place: Path) -> None:
        """Everything since the snapshot again."""
        for event in events:
            try:
                self._desk.repeat(event)
            except (AdvMDPError, KeyError, TypeError, ValueError) as error:
                raise DamagedFile(
                    f"{place}: its journal does not follow from its snapshot ({error}); "
                    "restore both from a copy"
                ) from None
