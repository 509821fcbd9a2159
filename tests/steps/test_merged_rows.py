"""Free rows taken together give the same projection as rows looked at one by one.

The oracle is the same problem on a layout without lines, as sparse ones are: it shares the row
oracles, but every row is looked at in every evaluation.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from advmdp.kernels.model.graph import Graph
from tests.reference.instances import Instance, instances, modest, random_instance
from tests.reference.tables import box_error, flow_error, greatest_difference
from tests.steps.sets import layout_of


class Unpooled(am.Layout):
    """A layout whose states have no lines, as if it were sparse."""

    def lines(self) -> Graph:
        return self.graph()._replace(
            n_actions=1, row_start=np.zeros(self.n_states, dtype=np.uint32)
        )


def unpooled(layout: am.Layout) -> am.Layout:
    """The same layout, on which nothing is pooled."""
    return Unpooled(layout.layer_sizes, layout.n_actions)


def both(case: Instance) -> tuple[am.Projection, am.Projection]:
    """One projection with pooled rows, one without."""
    layout = layout_of(case)
    first, second = (
        am.project(case.weights, am.BoxSet(chosen, *case.box()))
        for chosen in (layout, unpooled(layout))
    )
    return first, second


@given(case=instances(widest=5))
@modest
def test_pooled_rows_change_nothing(case: Instance) -> None:
    pooled, single = both(case)
    assert greatest_difference(pooled.occupancy, single.occupancy) <= 1e-9
    assert abs(pooled.divergence - single.divergence) <= 1e-9 * (1.0 + single.divergence)
    assert box_error(pooled.occupancy, *case.box()) <= 1e-14
    assert flow_error(pooled.occupancy) <= 1e-12


@pytest.mark.parametrize("log_term", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("sizes", [(1, 9, 9, 1), (1, 15, 15, 1)])
def test_rows_that_meet_a_bound_on_the_way(sizes: tuple[int, ...], log_term: float) -> None:
    case = random_instance(3, sizes=sizes, most_visits=2000, log_term=log_term, tilt=1.0)
    pooled, single = both(case)
    assert greatest_difference(pooled.occupancy, single.occupancy) <= 1e-10
    assert box_error(pooled.occupancy, *case.box()) <= 1e-14


@pytest.mark.parametrize("eta_scale", [1.0, 20.0])
def test_what_is_known_of_a_row_lasts_from_episode_to_episode(eta_scale: float) -> None:
    # Rows meet their bounds, come free again, and get new bounds with every epoch.
    mdp = am.families.random_mdp((1, 4, 4, 1), 3, seed=2)
    rng = np.random.default_rng(5)
    learners = [
        am.UOBREPS(layout, n_episodes=400, log_scale=0.02, eta_scale=eta_scale)
        for layout in (mdp.layout, unpooled(mdp.layout))
    ]
    for _ in range(400):
        states, actions = [0], []
        for k in range(mdp.layout.n_layers):
            actions.append(int(rng.integers(3)))
            row = mdp.transitions[k][states[-1], actions[-1]]
            states.append(int(rng.choice(row.size, p=row / row.sum())))
        losses = rng.random(len(actions))
        for learner in learners:
            learner.update(am.Trajectory(states, actions, losses))
        box = learners[0].confidence_set()
        assert isinstance(box, am.BoxSet)
        assert box_error(learners[0].occupancy(), box.lower, box.upper) <= 1e-13
    ours, theirs = (learner.occupancy() for learner in learners)
    assert greatest_difference(ours, theirs) <= 1e-8


@given(seed=st.integers(0, 50), power=st.sampled_from([-120, -60, 60, 160]))
@modest
def test_weights_of_any_size_have_the_same_projection(seed: int, power: int) -> None:
    # 1e-60 and 1e160 are loaded through logarithms, weights near one are not
    case = random_instance(seed, sizes=(1, 3, 2, 1), most_visits=300, log_term=0.3)
    box = am.BoxSet(layout_of(case), *case.box())
    scaled = [layer * 10.0**power if k == 1 else layer for k, layer in enumerate(case.weights)]
    expected, found = am.project(case.weights, box), am.project(scaled, box)
    assert greatest_difference(expected.occupancy, found.occupancy) <= 1e-10
