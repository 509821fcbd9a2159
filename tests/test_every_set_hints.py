"""What a set says to save work must be true: hints about how far a row is from its bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advmdp.kernels.model.row_status import BOUND
from tests.reference import set_kernels as ask
from tests.reference.instances import modest
from tests.reference.row_sets import LAYOUTS, Case, every_set
from tests.reference.set_kernels import RowProblem


@every_set
@given(seed=st.integers(0, 2**32 - 1), where=st.sampled_from(list(LAYOUTS)))
@modest
def test_hints_about_bounds_are_true(kind: type, seed: int, where: str) -> None:
    """``stays_inside`` is membership; a tilt narrower than one over the tightness stays inside."""
    case = Case.drawn(kind, LAYOUTS[where], seed)
    low, high = np.zeros(case.layout.n_entries), np.ones(case.layout.n_entries)
    ask.common_bounds(case.rows, low, high)
    graph = case.layout.graph()
    for r in np.flatnonzero(case.rows.status == BOUND):
        member = case.plain[r].near(case.rng)
        if case.plain[r].error(member) > 0.0:
            continue
        begin, end = case.layout.row_start[r : r + 2]
        assert (member >= low[begin:end] - 1e-12).all()
        assert (member <= high[begin:end] + 1e-12).all()
        if not ask.has_tightness(case.rows) or member.min() <= 0.0:
            continue
        problem = RowProblem(case.layout, int(r), np.log(member), np.zeros(graph.layer.size))
        chance, held = problem.measure.chance, problem.dual.held
        tight = ask.row_tightness(graph, r, chance, case.rows)
        assert tight <= 1.0 + 1e-12
        tilt = np.ones(case.layout.n_states)
        tilt[problem.successors] = case.rng.uniform(min(tight, 1.0), 1.0, end - begin)
        for factor in (1.0, case.rng.uniform(0.1, 1.0)):  # within the tightness, and anywhere
            tilt[problem.successors[0]] *= factor
            tilted = member * tilt[problem.successors]
            held.scale[r] = 1.0 / tilted.sum()
            error = case.plain[r].error(tilted * held.scale[r])
            assert factor < 1.0 or error <= 1e-14
            if error == 0.0 or error > 1e-14:
                inside = ask.stays_inside(graph, r, chance, tilt, case.rows, held)
                assert inside == (error == 0.0)
