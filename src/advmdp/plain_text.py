"""Text from data as a terminal, a log, a figure or a page may show it.

Names, units and reasons come from files that others may have written: an escape code in them would
recolour or overwrite the screen, a direction mark would reorder a line.
"""

from __future__ import annotations

import logging
import unicodedata
from typing import Any

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode's categories of characters that are commands rather than signs."""


def plain_text(text: str) -> str:
    r"""The text with every character that is not shown as a sign written as its escape.

    >>> plain_text("EUR"), plain_text("\x1b[31mred\u202e")
    ('EUR', '\\x1b[31mred\\u202e')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def plain_lines(text: str) -> str:
    """As ``plain_text``, but lines stay lines."""
    return "\n".join(map(plain_text, text.split("\n")))


def _shown(sign: str) -> str:
    if unicodedata.category(sign) not in HIDDEN:
        return sign
    return sign.encode("unicode_escape").decode("ascii")


class PlainFormatter(logging.Formatter):
    """Writes messages as plain text: they quote names and paths that others may have chosen."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """One line, whatever the message holds."""
        record.message = plain_text(record.message)
        return super().formatMessage(record)

    def formatException(self, problem: Any) -> str:
        """A traceback keeps its lines."""
        return plain_lines(super().formatException(problem))
