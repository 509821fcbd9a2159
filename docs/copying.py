"""Examples are sessions: shown with their prompts, and copied without them.

The prompts and the answers of a session have their own classes when it is highlighted as one, and
``assets/site.css`` leaves them out of what the copy button takes.
"""

from __future__ import annotations

from typing import Any


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Called by MkDocs with the text of every page.

    >>> on_page_markdown("```python\\n>>> 1 + 1\\n2\\n```")
    '```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    return markdown.replace("```python\n>>> ", "```pycon\n>>> ")
