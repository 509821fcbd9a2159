"""Known rows stay known: in files, in the rounds of ``Doubling``, from start states, on a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.model.row_status import KNOWN
from advmdp.kernels.sets.interface import learns_from_counts
from advmdp.layout.start_view import start_views
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.fpop import FPOP
from advmdp.learners.occupancy_learner import OccupancyLearner
from advmdp.learners.policy_optimisation.bandit import BanditPolicyOptimisation
from advmdp.learners.stochastic.ucrl2 import UCRL2
from tests.batch.simulator import simulate
from tests.reference.contract import (
    COMPILED,
    assert_same_state,
    doubling,
    follow,
    knowing,
    made,
)
from tests.reference.shadow import worlds
from tests.reference.start_worlds import N_EPISODES as N_STARTS
from tests.reference.start_worlds import WORLDS as STARTS
from tests.reference.start_worlds import changing, starts_of
from tests.reference.tables import greatest_difference

BANDIT: dict[str, float] = {"eta": 0.1, "gamma": 0.05}


WITH_SETS = [
    name
    for name, entry in LEARNERS.items()
    if issubclass(entry.make, OccupancyLearner | FPOP | UCRL2 | BanditPolicyOptimisation)
    and not entry.knows_transition
]


def test_every_learner_with_a_confidence_set_is_among_them() -> None:
    names = [name for name in COMPILED if not LEARNERS[name].knows_transition]
    states = [made(name, worlds()["dense"])._state for name in names]
    rows = [getattr(getattr(state, "belief", state), "rows", None) for state in states]
    learning = [r is not None and learns_from_counts(r) for r in rows]
    assert [name for name, learns in zip(names, learning, strict=True) if learns] == WITH_SETS


@pytest.mark.parametrize("world", [*worlds(), "pooled"])
@pytest.mark.parametrize("name", WITH_SETS)
def test_a_loaded_learner_knows_the_same_rows(name: str, world: str, tmp_path: Path) -> None:
    every = worlds() | {"pooled": am.families.river_swim(4, 6, pooled=True)}
    mdp = knowing(every[world], 0.5, seed=1)
    learner = made(name, mdp)
    follow(learner, mdp, 0, 17)
    learner.save(tmp_path / "learner")
    loaded = am.load(tmp_path / "learner")
    for ours, theirs in zip(learner.layout.known, loaded.layout.known, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(follow(loaded, mdp, 17, 40), follow(learner, mdp, 17, 40))
    assert_same_state(loaded, learner)


@pytest.mark.parametrize("name", ["uob-reps", "uc-o-reps", "fpop"])
def test_every_round_of_doubling_knows_the_same_rows(name: str, tmp_path: Path) -> None:
    mdp = knowing(worlds()["dense"], 0.5, seed=1)
    learner = doubling(name, mdp, first=5)
    follow(learner, mdp, 0, 40)
    assert learner.round == 4
    assert np.array_equal(learner.learner._state.rows.status == KNOWN, mdp.layout.known[0])
    learner.save(tmp_path / "learner")
    loaded = am.load(tmp_path / "learner")
    assert np.array_equal(follow(loaded, mdp, 40, 60), follow(learner, mdp, 40, 60))


def test_doubling_with_all_rows_known_is_that_of_the_twin() -> None:
    mdp = worlds()["dense"]
    learner = doubling("uob-reps", knowing(mdp, 1.1), first=20, **BANDIT)
    twin = doubling("o-reps-bandit", mdp, first=20, **BANDIT)
    assert np.allclose(follow(learner, mdp, 0, 120), follow(twin, mdp, 0, 120), rtol=0, atol=1e-9)


@pytest.mark.parametrize("world", STARTS)
def test_views_from_start_states_know_the_same_rows(world: str) -> None:
    mdp = STARTS[world]
    told, chance = knowing(mdp, 0.5, seed=5), np.array(mdp.flat)
    for view in start_views(told.layout):
        known, transition = view.layout.known
        assert np.array_equal(known, told.layout.known[0][view.rows])
        entries = np.repeat(known, view.layout.row_sizes())
        assert np.array_equal(transition[entries], chance[view.entries][entries])
    assert all(view.layout.known is None for view in start_views(mdp.layout))


@pytest.mark.parametrize("world", STARTS)
def test_learners_of_several_start_states_with_all_rows_known_are_the_twins(world: str) -> None:
    mdp = STARTS[world]
    told, chance = knowing(mdp, 1.1), np.array(mdp.flat)
    learners = am.PerStart(told.layout, lambda v: am.UOBREPS(v.layout, N_STARTS, **BANDIT))
    twins = [
        am.OREPSBandit(v.layout, v.layout.triples(chance[v.entries]), N_STARTS, **BANDIT)
        for v in start_views(mdp.layout)
    ]
    runs = [
        am.play_starts(on, changing(mdp), group, starts_of(mdp), N_STARTS)
        for on, group in ((told, learners), (mdp, twins))
    ]
    assert np.allclose(runs[0].regret, runs[1].regret, rtol=0, atol=1e-7)
    for learner, twin in zip(learners, twins, strict=True):
        assert greatest_difference(learner.policy(), twin.policy()) <= 1e-9
        assert learner.epoch == 1


ON_THE_CARD = """
N = 9
told = [mdp.with_known_rows(np.arange(LAYOUT.n_rows) % 3 == 0) for mdp in MDPS]
for name in ("uob-reps", "uc-o-reps", "bandit-uc-o-reps-shifted", "fpop", "ucrl2"):
    eager = {"log_scale": 0.001} if name != "ucrl2" else {"transition_scale": 0.001}
    batch = [
        BatchRun(mdp, am.losses.Stochastic(TABLES[i]), make(name, N, mdp, **eager), seed=i)
        for i, mdp in enumerate(told)
    ]
    for run, result in zip(batch, play_batch(batch, N, width=2), strict=True):
        learner = make(name, N, run.mdp, **eager)
        assert_same(result, am.play(run.mdp, run.losses, learner, N, seed=run.seed))
    print(name)
"""


def test_batches_on_a_gpu_know_the_same_rows() -> None:
    assert len(simulate(ON_THE_CARD).split()) == 5
