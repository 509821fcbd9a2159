"""Products with the Hessian for rows in packs (``kl/packs``): eight rows at a time.

With v a vector over states,  d = <p, v> - here  of a row, and  one  the mean of v over its free
entries, the row adds to  (Hessian of G) v

    m p(x') d + m f(x') (v(x') - one)            f: p on its free entries, zero on clipped ones,

so first every pack finds the two sums of its rows, and then all packs of a layer are added up, a
successor at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...lanes.packs import over_pack
from ...lanes.registers import in_registers, repeat
from ...lanes.vectors import N_LANES, Lanes
from ...model.graph import Floats, Graph, layer_end, owner_of
from ...runtime.targets import leaf
from ...sets.held import is_written
from ..dual import Dual
from ..packs import begin_of, has_packs, slot_in, width_of


def _pull_entry(lanes: Lanes, p: Any, free: Any, v: Any, *rest: Any) -> Sequence[Any]:
    return [lanes.times(p, v), lanes.times(lanes.larger(free, lanes.every(0.0)), v)]


def _pull_finish(
    lanes: Lanes, dot: Any, one: Any, here: Any, across: Any, moving: Any, mass: Any
) -> Sequence[Any]:
    nothing = lanes.every(0.0)
    some = lanes.less(nothing, mass)
    mean = lanes.where(some, lanes.over(one, lanes.where(some, mass, lanes.every(1.0))), nothing)
    along = lanes.times(moving, lanes.subtract(dot, here))
    return [along, lanes.subtract(nothing, lanes.times(moving, mean))]


@over_pack(_pull_entry, _pull_finish, tables=2, numbers=4, sums=2, stores=[0, 1])
def pull_pack(
    chance: Floats,
    free: Floats,
    begin: int,
    vector: Floats,
    first: int,
    along: Floats,
    across: Floats,
    moving: Floats,
    mass: Floats,
    slot: int,
    size: int,
) -> None:
    """along = m (<p, v> - along)  and  across = -m (mean of v over the free entries)."""
    for i in range(N_LANES):
        total = 0.0
        one = 0.0
        for j in range(size):
            e = begin + N_LANES * j + i
            total += chance[e] * vector[first + j]
            one += max(free[e], 0.0) * vector[first + j]
        mean = one / mass[slot + i] if mass[slot + i] > 0.0 else 0.0
        along[slot + i] = moving[slot + i] * (total - along[slot + i])
        across[slot + i] = -(moving[slot + i] * mean)


def _spread_pulls(
    builder: Any,
    chance: Any,
    free: Any,
    begin: Any,
    n_packs: Any,
    size: Any,
    along: Any,
    across: Any,
    moving: Any,
    slot: Any,
    vector: Any,
    out: Any,
    first: Any,
) -> None:
    lanes = Lanes(builder, size)
    stride = builder.mul(size, size.type(N_LANES))

    def column(j: Any, held: Sequence[Any]) -> list[Any]:
        at = builder.add(begin, builder.mul(j, j.type(N_LANES)))
        v = lanes.spread(builder.load(builder.gep(vector, [builder.add(first, j)])))

        def more(i: Any, held: Sequence[Any]) -> list[Any]:
            there = builder.add(at, builder.mul(i, stride))
            here = builder.add(slot, builder.mul(i, i.type(N_LANES)))
            p, f = (lanes.load(builder.gep(table, [there])) for table in (chance, free))
            a, b, m = (lanes.load(builder.gep(row, [here])) for row in (along, across, moving))
            own = lanes.times(lanes.larger(f, lanes.every(0.0)), lanes.add(b, lanes.times(m, v)))
            return [lanes.add(held[0], lanes.add(lanes.times(a, p), own))]

        (total,) = repeat(builder, n_packs, [lanes.every(0.0)], more)
        place = builder.gep(out, [builder.add(first, j)])
        builder.store(builder.fadd(builder.load(place), lanes.tree(total, lanes.add)), place)
        return []

    repeat(builder, size, [], column)


@in_registers(_spread_pulls)
def spread_pulls(
    chance: Floats,
    free: Floats,
    begin: int,
    n_packs: int,
    size: int,
    along: Floats,
    across: Floats,
    moving: Floats,
    slot: int,
    vector: Floats,
    out: Floats,
    first: int,
) -> None:
    """Add  along p + f (across + moving v)  of all rows of some packs, at least one, to ``out``."""
    for j in range(size):
        total = 0.0
        for row in range(N_LANES * n_packs):
            e = begin + N_LANES * size * (row // N_LANES) + N_LANES * j + row % N_LANES
            own = across[slot + row] + moving[slot + row] * vector[first + j]
            total += along[slot + row] * chance[e] + max(free[e], 0.0) * own
        out[first + j] += total


@leaf
def packs_times(graph: Graph, k: int, dual: Dual, v: Floats, mean: float, out: Floats) -> None:
    """What the rows in packs of layer k add to ``curvature_times``; ``along`` is left behind.

    ``mean`` is that of  <p, v> - v(x)  over all rows of the layer.
    """
    packed = dual.packed
    if not has_packs(dual) or packed.n_packs[k] == 0:
        return
    size = width_of(packed, k)
    there = layer_end(graph, k)
    first = slot_in(packed, k, 0)
    for i in range(first, first + N_LANES * packed.n_packs[k]):
        r = packed.row[i]
        own = packed.slot[r] == i and is_written(dual.held, r)
        packed.moving[i] = dual.flows.row_mass[r] if own else 0.0
        packed.along[i] = mean + v[owner_of(graph, r)]
    for i in range(packed.n_packs[k]):
        pull_pack(
            packed.chance, packed.free, begin_of(packed, k, i, size), v, there, packed.along,
            packed.across, packed.moving, packed.mass, slot_in(packed, k, i), size,
        )  # fmt: skip
    spread_pulls(
        packed.chance, packed.free, begin_of(packed, k, 0, size), packed.n_packs[k], size,
        packed.along, packed.across, packed.moving, first, v, out, there,
    )  # fmt: skip
