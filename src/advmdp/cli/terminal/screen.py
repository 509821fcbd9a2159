"""What a console can show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


def is_live(console: Console) -> bool:
    """Whether lines can be redrawn; a pipe, a file or a dumb terminal gets plain lines."""
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def waiting(console: Console, message: str, *, quiet: bool) -> Iterator[None]:
    """Show a message during the block: with a spinner on a terminal, as one line elsewhere."""
    if quiet:
        yield
    elif is_live(console):
        with console.status(message, spinner="line"):
            yield
    else:
        console.print(message, highlight=False, soft_wrap=True)
        yield
