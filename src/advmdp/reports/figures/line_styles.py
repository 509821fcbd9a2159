"""Colours and line styles, the same on web pages and on paper.

Every learner has a colour from a palette for colour-blind readers and a line style that survives
black-and-white printing; with six colours and five line styles, thirty learners differ.  The
palettes were searched from that of Okabe and Ito, two of whose colours are too pale for thin lines
on white.  Each colour has a contrast of at least 3 with its ground, and any two are at least 20
apart in CIELAB, also for readers with protanopia or deuteranopia (Machado, Oliveira and Fernandes,
2009), on both grounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from advmdp.reports.figures.panels import PLAIN_KEYS, TERM_NAMES

COLOURS = ("#005FBE", "#B7411E", "#01A063", "#B86693", "#D67C00", "#4D1C72")
COLOURS_ON_DARK = ("#6586C4", "#D7631E", "#4EE685", "#CEBCCA", "#FBE643", "#7E69FF")
"""The same hues for pages on a dark ground."""
PAPER, DARK_PAPER = "#FFFFFF", "#17181B"
"""The grounds of the two palettes."""
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
