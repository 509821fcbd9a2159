"""Colours and line styles, the same on the page and on paper.

Every learner has a colour that colour-blind readers can tell apart and a line style that survives
a black-and-white printer; with six of one and five of the other, thirty learners differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from advmdp.reports.panels import PLAIN_KEYS, TERM_NAMES
from advmdp.reports.regret_plot import COLOURS

DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (2, 1.5), (7, 2, 1.5, 2), (10, 2, 2, 2, 2, 2))


class Style(NamedTuple):
    """Numbers of a colour (-1: ink) and of a line style."""

    colour: int
    dash: int


def styles_of(learners: Sequence[str]) -> dict[str, Style]:
    """The style of every key that a series can have.

    >>> styles = styles_of(["exp3-ix", "uob-reps"])
    >>> styles["exp3-ix"], styles["uob-reps"], styles["regret"]
    (Style(colour=0, dash=0), Style(colour=1, dash=1), Style(colour=-1, dash=0))
    """
    in_ink = {key: Style(-1, i) for i, key in enumerate(reversed(PLAIN_KEYS))}
    return {**_cycle(learners), **in_ink, **_cycle(list(TERM_NAMES.values()))}


def _cycle(names: Sequence[str]) -> dict[str, Style]:
    return {name: Style(i % len(COLOURS), i % len(DASHES)) for i, name in enumerate(names)}
