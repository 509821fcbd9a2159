"""A page for every learner of the catalogue, made from its docstring when the site is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mkdocs.structure.files import File, Files

from advmdp.learners.catalogue import LEARNERS

INDEX = "learners/index.md"


def on_files(files: Files, config: Any) -> Files:
    """Called by MkDocs with the pages it found."""
    for path, text in learner_pages():
        files.append(File.generated(config, path, content=text))
    return files


def learner_pages() -> Iterator[tuple[str, str]]:
    """Paths and texts, the list of all learners first."""
    rows = [
        f"| [`{name}`]({name}.md) | `{entry.make.__name__}` | {entry.setting} |"
        for name, entry in LEARNERS.items()
    ]
    head = "# Learners\n\n| name | class | setting |\n|---|---|---|\n"
    yield INDEX, head + "\n".join(rows) + "\n"
    for name, entry in LEARNERS.items():
        made = entry.make
        yield f"learners/{name}.md", f"# {name}\n\n::: {made.__module__}.{made.__qualname__}\n"
