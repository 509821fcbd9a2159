"""Losses in a range that nobody knows: doubled whenever a loss leaves it, with a new beginning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import float_array
from advmdp.checks.range_policy import LossRange
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import DeclaresFeedback, offers
from advmdp.learners.contract_checks import sees_all_losses, sees_the_sum
from advmdp.learners.feedback import (
    LARGEST_LOSS,
    check_full_information,
    check_trajectory,
    with_clipped_losses,
)
from advmdp.learners.saving.saveable import Saveable, Saved, made_again

PASSED_ON = ("n_episodes", "epoch", "mean_width", "n_contexts", "context", "enter")


class RangeFollower:
    """A learner for losses in [0, 1] where losses may be anything: ``losses_outside="adapt"``.

    The learner sees (l - low) / (high - low); the range begins as [0, 1].  When a loss that it sees
    leaves the range, the range is doubled upwards or downwards until it holds the loss, nothing is
    learnt from that episode, and the learner begins again, in place, as it was made.

    Guarantee, for a learner whose regret over T episodes with losses in [0, 1] is at most R_T with
    probability 1 - delta against an adversary who sees the paths.  (When the range moves depends on
    the paths, so a bound against oblivious adversaries is not enough, unless all losses are seen.
    A game that stops early is one whose further losses are 0, so R_T holds until any beginning.)
    Let S be the width of the smallest interval that holds 0, 1 and all losses, and m the doublings.
    The last range is at most 4 S wide (2 S if only one end moved), so m <= 2 + log2 S; those before
    it are a half, a quarter, ... of it.  Between two beginnings with a range of width W the regret
    is at most W R_T up to the episode that leaves the range, with its losses moved into [low,
    high]; without that episode, which is not learnt from, it is at most W L more, and the episode
    itself costs at most L times the next width, which is 2 W or more.  The sum over all ranges:
    with probability 1 - (3 + log2 S) delta, at most 8 S R_T + 12 S L.

    That is the regret in losses whose unseen entries are moved into the range of their time.  Where
    losses are never below 0 it bounds the regret itself up to 1.6 S L (m + ln(1 / delta)): policies
    compared with can only gain, and the chances p_t to meet a loss beyond the range, each of which
    costs S L at most and leads to a doubling, sum to at most 1.6 (m + ln(1 / delta)) with
    probability 1 - delta, since exp(sum_t (1 - 1/e) p_t - [met]) is a supermartingale.  S is that
    of all losses, not only of those seen: a large loss of a pair that was never met is part of the
    regret in expected losses (``Run.regret``).  Below 0, a policy whose losses far below the range
    were never seen is compared with by their clipped values.

    Reference: the doubling trick, for the range instead of the horizon; Cesa-Bianchi and Lugosi,
    "Prediction, Learning, and Games", 2006, section 2.3.
    """

    accepts_any_losses = True

    def __init__(self, learner: Any, name: str) -> None:
        sums = sees_the_sum(learner)
        if sums or not isinstance(learner, Saveable):
            why = "sees sums, which hide the range" if sums else "is no Saveable, to be made anew"
            raise InvalidInput(
                f"a {type(learner).__name__} {why}; take 'clip', or a learner that needs no range "
                "(advmdp.AdaFTRL)",
                field=name,
            )
        if learner.layout.rest_loss is not None:
            raise InvalidInput(
                "the rest of an episode that breaks off is in [0, 1]; take 'clip'", field=name
            )
        made_again(learner)  # refused now, not in the middle of a run
        self.learner: Any = learner
        self._low, self._high = 0.0, 1.0
        self._doublings = self._unlearnt = self._episodes = 0

    # ------------------------------------------------------------------ the contract

    @property
    def layout(self) -> Layout:
        """That of the learner."""
        layout: Layout = self.learner.layout
        return layout

    @property
    def feedback(self) -> Literal["bandit", "full", "aggregate"]:
        """What the learner sees."""
        return self.learner.feedback if offers(self.learner, DeclaresFeedback) else "bandit"

    @property
    def episodes(self) -> int:
        """Episodes played, also those that nothing was learnt from."""
        return self._episodes

    def policy(self) -> Table:
        """The policy of the learner."""
        policy: Table = self.learner.policy()
        return policy

    def update(self, feedback: Any) -> None:
        """Learn from one episode, unless it shows the range to be too small."""
        inside = self.inside(feedback)
        if inside is None:
            self.note_unlearnt()
        else:
            self.learner.update(inside)
        self._episodes += 1

    def __getattr__(self, name: str) -> Any:
        """What ``play`` looks at and what does not depend on the unit of the losses."""
        if name in PASSED_ON:
            return getattr(self.learner, name)
        raise AttributeError(f"RangeFollower has no {name!r}; see .learner")

    # ------------------------------------------------------------------ the range

    @property
    def range(self) -> LossRange:
        """The range now."""
        return LossRange(self._low, self._high, self._doublings, self._unlearnt)

    def inside(self, feedback: Any) -> Any:
        """The feedback in units of the range; None if the learner had to begin again."""
        losses = self._checked_losses(feedback)
        low, high = self._low, self._high
        if self._widen(float(losses.min()), float(losses.max())):
            self.learner.restore(made_again(self.learner).state())
            return None
        if (low, high) == (0.0, 1.0):
            return feedback
        # rounding may leave [0, 1] by an ulp
        return replace(feedback, losses=np.clip((losses - low) / (high - low), 0.0, 1.0))

    def note_unlearnt(self) -> None:
        """Nothing is learnt from an episode."""
        self._unlearnt += 1

    def _checked_losses(self, feedback: Any) -> Floats:
        """All losses that are seen, flat; everything else about the feedback is checked as well."""
        if sees_all_losses(self.learner):
            return check_full_information(self.layout, feedback, any_losses=True).losses
        check_trajectory(self.layout, with_clipped_losses(feedback)[0])
        losses = float_array(feedback.losses, "trajectory: losses")
        if not (np.abs(losses) <= LARGEST_LOSS).all():
            raise InvalidInput(f"trajectory: a loss is not within {LARGEST_LOSS:g} of 0; rescale")
        return losses

    def _widen(self, least: float, most: float) -> bool:
        """Double the range until it holds both; whether it had to be."""
        before = self._doublings
        while most > self._high:
            self._high += self._high - self._low
            self._doublings += 1
        while least < self._low:
            self._low -= self._high - self._low
            self._doublings += 1
        return self._doublings > before

    # ------------------------------------------------------------------ keeping

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        counts = [self._doublings, self._unlearnt, self._episodes]
        own = {"range": np.array([self._low, self._high]), "counts": np.array(counts)}
        inner = self.learner.state()
        return own | {f"learner.{name}": array for name, array in inner.items()}

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a learner made with the same parameters."""
        ends, counts = (saved.get(name, np.zeros(0)) for name in ("range", "counts"))
        if ends.shape != (2,) or counts.shape != (3,) or counts.dtype.kind != "i":
            raise InvalidInput("restore: the saved state has no range; it is of a run without one")
        inner = {k.removeprefix("learner."): a for k, a in saved.items() if "learner." in k}
        self.restore_range([*ends.tolist(), *counts.tolist()[:2]])
        self.learner.restore(inner)
        self._episodes = int(counts[2])

    def restore_range(self, saved: Any) -> None:
        """Continue with a ``LossRange``."""
        low, high, doublings, unlearnt = saved
        width = float(high) - float(low)
        if not (low <= 0.0 and high >= 1.0 and width == 2.0 ** int(doublings) and unlearnt >= 0):
            raise InvalidInput(
                f"restore: the range {low} to {high} does not come from {doublings} doublings"
            )
        self._low, self._high = float(low), float(high)
        self._doublings, self._unlearnt = int(doublings), int(unlearnt)
