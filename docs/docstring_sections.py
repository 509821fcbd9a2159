"""Give the examples and remarks in docstrings the headings that the site's generator looks for.

In the sources a doctest or a remark simply follows the list of parameters; the generator would take
it for another parameter.
"""

from __future__ import annotations

from typing import Any

import griffe

UNDERLINE = set("-")


class DocstringSections(griffe.Extension):
    """Called for every object that has a docstring."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = with_headings(obj.docstring.value)


def with_headings(text: str) -> str:
    """The docstring with an ``Examples`` heading before doctests, ``Notes`` before remarks.

    >>> lines = ["Parameters", "----------", "a", "    A number.", "", ">>> 1 + 1", "2"]
    >>> with_headings("\\n".join(lines)).splitlines()[5:]
    ['Examples', '--------', '>>> 1 + 1', '2']
    """
    lines = text.splitlines()
    section = ""
    out: list[str] = []
    for i, line in enumerate(lines):
        following = lines[i + 1] if i + 1 < len(lines) else ""
        after_blank = not out or not out[-1].strip()
        if following and set(following) == UNDERLINE:
            section = line
        elif line.startswith(">>> ") and after_blank and section != "Examples":
            out += ["Examples", "--------"]
            section = "Examples"
        elif (
            section not in ("", "Examples", "Notes")
            and after_blank
            and line.strip()
            and not line.startswith(" ")
            and not following.startswith(" ")
        ):
            out += ["Notes", "-----"]
            section = "Notes"
        out.append(line)
    return "\n".join(out)
