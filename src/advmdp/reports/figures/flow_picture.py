"""A policy as a picture: the layered graph, the choices in every state, and where they lead.

Written as SVG by hand: it opens in every browser, follows a dark screen, and every action says more
where the pointer rests.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from advmdp.layout import Floats, Layout
from advmdp.plain_text import plain_text
from advmdp.reports.figures.layered_graph import LayeredGraph, ShownState, layered_graph
from advmdp.reports.figures.line_styles import COLOURS, COLOURS_ON_DARK, DARK_PAPER, PAPER

BOX, GAP, LINE, HEAD, SPACE = 170, 130, 19, 26, 16  # pixels
TOP, EDGE = 76, 24
WIDEST = 22.0  # pixels of a line that every episode takes


class _Place(NamedTuple):
    """Where a state is drawn."""

    x: float
    y: float
    height: float


def flow_picture(
    layout: Layout, flow: Floats, columns: Mapping[str, Floats], title: str, note: str = ""
) -> str:
    """The picture as the text of an SVG file.

    Parameters
    ----------
    flow
        The chance of every entry (x, a, x') in an episode.
    columns
        Those of ``advmdp.learners.pair_knowledge``; ``policy`` is drawn, the others are told where
        the pointer rests.
    """
    graph = layered_graph(layout, flow, columns["policy"])
    places = _places(graph)
    height = max(place.y + place.height for place in places.values()) + EDGE
    width = 2 * EDGE + (BOX + GAP) * layout.n_layers + BOX
    parts = [_text(EDGE, 28, title, "title"), _text(EDGE, 48, note, "faint")]
    parts += _lines(graph, places)
    for k, layer in enumerate(graph.layers):
        first, last = places[layer[0].number], places[layer[-1].number]
        parts.append(_text(first.x, TOP - 8, f"layer {k}", "faint"))
        for state in layer:
            parts += _box(state, places[state.number], columns)
        if graph.hidden[k]:
            below = last.y + last.height + 15
            parts.append(_text(first.x, below, f"and {graph.hidden[k]} more", "faint"))
    size = f'width="{width}" height="{height + 16:g}" viewBox="0 0 {width} {height + 16:g}"'
    label = escape(plain_text(title), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">'
        f'<style>{_style()}</style><rect class="ground" width="100%" height="100%"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _places(graph: LayeredGraph) -> dict[int, _Place]:
    """The states by number: a column for each layer, from the top."""
    places = {}
    for k, layer in enumerate(graph.layers):
        y = float(TOP)
        for state in layer:
            n_actions = len(state.actions)
            height = HEAD + LINE * n_actions + (6 if n_actions else 0)
            places[state.number] = _Place(EDGE + k * (BOX + GAP), y, height)
            y += height + SPACE
    return places


def _lines(graph: LayeredGraph, places: Mapping[int, _Place]) -> list[str]:
    """A line for every flow, as thick as it is likely."""
    starts = {
        action.row: (places[state.number], i, action.number)
        for layer in graph.layers
        for state in layer
        for i, action in enumerate(state.actions)
    }
    parts = []
    for row, number, chance in graph.flows:
        place, i, action = starts[row]
        target = places[number]
        y = place.y + HEAD + LINE * (i + 0.5)
        begin, end = place.x + BOX, target.x
        there = target.y + min(target.height, HEAD) / 2
        middle = (begin + end) / 2
        parts.append(
            f'<path class="flow a{action % len(COLOURS)}" d="M{begin} {y:g}'
            f'C{middle} {y:g} {middle} {there:g} {end} {there:g}" '
            f'stroke-width="{max(0.6, WIDEST * chance):.2f}">'
            f"<title>{chance:.1%} of the episodes</title></path>"
        )
    return parts


def _box(state: ShownState, place: _Place, columns: Mapping[str, Floats]) -> list[str]:
    """A state with its name, its chance, and a bar for each action."""
    parts = [
        f'<rect class="box" x="{place.x}" y="{place.y:g}" width="{BOX}" '
        f'height="{place.height:g}" rx="5"/>',
        _text(place.x + 9, place.y + 18, _short(state.name, 15), "name"),
        _text(place.x + BOX - 9, place.y + 18, f"{state.chance:.0%}", "end"),
    ]
    for i, action in enumerate(state.actions):
        y = place.y + HEAD + LINE * i
        told = ", ".join(
            f"{column.replace('_', ' ')} {values[action.row]:.4g}"
            for column, values in columns.items()
        )
        parts.append(
            f'<g><title>{escape(told)}</title><rect class="bar a{action.number % len(COLOURS)}" '
            f'x="{place.x + 72}" y="{y + 4:g}" height="11" '
            f'width="{max(0.5, 56 * action.probability):.1f}"/>'
            f"{_text(place.x + 9, y + 14, _short(action.name, 9), '')}"
            f"{_text(place.x + BOX - 9, y + 14, f'{action.probability:.0%}', 'end')}</g>"
        )
    return parts


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(x: float, y: float, text: str, kind: str) -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{attribute}>{escape(plain_text(text))}</text>'


def _style() -> str:
    light, dark = (
        "".join(f".a{i}{{--hue:{colour}}}" for i, colour in enumerate(palette))
        for palette in (COLOURS, COLOURS_ON_DARK)
    )
    return (
        "svg{--ink:#222;--faint:#6d6d6d;--rule:#c9c9c9;--ground:" + PAPER + "}" + light +
        "text{font:13px system-ui,'Liberation Sans',sans-serif;fill:var(--ink)}"
        ".title{font-size:17px;font-weight:600}.name{font-weight:600}.faint{fill:var(--faint)}"
        ".end{text-anchor:end}.ground{fill:var(--ground)}"
        ".box{fill:var(--ground);stroke:var(--rule)}.bar{fill:var(--hue)}"
        ".flow{fill:none;stroke:var(--hue);opacity:.5}.flow:hover{opacity:.95}"
        "@media(prefers-color-scheme:dark){svg{--ink:#e8e6e3;--faint:#a09d98;--rule:#55585e;"
        "--ground:" + DARK_PAPER + "}" + dark + "}"
    )  # fmt: skip
