"""Lemma 1: what conserves flow is an occupancy measure, of P^q and pi^q.

The flows are built without the package: a mixture of trajectories satisfies Eqs. (1) and (2), and
sparse or lopsided mixtures lie on the boundary, where q(x, a) = 0 or is as small as floats get.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from advmdp.claims.chances import judged
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.claims.worlds import seeded, shape_name
from advmdp.layout import Floats, Layout, Table
from advmdp.steps import occupancy as steps

SHAPES = (((1, 1), 3), ((1, 2, 1), 2), ((1, 3, 3, 1), 2), ((1, 5, 2, 4, 1), 3), ((1, 20, 20, 1), 4))
TOLERANCE = 1e-12
ENUMERABLE = 500  # trajectories


@dataclass
class _Errors:
    there: float = 0.0
    """Largest |occupancy(P^q, pi^q) - q|, and its largest ratio to q where q > 0."""
    relative: float = 0.0
    back: float = 0.0
    """Largest |P^q - P| and |pi^q - pi| for q = q^{P, pi}, where q(x, a) > 0."""
    definition: float = 0.0
    """Largest |q^{P, pi} - Pr[x, a, x']|, the probability summed over trajectories."""
    control: float = np.inf
    """Least |occupancy(P^q, pi^q) - q| for tables that do not conserve flow: must be seen."""


def measure(lab: Lab) -> Finding:
    """The claim at the lab's effort."""
    return seeded(lab, examine(40 if lab.quick else 1000, lab.rng("occupancy")))


def examine(n_cases: int, rng: np.random.Generator) -> Finding:
    """``n_cases`` of each kind on each shape."""
    errors = _Errors()
    for sizes, n_actions in SHAPES:
        layout = Layout(sizes, n_actions)
        for _ in range(n_cases):
            for n_paths, decades in ((1, 0), (3, 0), (50, 0), (50, 300)):
                _there(layout, _mixture(layout, rng, n_paths, decades), errors)
            _back(layout, rng, errors)
        if max(sizes) > 1:
            errors.control = min(errors.control, _control(layout, rng))
    figures = {name: float(value) for name, value in vars(errors).items()}
    worst = max(errors.there, errors.relative, errors.back, errors.definition)
    return Finding(
        claim="occupancy measures",
        reference="Lemma 1",
        checked=(
            "measure -> (P^q, pi^q) -> measure for mixtures of trajectories (single ones, sparse, "
            "dense, weights down to 1e-300); (P, pi) -> measure -> (P, pi); q^{P,pi} against sums "
            "over all trajectories"
        ),
        instances=(
            f"{', '.join(shape_name(*shape) for shape in SHAPES)}; {5 * n_cases} measures each"
        ),
        measured=(
            f"largest error {worst:.1e} (relative error of entries included); a table that breaks "
            f"the flow comes back changed by at least {errors.control:.1e}"
        ),
        bound=f"0 up to rounding ({TOLERANCE:.0e})",
        margin=f"{worst / TOLERANCE:.1%} of the tolerance",
        verdict=judged(worst <= TOLERANCE, can_fail=errors.control > TOLERANCE),
        data=figures,
    )


def _there(layout: Layout, q: Floats, errors: _Errors) -> None:
    again = _round_trip(layout, q)
    away = abs(again - q)
    errors.there = max(errors.there, float(away.max()))
    errors.relative = max(errors.relative, float((away[q > 0] / q[q > 0]).max()))


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


def _back(layout: Layout, rng: np.random.Generator, errors: _Errors) -> None:
    """From a random interior (P, pi) to its measure and back."""
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
    errors.back = max(errors.back, *(float(abs(a - b).max()) for a, b in pairs))
    if np.prod([n * n_actions for n in sizes[:-1]]) <= ENUMERABLE:
        truth = _by_enumeration(layout, transition, policy)
        away = abs(layout.flat_triples(q) - layout.flat_triples(truth)).max()
        errors.definition = max(errors.definition, float(away))


def _by_enumeration(layout: Layout, transition: Table, policy: Table) -> Table:
    """Pr[x_k = x, a_k = a, x_{k+1} = x'] from the definition."""
    table = layout.triples(np.zeros(layout.n_entries))
    layers = range(layout.n_layers)
    for states in product(*(range(n) for n in layout.layer_sizes)):
        for actions in product(*(range(layout.n_actions) for _ in layers)):
            steps_taken = [(k, states[k], actions[k], states[k + 1]) for k in layers]
            chance = np.prod(
                [policy[k][x, a] * transition[k][x, a, y] for k, x, a, y in steps_taken]
            )
            for k, x, a, y in steps_taken:
                table[k][x, a, y] += chance
    return table


def _control(layout: Layout, rng: np.random.Generator) -> float:
    """A table whose layers sum to one but whose flow leaks: the round trip must not return it."""
    q = _mixture(layout, rng, 50, 0)
    entries = layout.layer_entries(layout.n_layers - 1)
    order = rng.permutation(entries.stop - entries.start) + entries.start
    q[order[0]] += 0.1  # the last layer now leaves states more often than they are entered
    q[entries] /= q[entries].sum()
    return float(abs(_round_trip(layout, q) - q).max())
