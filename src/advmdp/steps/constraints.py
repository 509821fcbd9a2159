"""Linear constraints <g_i, q> <= limit_i on a regularised minimum, through their multipliers.

    max over zeta >= 0 of  min over q of  <q, C + sum of zeta_i g_i> + R(q) - <zeta, limit>

The inner minimum is one over all measures, with other costs; its derivative in zeta_i is
<g_i, q> - limit_i, and the second follows from how q reacts to its costs.  A projected Newton
method finds the few multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from advmdp.checks.arguments import is_sequence
from advmdp.checks.numbers import real_number, shown
from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.layout import Floats, Layout
from advmdp.steps.minimum import Minimum

TOLERANCE = 1e-9  # of <g_i, q> - limit_i, relative to the largest |g_i|
MOST_STEPS = 100
SHORTEST = 2.0**-40


class Constraints(NamedTuple):
    """<tables[i], q> <= limits[i]."""

    tables: Floats  # (m, R)
    limits: Floats  # (m,)


class Inner(NamedTuple):
    """The minimum for some multipliers."""

    value: float
    occupancy: Floats  # (R,) q(x, a)
    responses: Callable[[], Floats]
    """(m, R): how q changes with each multiplier."""


def checked_constraints(layout: Layout, constraints: Any) -> Constraints:
    """A list of (pair table, limit)."""
    if constraints is None:
        constraints = []
    if not is_sequence(constraints) or isinstance(constraints, str | bytes):
        raise InvalidInput(
            f"give a list of (pair table, limit), not {shown(constraints)}", field="constraints"
        )
    tables, limits = [], []
    for i, one in enumerate(constraints):
        if not isinstance(one, list | tuple) or len(one) != 2:
            raise InvalidInput("is not (pair table, limit)", field=f"constraints[{i}]")
        tables.append(layout.flat_pairs(one[0], f"constraints[{i}]"))
        limits.append(real_number(one[1], f"constraints[{i}], limit"))
    shape = (len(tables), layout.n_rows)
    return Constraints(np.array(tables).reshape(shape), np.array(limits))


Found = tuple[Floats, Inner, float]


def find_multipliers(constraints: Constraints, minimum: Callable[[Floats], Inner]) -> Found:
    """The multipliers, their minimum, and what they add to its duality gap."""
    tables, limits = constraints
    zeta = np.zeros(len(limits))
    inner = minimum(zeta)
    if len(limits) == 0:
        return zeta, inner, 0.0
    scale = 1.0 + np.abs(tables).max(axis=1)
    for _ in range(MOST_STEPS):
        excess = tables @ inner.occupancy - limits
        active = (zeta > 0.0) | (excess > 0.0)
        if (np.where(zeta > 0.0, np.abs(excess), excess) <= TOLERANCE * scale).all():
            return zeta, inner, float(np.sum(zeta * np.abs(excess)))
        zeta, inner = _step(constraints, minimum, zeta, inner, excess, active)
    raise UncertifiedStep(
        f"minimise: constraints are missed by {excess.max():.1e} after {MOST_STEPS} steps; "
        "check that some policy meets all of them"
    )


def minimum_under(
    layout: Layout, entries: Floats, constraints: Constraints, found: Found, problem: Any
) -> Minimum:
    """The answer of a problem, ``entries`` its measure, once the multipliers are found."""
    multipliers, inner, slack = found
    residual, gap, _ = problem.dual.certificate.figures.tolist()
    price = float(multipliers @ constraints.tables @ inner.occupancy) if len(multipliers) else 0.0
    return Minimum(
        occupancy=layout.triples(entries),
        value=inner.value - price,
        gap=gap + slack,
        flow_residual=residual,
        iterations=problem.iterations,
        converged=True,
        multipliers=tuple(multipliers.tolist()),
    )


def _step(
    constraints: Constraints,
    minimum: Callable[[Floats], Inner],
    zeta: Floats,
    inner: Inner,
    excess: Floats,
    active: Any,
) -> tuple[Floats, Inner]:
    """A Newton step for the active constraints, shortened until the dual value does not fall."""
    tables, limits = constraints
    curvature = -(tables[active] @ inner.responses()[active].T)
    ridge = 1e-12 * max(float(np.trace(curvature)), 1e-300)
    direction = np.zeros_like(zeta)
    direction[active] = np.linalg.solve(curvature + ridge * np.eye(len(curvature)), excess[active])
    before, step = inner.value - zeta @ limits, 1.0
    while step >= SHORTEST:
        trial = np.maximum(zeta + step * direction, 0.0)
        found = minimum(trial)
        after = found.value - trial @ limits
        if after >= before - 1e-12 * (1.0 + abs(before)):
            return trial, found
        step *= 0.5
    raise UncertifiedStep(
        "minimise: no step improves the multipliers of the constraints; "
        "check that some policy meets all of them"
    )
