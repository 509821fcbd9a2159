"""Objects with a short text and a small table for notebooks, from the same few facts."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any


class Shown:
    """Gives a class ``__repr__`` and ``_repr_html_``; it says what they show with ``_facts``.

    >>> class Box(Shown):
    ...     def _facts(self):
    ...         return {"width": 2, "content": "<air>"}
    >>> Box()
    Box(width=2, content=<air>)
    >>> "&lt;air&gt;" in Box()._repr_html_()
    True
    """

    def _facts(self) -> Mapping[str, Any]:
        """Names and short values, in the order in which they are shown."""
        return {}

    def _picture(self) -> str:
        """A drawing in SVG, or nothing."""
        return ""

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in self._facts().items())
        return f"{type(self).__name__}({facts})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left;padding-right:1em'>{escape(str(name))}</th>"
            f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
            for name, value in self._facts().items()
        )
        title = escape(type(self).__name__)
        return f"<div><strong>{title}</strong>{self._picture()}<table>{rows}</table></div>"
