"""What the package asks a learner before it is played, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advmdp.checks.arguments import with_methods
from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.layout import Layout
from advmdp.learners.base import (
    AcceptsAnyLosses,
    DeclaresFeedback,
    HasHorizon,
    HasLayout,
    Learner,
    offers,
)


def checked_learner(value: Any, name: str = "learner") -> Any:
    """``value``, which must have the two methods of a learner; what is often given instead is
    answered with the remedy.
    """
    learner = with_methods(value, name, "a learner", "policy", "update", remedy=_how_to_make_one)
    if offers(learner, DeclaresFeedback) and learner.feedback not in OFFERED:
        raise InvalidInput(
            f"{type(learner).__name__}.feedback: {shown(learner.feedback)} is none of "
            f"{', '.join(OFFERED)}",
            field=name,
        )
    return learner


def _how_to_make_one(value: Any) -> str:
    if isinstance(value, str):
        return "names are for specs and commands: make one, such as am.UOBREPS(layout, n_episodes)"
    if isinstance(value, type):
        return f"make one: {value.__name__}(layout, ...)"
    if isinstance(value, Sequence) and len(value) and isinstance(value[0], Learner):
        return "these are several, one for each start: use am.play_starts, or take one of them"
    return ""


def sees_all_losses(learner: Any) -> bool:
    """Whether a learner is handed the losses of all pairs."""
    return offers(learner, DeclaresFeedback) and learner.feedback == "full"


def sees_the_sum(learner: Any) -> bool:
    """Whether a learner is handed the sum of the losses of its path, and nothing else."""
    return offers(learner, DeclaresFeedback) and learner.feedback == "aggregate"


def takes_any_losses(learner: Any) -> bool:
    """Whether a learner takes losses outside [0, 1]."""
    return offers(learner, AcceptsAnyLosses) and bool(learner.accepts_any_losses)


def horizon_of(learner: Any) -> int | None:
    """The number of episodes a learner is tuned for, if any."""
    return learner.n_episodes if offers(learner, HasHorizon) else None


def is_made_for(learner: Any, layout: Layout) -> bool:
    """Whether a learner has this layout, or does not say."""
    return not offers(learner, HasLayout) or learner.layout == layout


OFFERED = ("full", "bandit", "aggregate")
"""What may be seen of an episode, the most first: all losses, those of the path, their sum."""


def check_feedback(learner: Any, offered: Any, where: str) -> None:
    """Reject a learner that needs to see more than a world offers; None is everything."""
    if offered is None:
        return
    if not isinstance(offered, str) or offered not in OFFERED:
        raise InvalidInput(f"{shown(offered)} is none of {', '.join(OFFERED)}", field=where)
    needs = learner.feedback if offers(learner, DeclaresFeedback) else "bandit"
    if OFFERED.index(needs) < OFFERED.index(offered):
        raise InvalidInput(
            f"{type(learner).__name__} needs {SEEN[needs]}, and only {SEEN[offered]} can be seen; "
            f"choose a learner for that ({EXAMPLE[offered]})",
            field=where,
        )


SEEN = {"full": "all losses", "bandit": "the losses of the path", "aggregate": "their sum"}
EXAMPLE = {"bandit": "UOBREPS", "aggregate": "AggregateUOBFTRL"}


def check_range(learner: Any, stream: Any, where: str) -> None:
    """Reject losses outside [0, 1] for a learner that does not take them."""
    if getattr(stream, "any_losses", False) and not takes_any_losses(learner):
        raise InvalidInput(
            f"{where}: {type(learner).__name__} needs losses in [0, 1]; rescale them, play with "
            "losses_outside='clip' or 'adapt', or choose a learner that takes any, such as AdaFTRL"
        )


def check_layout(learner: Any, layout: Layout, where: str) -> None:
    """Reject a learner that was made for another layout."""
    if not is_made_for(learner, layout):
        raise InvalidInput(
            f"{where}: learner and MDP have different layouts; build both on mdp.layout"
        )
