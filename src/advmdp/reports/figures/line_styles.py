"""Colours and line styles, the same on web pages and on paper.

Every learner has a colour from a palette for colour-blind readers and a line style that survives
black-and-white printing; with six colours and five line styles, thirty learners differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from advmdp.reports.figures.panels import PLAIN_KEYS, TERM_NAMES

# The palette of Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, FAINT, GRID = "#222222", "#8a8a8a", "#e4e4e4"
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (2, 1.5), (7, 2, 1.5, 2), (10, 2, 2, 2, 2, 2))


class Style(NamedTuple):
    """Indices of a colour (-1: ink) and of a line style."""

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
