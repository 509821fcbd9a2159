"""A learner as a reader names it, and its label, which has its source and parameters too."""

from __future__ import annotations

import re
from collections.abc import Collection

from advmdp.errors import InvalidInput

SOURCE = re.compile(r"@[0-9a-f]{8}(?= |$)")


def label_of(name: str, labels: Collection[str], field: str, where: str = "") -> str:
    """The label that a name stands for: itself, or the only one that adds a source or parameters.

    Nobody knows the hash of a source file before the runs are made, and it changes with every edit.

    >>> label_of("mine:Hedge", ["mine:Hedge@107b7c76 rate=2", "uniform"], "baseline")
    'mine:Hedge@107b7c76 rate=2'
    """
    if name in labels:
        return name
    bare = {label: SOURCE.sub("", label) for label in labels}
    meant = [label for label in labels if bare[label] == name]
    meant = meant or [label for label in labels if bare[label].split(" ")[0] == name]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InvalidInput(f"'{name}' may be {' or '.join(meant)}; give all of it", field=field)
    there = ", ".join(sorted(labels))
    raise InvalidInput(f"no learner '{name}'{where}; there are {there}", field=field)
