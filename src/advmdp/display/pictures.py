"""Small drawings for notebooks, in SVG; they take the colour of the text, also in dark mode."""

from __future__ import annotations

from collections.abc import Sequence

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
    """A column of dots for every layer; of a wide layer, the first dots and a stroke."""
    shown = sizes[:MOST_LAYERS]
    step = (WIDTH - 2 * EDGE) / max(len(shown), 2)
    parts = []
    for k, size in enumerate(shown):
        n_dots = min(size, MOST_DOTS)
        for i in range(n_dots):
            y = HEIGHT / 2 + (i - (n_dots - 1) / 2) * (HEIGHT - 2 * EDGE) / MOST_DOTS
            x = EDGE + (k + 0.5) * step
            mark = (
                f"<line x1='{x - 2:.1f}' x2='{x + 2:.1f}' y1='{y:.1f}' y2='{y:.1f}' "
                "stroke='currentColor'/>"
                if size > MOST_DOTS and i == n_dots - 1
                else f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.2' fill='currentColor'/>"
            )
            parts.append(mark)
    return _svg("".join(parts), f"layers of {', '.join(map(str, sizes[:MOST_LAYERS]))} states")


def _svg(body: str, what: str) -> str:
    size = f"width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}'"
    return f"<svg {size} role='img' aria-label='{what}' style='display:block'>{body}</svg>"
