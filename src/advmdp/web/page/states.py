"""States of views and the changes between them: what streams of events carry."""

from __future__ import annotations

import json
from typing import Any

from advmdp.plain_text import plain_lines

State = dict[str, dict[str, Any]]
"""Sections of entries; entries are plain JSON values."""
Change = dict[str, dict[str, Any]]
"""``{"set": {section: {key: entry}}, "drop": {section: [key]}}``; empty if nothing differs."""


def change_between(old: State, new: State) -> Change:
    """What has to be done to ``old`` so that it becomes ``new``.

    >>> change_between({"runs": {"a": 1, "b": 2}}, {"runs": {"a": 1, "c": 3}})
    {'set': {'runs': {'c': 3}}, 'drop': {'runs': ['b']}}
    >>> change_between({"runs": {}}, {"runs": {}})
    {}
    """
    added: dict[str, Any] = {}
    dropped: dict[str, Any] = {}
    for section in new.keys() | old.keys():
        before, after = old.get(section, {}), new.get(section, {})
        differing = {
            key: entry for key, entry in after.items() if key not in before or before[key] != entry
        }
        if differing or (section in new and section not in old):
            added[section] = differing
        gone = [key for key in before if key not in after]
        if gone:
            dropped[section] = gone
    return {name: part for name, part in (("set", added), ("drop", dropped)) if part}


def event(name: str, data: Any, number: int) -> bytes:
    """One event of a stream; texts are made plain, numbers must be finite."""
    text = json.dumps(plain(data), allow_nan=False, separators=(",", ":"))
    return f"id: {number}\nevent: {name}\ndata: {text}\n\n".encode()


def plain(data: Any) -> Any:
    """The data with signs in place of all control characters, in values and keys."""
    if isinstance(data, str):
        return plain_lines(data)
    if isinstance(data, dict):
        return {plain_lines(str(key)): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    return data
