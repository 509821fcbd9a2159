"""Formulas as pictures when the site is built: ``math`` blocks, in the colour of text.

Nothing is loaded when a page is read.  The same blocks are formulas on code-hosting sites.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZE = 12.5  # points, a little more than the text, as formulas are


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Called by MkDocs with the text of every page."""
    return BLOCK.sub(lambda found: as_picture(found[1]), markdown)


def as_picture(block: str) -> str:
    """The formula of a block, which may go over several lines."""
    return f'<div class="formula"><div>{picture_of(" ".join(block.split()))}</div></div>'


def picture_of(formula: str) -> str:
    """An SVG element whose paths have the colour of the text around it.

    >>> "currentColor" in picture_of("q \\\\geq 0")
    True
    """
    import matplotlib
    from matplotlib.mathtext import math_to_image

    buffer = io.BytesIO()
    settings = {"mathtext.fontset": "cm", "svg.fonttype": "path", "svg.hashsalt": "advmdp"}
    with matplotlib.rc_context({**settings, "font.size": SIZE, "text.color": "black"}):
        math_to_image(f"${formula}$", buffer, format="svg")
    drawn = buffer.getvalue().decode()
    svg = drawn[drawn.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="patch_1">.*?</g>', "", svg, flags=re.DOTALL)  # the white ground
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(formula, quote=True)}"', 1)
    svg = _with_own_names(svg, formula)
    return re.sub(r">\s+<", "><", svg).replace("<g ", '<g fill="currentColor" ', 1)


def _with_own_names(svg: str, formula: str) -> str:
    """The glyphs of a picture under names that no other picture of the page has."""
    own = f"f{sum(map(ord, formula))}x{len(formula)}"
    return re.sub(r'(id="|href="#)([^"]+)"', rf'\g<1>{own}-\g<2>"', svg)
