"""Some runs of a store, by parts of their labels."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from advmdp.errors import InvalidInput
from advmdp.evaluation.schema import CUT, FAILED, FINISHED, RUNNING


class Selection(NamedTuple):
    """What the runs must have; None: anything."""

    learner: str | None = None
    """A part of the label; ``mdp`` and ``losses`` likewise."""
    mdp: str | None = None
    losses: str | None = None
    status: str | None = None
    n_episodes: int | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is asked for."""
        return all(part is None for part in self)

    def of(self, runs: pl.DataFrame) -> pl.DataFrame:
        """The rows of the frame of runs that fit, in their order."""
        statuses = (FINISHED, RUNNING, CUT, FAILED)
        if self.status is not None and self.status not in statuses:
            raise InvalidInput(f"{self.status!r} is none of {', '.join(statuses)}", field="status")
        for name in ("learner", "mdp", "losses"):
            part = getattr(self, name)
            if part is not None:
                runs = runs.filter(pl.col(name).str.contains(part, literal=True))
        for name in ("status", "n_episodes"):
            value = getattr(self, name)
            if value is not None:
                runs = runs.filter(pl.col(name) == value)
        return runs
