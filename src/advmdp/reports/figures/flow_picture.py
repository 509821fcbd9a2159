"""A policy as a picture: the layered graph, the choices in every state, and where they lead.

Written as SVG by hand: it opens in every browser, follows a dark screen, and every action says more
where the pointer rests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from advmdp.layout import Floats, Layout
from advmdp.plain_text import plain_text
from advmdp.reports.figures.line_styles import COLOURS, COLOURS_ON_DARK, DARK_PAPER, PAPER

MOST_STATES, MOST_ACTIONS = 10, 6  # of a layer, of a state: those with the largest chance
BOX, GAP, LINE, HEAD, SPACE = 170, 130, 19, 26, 16  # pixels
TOP, EDGE = 76, 24
LEAST_FLOW = 0.002  # of an episode; thinner lines are left out
WIDEST = 22.0  # pixels of a line that every episode takes


class _State(NamedTuple):
    """Where a state is drawn, and the rows of the actions that it shows."""

    number: int
    x: float
    y: float
    height: float
    rows: list[int]


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
    policy = columns["policy"]
    through: Floats = np.zeros(layout.n_states)
    np.add.at(through, layout.entry_successors(), flow)
    through[0] = 1.0
    states = [_placed(layout, k, through, policy) for k in range(layout.n_layers + 1)]
    height = max(layer[-1].y + layer[-1].height for layer in states) + EDGE
    width = 2 * EDGE + (BOX + GAP) * layout.n_layers + BOX
    parts = [_text(EDGE, 28, title, "title"), _text(EDGE, 48, note, "faint")]
    parts += _lines(layout, flow, states)
    for k, layer in enumerate(states):
        parts.append(_text(layer[0].x, TOP - 8, f"layer {k}", "faint"))
        for state in layer:
            parts += _box(layout, k, state, through, columns)
        hidden = layout.layer_sizes[k] - len(layer)
        if hidden:
            parts.append(
                _text(
                    layer[0].x, layer[-1].y + layer[-1].height + 15, f"and {hidden} more", "faint"
                )
            )
    size = f'width="{width}" height="{height + 16:g}" viewBox="0 0 {width} {height + 16:g}"'
    label = escape(plain_text(title), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">'
        f'<style>{_style()}</style><rect class="ground" width="100%" height="100%"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _placed(layout: Layout, k: int, through: Floats, policy: Floats) -> list[_State]:
    """The states of a layer that are drawn, from the top, in their own order."""
    numbers = np.arange(layout.layer_start[k], layout.layer_start[k + 1])
    likely = np.argsort(-through[numbers], kind="stable")[:MOST_STATES]
    placed, y = [], float(TOP)
    for number in np.sort(numbers[likely]).tolist():
        rows: list[int] = []
        if k < layout.n_layers:
            first = number * layout.n_actions
            own = policy[first : first + int(layout.action_counts[k][number - numbers[0]])]
            chosen = np.sort(np.argsort(-own, kind="stable")[:MOST_ACTIONS])
            rows = (first + chosen).tolist()
        height = HEAD + LINE * len(rows) + (6 if rows else 0)
        placed.append(_State(number, EDGE + k * (BOX + GAP), y, height, rows))
        y += height + SPACE
    return placed


def _lines(layout: Layout, flow: Floats, states: Sequence[Sequence[_State]]) -> list[str]:
    """A line for every drawn entry, as thick as it is likely."""
    place = {state.number: state for layer in states for state in layer}
    successors = layout.entry_successors()
    parts = []
    for layer in states[:-1]:
        for state in layer:
            for i, row in enumerate(state.rows):
                y = state.y + HEAD + LINE * (i + 0.5)
                for entry in range(int(layout.row_start[row]), int(layout.row_start[row + 1])):
                    target = place.get(int(successors[entry]))
                    if target is None or flow[entry] < LEAST_FLOW:
                        continue
                    begin, end = state.x + BOX, target.x
                    there = target.y + min(target.height, HEAD) / 2
                    middle = (begin + end) / 2
                    hue = row % layout.n_actions % len(COLOURS)
                    parts.append(
                        f'<path class="flow a{hue}" d="M{begin} {y:g}'
                        f'C{middle} {y:g} {middle} {there:g} {end} {there:g}" '
                        f'stroke-width="{max(0.6, WIDEST * flow[entry]):.2f}">'
                        f"<title>{flow[entry]:.1%} of the episodes</title></path>"
                    )
    return parts


def _box(
    layout: Layout, k: int, state: _State, through: Floats, columns: Mapping[str, Floats]
) -> list[str]:
    """A state with its name, its chance, and a bar for each action."""
    index = state.number - int(layout.layer_start[k])
    name, chance = _told("state", layout.state_name(k, index)), f"{through[state.number]:.0%}"
    parts = [
        f'<rect class="box" x="{state.x}" y="{state.y:g}" width="{BOX}" '
        f'height="{state.height:g}" rx="5"/>',
        _text(state.x + 9, state.y + 18, _short(name, 15), "name"),
        _text(state.x + BOX - 9, state.y + 18, chance, "end"),
    ]
    for i, row in enumerate(state.rows):
        y, action = state.y + HEAD + LINE * i, row % layout.n_actions
        probability = float(columns["policy"][row])
        told = ", ".join(
            f"{column.replace('_', ' ')} {values[row]:.4g}" for column, values in columns.items()
        )
        label = _short(_told("action", layout.action_name(k, index, action)), 9)
        parts.append(
            f'<g><title>{escape(told)}</title><rect class="bar a{action % len(COLOURS)}" '
            f'x="{state.x + 72}" y="{y + 4:g}" height="11" '
            f'width="{max(0.5, 56 * probability):.1f}"/>'
            f"{_text(state.x + 9, y + 14, label, '')}"
            f"{_text(state.x + BOX - 9, y + 14, f'{probability:.0%}', 'end')}</g>"
        )
    return parts


def _told(kind: str, name: str) -> str:
    """A name, or the number of what has none."""
    return f"{kind} {name}" if name.isdecimal() else name


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
