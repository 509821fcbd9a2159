"""Lemma 1: a table that conserves flow is an occupancy measure, namely that of P^q and pi^q.

The tables are built without the package: a mixture of trajectories satisfies Eqs. (1) and (2), and
sparse or lopsided mixtures lie on the boundary, where q(x, a) is 0 or as small as floats get.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import verdict_of
from advmdp.claims.lab import Lab
from advmdp.claims.playing.random_instances import shape_name
from advmdp.layout import Floats, Layout, Table
from advmdp.steps import occupancy as steps

SHAPES = (((1, 1), 3), ((1, 2, 1), 2), ((1, 3, 3, 1), 2), ((1, 5, 2, 4, 1), 3), ((1, 20, 20, 1), 4))
MIXTURES = ((1, 0), (3, 0), (50, 0), (50, 300))
"""Numbers of trajectories, and powers of ten that their weights span."""
TOLERANCE = 1e-12
ENUMERABLE = 500  # trajectories


class Effort(NamedTuple):
    """How many measures of each kind to take on each shape."""

    n_cases: int


class Measurement(NamedTuple):
    """The largest errors over all cases."""

    effort: Effort
    there: float
    """Largest |occupancy(P^q, pi^q) - q|."""
    relative: float
    """The largest ratio of that error to q, where q > 0."""
    back: float
    """Largest |P^q - P| and |pi^q - pi| for q = q^{P, pi}, where q(x, a) > 0."""
    definition: float
    """Largest |q^{P, pi} - Pr[x, a, x']|, the probability summed over trajectories."""
    control: float
    """Least |occupancy(P^q, pi^q) - q| for tables that do not conserve flow."""


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Round trips in both directions, and a control with tables that leak."""
    rng = lab.rng("occupancy")
    there, relative, back, definition, control = [0.0], [0.0], [0.0], [0.0], []
    for sizes, n_actions in SHAPES:
        layout = Layout(sizes, n_actions)
        for _ in range(effort.n_cases):
            for n_paths, decades in MIXTURES:
                q = _mixture(layout, rng, n_paths, decades)
                away = abs(_round_trip(layout, q) - q)
                there.append(float(away.max()))
                relative.append(float((away[q > 0] / q[q > 0]).max()))
            returned, enumerated = _from_transition_and_policy(layout, rng)
            back.append(returned)
            definition.append(enumerated)
        if max(sizes) > 1:
            control.append(_leaking_control(layout, rng))
    errors = (max(there), max(relative), max(back), max(definition))
    return Measurement(effort, *errors, control=min(control))


def judge(measurement: Measurement) -> Judgement:
    """Every error is rounding, and a table that leaks does not come back unchanged."""
    errors = {name: value for name, value in measurement._asdict().items() if name != "effort"}
    control = measurement.control
    worst = max(value for name, value in errors.items() if name != "control")
    return Judgement(
        verdict_of(worst <= TOLERANCE, can_fail=control > TOLERANCE),
        figures={
            "n_measures": 5 * measurement.effort.n_cases,
            "worst": worst,
            "control": control,
            "share": worst / TOLERANCE,
        },
        data=errors,
    )


CLAIM = Claim(
    "occupancy-measures",
    Description(
        statement="occupancy measures",
        reference="Lemma 1",
        checked=(
            "measure -> (P^q, pi^q) -> measure for mixtures of trajectories (single ones, sparse, "
            "dense, weights down to 1e-300); (P, pi) -> measure -> (P, pi); q^{P,pi} against sums "
            "over all trajectories"
        ),
        instances=(
            f"{', '.join(shape_name(*shape) for shape in SHAPES)}; {{n_measures}} measures each"
        ),
        measured=(
            "largest error {worst:.1e} (relative error of entries included); a table that breaks "
            "the flow comes back changed by at least {control:.1e}"
        ),
        bound=f"0 up to rounding ({TOLERANCE:.0e})",
        margin="{share:.1%} of the tolerance",
    ),
    quick=Effort(40),
    full=Effort(1000),
    measure_at=measure,
    judge=judge,
)


def _round_trip(layout: Layout, q: Floats) -> Floats:
    table = layout.triples(q)
    transition, policy = steps.transition_of(table, layout), steps.policy_of(table, layout)
    return layout.flat_triples(steps.occupancy_measure(transition, policy, layout))


def _mixture(layout: Layout, rng: np.random.Generator, n_paths: int, decades: int) -> Floats:
    """A mixture of random trajectories whose weights span so many powers of ten."""
    weights = rng.exponential(size=n_paths) * 10.0 ** -rng.uniform(0, max(decades, 1), n_paths)
    if not decades:
        weights = rng.exponential(size=n_paths)
    q = layout.triples(np.zeros(layout.n_entries))
    sizes = layout.layer_sizes
    for weight in weights / weights.sum():
        states = [int(rng.integers(n)) for n in sizes]
        for k in range(layout.n_layers):
            q[k][states[k], rng.integers(layout.n_actions), states[k + 1]] += weight
    return layout.flat_triples(q)


def _from_transition_and_policy(layout: Layout, rng: np.random.Generator) -> tuple[float, float]:
    """Errors of (P, pi) -> measure -> (P, pi) and of the measure, for random interior (P, pi).

    The second is 0 where there are too many trajectories to enumerate.
    """
    sizes, n_actions = layout.layer_sizes, layout.n_actions
    transition = [
        rng.dirichlet(np.ones(sizes[k + 1]), (sizes[k], n_actions)) for k in range(layout.n_layers)
    ]
    policy = [rng.dirichlet(np.ones(n_actions), n) for n in sizes[:-1]]
    q = steps.occupancy_measure(transition, policy, layout)
    pairs = zip(
        [*transition, *policy],
        [*steps.transition_of(q, layout), *steps.policy_of(q, layout)],
        strict=True,
    )
    returned = max(float(abs(a - b).max()) for a, b in pairs)
    if np.prod([n * n_actions for n in sizes[:-1]]) > ENUMERABLE:
        return returned, 0.0
    truth = _by_enumeration(layout, transition, policy)
    return returned, float(abs(layout.flat_triples(q) - layout.flat_triples(truth)).max())


def _by_enumeration(layout: Layout, transition: Table, policy: Table) -> Table:
    """Pr[x_k = x, a_k = a, x_{k+1} = x'] from the definition."""
    table = layout.triples(np.zeros(layout.n_entries))
    layers = range(layout.n_layers)
    for states in product(*(range(n) for n in layout.layer_sizes)):
        for actions in product(*(range(layout.n_actions) for _ in layers)):
            path = [(k, states[k], actions[k], states[k + 1]) for k in layers]
            chance = np.prod([policy[k][x, a] * transition[k][x, a, y] for k, x, a, y in path])
            for k, x, a, y in path:
                table[k][x, a, y] += chance
    return table


def _leaking_control(layout: Layout, rng: np.random.Generator) -> float:
    """The change of a table whose layers sum to one but whose flow leaks, in a round trip."""
    q = _mixture(layout, rng, 50, 0)
    entries = layout.layer_entries(layout.n_layers - 1)
    order = rng.permutation(entries.stop - entries.start) + entries.start
    q[order[0]] += 0.1  # the last layer now leaves states more often than they are entered
    q[entries] /= q[entries].sum()
    return float(abs(_round_trip(layout, q) - q).max())
