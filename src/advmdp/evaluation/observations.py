"""Look inside a run: quantities recorded every so many episodes, and a callback.

==================  =========================  ====================================================
name                shape                      what it is
==================  =========================  ====================================================
``policy``          (pairs,)                   pi_t of the coming episode
``q``               (triples,)                 the learner's own occupancy measure q^_t
``u``               (L,)                       what divided the losses of the last episode, by layer
``estimate``        (L,)                       the loss estimates of the last episode, by layer
``visits``          (pairs,)                   N(x, a)
``width``           ()                         mean width of the confidence set
``epoch``           ()                         epoch of the coming episode
``gap``             ()                         duality gap of the last projection
``residual``        ()                         flow residual of the last projection
``regret_bound``    ()                         what the regret cannot exceed, where it is certified
``regret``          ()                         expected loss minus that of the best fixed policy
``expected_loss``   ()                         sum of <q_t, l_t>
``realised_loss``   ()                         sum of the losses suffered
``best_loss``       ()                         that of the best fixed policy so far
==================  =========================  ====================================================

The learner is looked at between slices of compiled code, which changes no bit of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import function
from advmdp.checks.numbers import shown, whole_number
from advmdp.errors import InvalidInput
from advmdp.evaluation.recorder import Recorder
from advmdp.kernels.steps.interface import GAP, RESIDUAL, certificate_of
from advmdp.learners.base import (
    Auditable,
    CertifiesRegret,
    EstimatesLosses,
    HasEpochs,
    HasWidth,
    Learner,
    offers,
)


class Moment(NamedTuple):
    """What a callback of ``play`` is given."""

    episodes: int
    learner: Any
    account: Any
    """An ``EvaluationPoint``; in an environment the rewards ``Earned``."""


class Recorded(dict[str, NDArray[Any]]):
    """The quantities of ``play(record=...)`` by their names: row i belongs to ``episodes[i]``."""

    def __init__(self, episodes: NDArray[np.int64], rows: dict[str, NDArray[Any]]) -> None:
        super().__init__(rows)
        self.episodes = episodes

    def __missing__(self, name: str) -> NDArray[Any]:
        """Say how to get what was not asked for."""
        raise InvalidInput(f"record: {shown(name)} was not recorded; add it to record=[...]")

    def __repr__(self) -> str:
        return f"Recorded({', '.join(self)}; {len(self.episodes)} times)"


def _certificate(place: int) -> Callable[[Recorder], Any]:
    return lambda now: certificate_of(now.learner.kernel_state.step).figures[place]


def _account(name: str) -> Callable[[Recorder], Any]:
    return lambda now: getattr(now.evaluate(), name)


READERS: dict[str, tuple[type, Callable[[Recorder], Any]]] = {
    "policy": (Learner, lambda now: now.mdp.layout.flat_pairs(now.learner.policy())),
    "q": (Auditable, lambda now: now.mdp.layout.flat_triples(now.learner.occupancy())),
    "u": (Auditable, lambda now: now.learner.upper_occupancy_of_last),
    "estimate": (Auditable, lambda now: now.learner.estimate_of_last),
    "visits": (Auditable, lambda now: now.mdp.layout.flat_pairs(now.learner.visits)),
    "width": (HasWidth, lambda now: now.learner.mean_width),
    "epoch": (HasEpochs, lambda now: now.learner.epoch),
    "gap": (EstimatesLosses, _certificate(GAP)),
    "residual": (EstimatesLosses, _certificate(RESIDUAL)),
    "regret_bound": (CertifiesRegret, lambda now: now.learner.regret_bound),
    "regret": (Learner, _account("regret")),
    "expected_loss": (Learner, _account("expected_loss")),
    "realised_loss": (Learner, _account("realised_loss")),
    "best_loss": (Learner, _account("best_loss")),
}
"""What a learner must offer, and how the quantity is read."""
ACCOUNT = ("regret", "expected_loss", "realised_loss", "best_loss")
"""What only those know who know the true transition."""


class Observer:
    """Records quantities and calls the callback, every ``every`` episodes or at checkpoints."""

    def __init__(
        self,
        recorder: Any,
        record: Any = None,
        every: Any = None,
        callback: Any = None,
        *,
        has_account: bool = True,
    ) -> None:
        self._recorder = recorder
        self._names = _checked_names(record, recorder.learner)
        unknown = [name for name in self._names if name in ACCOUNT and not has_account]
        if unknown:
            raise InvalidInput(
                f"an environment shows rewards only, and no {unknown[0]!r}; leave it out",
                field="record",
            )
        self._callback = callback
        if callback is not None:
            function(callback, "callback", "callback(moment)", n_arguments=1)
        self._every = None if every is None else whole_number(every, "every")
        self._active = bool(self._names) or callback is not None
        if self._every is not None and not self._active:
            raise InvalidInput("has no effect alone; give record=[...] or callback", field="every")
        self._episodes: list[int] = []
        self._rows: dict[str, list[Any]] = {name: [] for name in self._names}

    @property
    def looks_at_checkpoints(self) -> bool:
        """Whether it looks at the checkpoints themselves, so that each must be stopped at."""
        return self._active and self._every is None

    def limit(self, done: int, stop: int) -> int:
        """How far a slice may go before the observer looks, at most to ``stop``."""
        if not self._active or self._every is None:
            return stop
        return min(stop, done - done % self._every + self._every)

    def __call__(self, done: int) -> None:
        """Look at the run after ``done`` episodes, if it is time."""
        every = self._every
        due = done % every == 0 if every else self._recorder.is_checkpoint(done)
        if not self._active or not due:
            return
        if self._names:
            self._episodes.append(done)
            for name in self._names:
                self._rows[name].append(np.array(READERS[name][1](self._recorder)))
        if self._callback is not None:
            self._callback(Moment(done, self._recorder.learner, self._recorder.evaluate()))

    def recorded(self) -> Recorded | None:
        """Everything recorded; None where nothing was asked for."""
        if not self._names:
            return None
        values = {name: np.array(rows) for name, rows in self._rows.items()}
        return Recorded(np.array(self._episodes, dtype=np.int64), values)


def readable(learner: Any) -> list[str]:
    """The quantities that can be recorded of a learner."""
    return [name for name, (needed, _) in READERS.items() if offers(learner, needed)]


def _checked_names(record: Any, learner: Any) -> list[str]:
    """The quantities to record, each of which the learner has."""
    if record is None:
        return []
    if not isinstance(record, list | tuple) or not all(isinstance(name, str) for name in record):
        raise InvalidInput(
            f"give names in a list, such as ['q', 'gap'], not {shown(record)}", field="record"
        )
    for name in record:
        if name not in READERS:
            close = get_close_matches(name, READERS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(READERS)}"
            raise InvalidInput(f"there is no {shown(name)}; {hint}", field="record")
        if not offers(learner, READERS[name][0]):
            has = ", ".join(readable(learner))
            raise InvalidInput(
                f"{type(learner).__name__} has no {name!r}; choose from {has}", field="record"
            )
    return list(dict.fromkeys(record))
