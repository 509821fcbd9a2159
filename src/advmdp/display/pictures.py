"""Small drawings for notebooks, in SVG; they take the colour of the text, also in dark mode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

WIDTH, HEIGHT, EDGE = 240, 60, 4
MOST_DOTS, MOST_LAYERS = 8, 24


def curve_picture(x: Sequence[float], y: Sequence[float], what: str) -> str:
    """A curve without axes, from its least to its greatest values.

    >>> curve_picture([0, 1], [0, 2], "regret").count("polyline")
    1
    """
    low, high = min(0.0, *y), max(0.0, *y)
    span, length = (high - low) or 1.0, (x[-1] - x[0]) or 1.0
    points = " ".join(
        f"{EDGE + (WIDTH - 2 * EDGE) * (a - x[0]) / length:.1f},"
        f"{HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (b - low) / span:.1f}"
        for a, b in zip(x, y, strict=True)
    )
    line = "fill='none' stroke='currentColor' stroke-width='1.5'"
    return _svg(f"<polyline points='{points}' {line}/>", what)


def layers_picture(sizes: Sequence[int]) -> str:
    """A column of dots for every layer, joined by lines; small dots where it goes on."""
    shown = sizes[:MOST_LAYERS]
    room = EDGE if len(sizes) > MOST_LAYERS else 0  # for the sign that it goes on
    step = (WIDTH - 2 * EDGE - room) / max(len(shown), 2)
    columns = [
        [
            (EDGE + (k + 0.5) * step, _height(i, min(size, MOST_DOTS)))
            for i in range(min(size, MOST_DOTS))
        ]
        for k, size in enumerate(shown)
    ]
    lines = "".join(
        f"M{x:.1f},{y:.1f}L{a:.1f},{b:.1f}"
        for here, beyond in pairwise(columns)
        for x, y in here
        for a, b in beyond
    )
    parts = [f"<path d='{lines}' stroke='currentColor' stroke-width='.6' opacity='.3'/>"]
    for size, column in zip(shown, columns, strict=True):
        for i, (x, y) in enumerate(column):
            goes_on = size > MOST_DOTS and i == MOST_DOTS - 1
            parts.append(_small_dots(x, y) if goes_on else _dot(x, y, 2.2))
    if len(sizes) > MOST_LAYERS:
        parts += [_dot(WIDTH - x, HEIGHT / 2, 0.8) for x in (1.5, 4.0, 6.5)]
    return _svg("".join(parts), f"layers of {', '.join(map(str, sizes[:MOST_LAYERS]))} states")


def _height(i: int, n_dots: int) -> float:
    return HEIGHT / 2 + (i - (n_dots - 1) / 2) * (HEIGHT - 2 * EDGE) / MOST_DOTS


def _small_dots(x: float, y: float) -> str:
    return "".join(_dot(x, y + rise, 0.8) for rise in (-2.0, 0.5, 3.0))


def _dot(x: float, y: float, radius: float) -> str:
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' fill='currentColor'/>"


def _svg(body: str, what: str) -> str:
    size = f"width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}'"
    return f"<svg {size} role='img' aria-label='{what}' style='display:block'>{body}</svg>"
