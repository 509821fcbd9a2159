"""A layout as the arguments of ``Layout``: what a file stores to build it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.layout import Layout

NAMES = ("state_names", "action_names")


def declared_successors(layout: Layout) -> list[NDArray[np.int64]] | None:
    """The argument ``successors`` of a layout, in state numbers; None for a dense layout.

    ``Layout(layout.declared_sizes, layout.n_actions, declared_successors(layout))`` equals
    ``layout``.  The layout does not keep the successors of pruned states; they get successor 0,
    which has no effect because they are pruned again.
    """
    if layout.is_dense:
        return None
    tables = []
    for k in range(layout.n_layers):
        size = layout.row_sizes()[layout.layer_rows(k)][:, None]
        rows = np.full((len(size), int(size.max())), -1)
        targets = layout.successor[layout.layer_entries(k)] - int(layout.layer_start[k + 1])
        rows[np.arange(rows.shape[1]) < size] = layout.original_state[k + 1][targets]
        table = np.zeros((layout.declared_sizes[k], layout.n_actions, rows.shape[1]), np.int64)
        table[layout.original_state[k]] = rows.reshape(-1, *table.shape[1:])
        tables.append(table)
    return tables


def shared_row_tables(layout: Layout) -> list[NDArray[np.int64]] | None:
    """The argument ``shared_rows`` of a layout; None if no rows share their counts.

    Every row of a pruned state gets a pool of its own.
    """
    if layout.counter_row is None:
        return None
    tables, alone = [], layout.n_rows
    for k, size in enumerate(layout.declared_sizes[:-1]):
        table = np.arange(alone, alone + size * layout.n_actions).reshape(size, layout.n_actions)
        alone += table.size
        pools = layout.counter_row[layout.layer_rows(k)]
        table[layout.original_state[k]] = pools.reshape(-1, layout.n_actions)
        tables.append(table)
    return tables


def described_actions_and_names(layout: Layout) -> dict[str, Any]:
    """The numbers of actions where they differ, ``state_names`` and ``action_names`` if any.

    Layers with the same names, as those of an MDP that is expanded over time, are listed once.
    """
    described: dict[str, Any] = {}
    if layout.declared_counts is not None:
        described["action_counts"] = [counts.tolist() for counts in layout.declared_counts]
    if layout.rest_loss is not None:
        described["rest_loss"] = layout.rest_loss
    for name, given in zip(NAMES, layout.names, strict=True):
        if given is None:
            continue
        lists = list(dict.fromkeys(given))
        described[name] = {"lists": lists, "layers": [lists.index(each) for each in given]}
    return described


def names_again(described: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that ``described_actions_and_names`` described."""
    found = {name: described[name] for name in NAMES if name in described}
    return {name: [each["lists"][i] for i in each["layers"]] for name, each in found.items()}
