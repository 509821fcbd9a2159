"""The regularised minimum over occupancy measures: what follow-the-regularised-leader plays.

    min over q in Omega(P) of  <q, C> + R(q)

for a known transition P, whose rows may sum to less than one (the rest ends the episode), solved
through the dual over flow multipliers (``advmdp.kernels.ftrl.dual``) and certified: the result
conserves flow exactly, and its duality gap says how far from optimal it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.kernels.ftrl.dual import FixedDual
from advmdp.kernels.ftrl.fixed_measure import FixedMeasure
from advmdp.kernels.ftrl.minimum import mass_response, minimise_costs
from advmdp.kernels.ftrl.regulariser import Regulariser
from advmdp.kernels.model.measure import join
from advmdp.kernels.runtime.targets import machine_code
from advmdp.layout import Floats, Layout
from advmdp.steps.confidence import BoxSet, ConfidenceSet, KnownTransition, L1Set
from advmdp.steps.constraints import (
    Inner,
    checked_constraints,
    find_multipliers,
    minimum_under,
)
from advmdp.steps.ftrl_workspace import new_fixed_dual, new_fixed_measure
from advmdp.steps.minimise_triples import minimise_over_set
from advmdp.steps.minimum import (
    Minimum,
    PartialTransition,
    is_triple_table,
    solve_certified,
)
from advmdp.steps.regularisers import AnyRegulariser, checked_regulariser
from advmdp.steps.spare import Spare


def minimise(
    cost: Any,
    transitions: KnownTransition | PartialTransition | BoxSet | L1Set,
    regulariser: AnyRegulariser,
    constraints: Any = None,
) -> Minimum:
    """The minimum of <q, cost> + R(q) over occupancy measures.

    Parameters
    ----------
    cost
        A pair table, of any sign, or a triple table: q(x, a, x') = q(x, a) P(x' | x, a).
    transitions
        A ``KnownTransition``, or a ``PartialTransition`` whose rows may sum to less than one; with
        a regulariser on triples also a ``BoxSet``, or an ``L1Set`` without a floor.
    regulariser
        ``Entropy``, ``Tsallis`` or ``LogBarrier``, on pairs or on triples.
    constraints
        A list of (pair table g, limit): <g, q> <= limit.  The answer keeps to them up to 1e-9.

    A regulariser on pairs over a set is refused: its dual has kinks at the optimum.  States that
    the transition does not lead to take no part in the sums.

    >>> layout = Layout(layer_sizes=(1, 1), n_actions=2)
    >>> known = KnownTransition(layout, [np.ones((1, 2, 1))])
    >>> from advmdp.steps.regularisers import LogBarrier
    >>> result = minimise([np.array([[0.0, 3.0]])], known, LogBarrier(1.0))
    >>> result.occupancy[0].round(4).ravel()    # 1 / (C - v) with sum one: v = (1 - 13 ** 0.5) / 2
    array([0.7676, 0.2324])
    >>> result.converged, bool(result.gap < 1e-12)
    (True, True)
    """
    if checked_regulariser(regulariser).on == "triples":
        return minimise_over_set(cost, transitions, regulariser, constraints)
    layout, chance = _fixed_transition(transitions)
    record = regulariser.record(layout)
    limited = checked_constraints(layout, constraints)
    costs = _pair_costs(layout, cost, chance)
    work = _SPARE.borrow(layout)
    problem = _Problem(layout, chance, costs, record, limited.tables, work)
    found = find_multipliers(limited, problem.minimum)
    answer = minimum_under(layout, problem.occupancy(), limited, found, problem)
    _SPARE.give_back(layout, work)
    return answer


class _Work(NamedTuple):
    """Work space of a minimum, without the transition."""

    measure: FixedMeasure
    dual: FixedDual


def _new_work(layout: Layout) -> _Work:
    return _Work(new_fixed_measure(layout, np.zeros(0)), new_fixed_dual(layout))


_SPARE = Spare(_new_work)


class _Problem:
    """The minimum for any multipliers of the constraints, with its work space."""

    def __init__(
        self,
        layout: Layout,
        chance: Floats,
        costs: Floats,
        record: Regulariser,
        tables: Floats,
        work: _Work,
    ) -> None:
        self.graph, self.measure = layout.graph(), work.measure._replace(chance=chance)
        self.dual, self.iterations = work.dual, 0
        self._costs, self._record, self._tables = costs, record, tables

    def minimum(self, multipliers: Floats) -> Inner:
        """The minimum of <q, cost + multipliers * tables> + R(q)."""
        costs = self._costs + multipliers @ self._tables if len(multipliers) else self._costs
        work = (self.graph, costs, self.measure, self._record, self.dual)
        self.iterations += solve_certified(
            lambda in_logs: _solve(work, in_logs), self.dual.certificate
        )
        # the value minus the dual value is the gap, without cancellation
        _, gap, dual_value = self.dual.certificate.figures.tolist()
        by_state = (-1, self.graph.n_actions)
        q = self.measure.mass[:-1, np.newaxis] * self.measure.policy.reshape(by_state)
        return Inner(dual_value + gap, q.ravel(), self._responses)

    def occupancy(self) -> Floats:
        """The last minimiser over entries."""
        q = np.empty(self.measure.chance.shape)
        _code_of(join, self.graph, self.measure, q)(self.graph, self.measure, q)
        return q

    def _responses(self) -> Floats:
        """How q changes with each multiplier, at the last minimum."""
        found = np.zeros_like(self._tables)
        for table, change in zip(self._tables, found, strict=True):
            mass_response(self.graph, self.measure, self.dual, table, change)
        return found


def _solve(work: tuple[Any, ...], in_logs: bool | None) -> bool:
    """One attempt; the first is at the machine code, where types are not looked up."""
    program: Callable[..., bool] = minimise_costs
    if in_logs is None:
        program = _code_of(minimise_costs, *work, in_logs)
    return program(*work, in_logs)


def _code_of(compiled: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """All arrays are made in this package, so that the types of arguments never change."""
    if compiled not in _MACHINE_CODE:
        _MACHINE_CODE[compiled] = machine_code(compiled, *arguments)
    return _MACHINE_CODE[compiled]


_MACHINE_CODE: dict[Callable[..., Any], Callable[..., Any]] = {}


def _fixed_transition(transitions: Any) -> tuple[Layout, Floats]:
    """The layout, and the transition over entries."""
    if isinstance(transitions, PartialTransition):
        return transitions.layout, transitions.chance.copy()
    if isinstance(transitions, KnownTransition):
        return transitions.layout, transitions.rows.transition.copy()
    if isinstance(transitions, ConfidenceSet):
        raise InvalidInput(
            "over a set of transitions the dual of a regulariser on pairs has kinks, where no "
            "minimum can be certified; give a KnownTransition",
            field="transitions",
        )
    raise InvalidInput(
        f"give a KnownTransition or a PartialTransition, not {shown(transitions)}",
        field="transitions",
    )


def _pair_costs(layout: Layout, cost: Any, chance: Floats) -> Floats:
    """Costs over rows; of a triple table those expected under the transition."""
    if not is_triple_table(layout, cost):
        return layout.flat_pairs(cost, "cost", fill=True)
    return np.add.reduceat(layout.flat_triples(cost, "cost") * chance, layout.row_start[:-1])
