"""Pages that are made when the site is built: one for every learner, the gallery of examples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from advmdp.learners.catalogue import LEARNERS

INDEX, GALLERY = "learners/index.md", "gallery/index.md"
EXAMPLES = Path(__file__).parent.parent / "examples"


def on_files(files: Files, config: Any) -> Files:
    """Called by MkDocs with the pages it found."""
    for path, text in (*learner_pages(), *gallery_pages()):
        files.append(File.generated(config, path, content=text))
    for picture in sorted((EXAMPLES / "pictures").glob("*.png")):
        shown = File.generated(
            config, f"gallery/pictures/{picture.name}", abs_src_path=str(picture)
        )
        files.append(shown)
    return files


def learner_pages() -> Iterator[tuple[str, str]]:
    """Paths and texts, the list of all learners first."""
    rows = [
        f"| [`{name}`]({name}.md) | `{entry.make.__name__}` | {entry.setting} |"
        for name, entry in LEARNERS.items()
    ]
    head = (
        "# Learners\n\n[Which learner should I use?](../which_learner.md)\n\n"
        "| name | class | setting |\n|---|---|---|\n"
    )
    yield INDEX, head + "\n".join(rows) + "\n"
    for name, entry in LEARNERS.items():
        made = entry.make
        yield f"learners/{name}.md", f"# {name}\n\n::: {made.__module__}.{made.__qualname__}\n"


def gallery_pages() -> Iterator[tuple[str, str]]:
    """The text beside the examples, with a page for the source of each."""
    text = (EXAMPLES / "README.md").read_text("utf-8")
    sources = sorted(EXAMPLES.glob("*.py"))
    links = ", ".join(f"[{source.name}]({source.stem}.md)" for source in sources)
    yield GALLERY, f"{text}\n## Sources\n\n{links}\n"
    for source in sources:
        code = source.read_text("utf-8")
        yield f"gallery/{source.stem}.md", f"# {source.name}\n\n````python\n{code}````\n"
