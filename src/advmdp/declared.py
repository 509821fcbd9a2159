"""How a layout could be declared again: what a file must hold to bring it back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from advmdp.layout import Layout


def declared_successors(layout: Layout) -> list[NDArray[np.int64]] | None:
    """The support as it can be declared, in state numbers; None if everything is possible.

    ``Layout(layout.declared_sizes, layout.n_actions, these)`` is the layout again.  What was
    declared of pruned states is not known any more; they get successor 0, to no effect.
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


def declared_pools(layout: Layout) -> list[NDArray[np.int64]] | None:
    """``shared_rows`` as it can be declared; None if no rows share their counts.

    Rows of pruned states share with nobody.
    """
    if layout.row_pool is None:
        return None
    tables, alone = [], layout.n_rows
    for k, size in enumerate(layout.declared_sizes[:-1]):
        table = np.arange(alone, alone + size * layout.n_actions).reshape(size, layout.n_actions)
        alone += table.size
        pools = layout.row_pool[layout.layer_rows(k)]
        table[layout.original_state[k]] = pools.reshape(-1, layout.n_actions)
        tables.append(table)
    return tables
