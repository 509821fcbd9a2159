"""One learner for each context, and the contexts' way through ``play``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec
from advmdp.store import Store
from tests.experiments.sweeps import play_here
from tests.reference.contract import DENSE, assert_same_state, flat, losses_of

N = 120
CONTEXTS = np.resize([0, 0, 0, 0, 0, 1, 2], N)
TABLES = np.random.default_rng(2).normal(size=(N, DENSE.layout.n_rows))
LOSSES = am.losses.Replayed(TABLES, any_losses=True)


def planner() -> am.PerContext:
    return am.PerContext(am.EstimatedAdaFTRL, DENSE.layout, 3, forgetting=0.9, hint_weight=1.0)


def known() -> am.PerContext:
    return am.PerContext(am.AdaFTRL, DENSE.layout, 3, transitions=DENSE.transitions)


@pytest.mark.parametrize("make", [planner, known])
def test_both_loops_and_a_resumed_run_agree(make: Any) -> None:
    learners, snapshots = [make(), make(), make()], {}

    def keep(episodes: int, snapshot: Any) -> None:
        snapshots[episodes] = snapshot()

    fast = am.play(DENSE, LOSSES, learners[0], N, seed=3, contexts=CONTEXTS)
    slow = am.play(
        DENSE, LOSSES, learners[1], N, seed=3, contexts=CONTEXTS, compiled=False, keep=keep
    )
    resume = snapshots[61]
    again = am.play(DENSE, LOSSES, learners[2], N, seed=3, contexts=CONTEXTS, resume=resume)
    assert fast.compiled
    assert not slow.compiled
    for run in (slow, again):
        assert np.array_equal(run.expected_loss, fast.expected_loss)
        assert np.array_equal(run.realised_loss, fast.realised_loss)
    assert_same_state(learners[0], learners[1])
    assert_same_state(learners[0], learners[2])
    assert learners[0].episodes == N


def test_with_a_known_transition_contexts_are_learners_by_themselves() -> None:
    learner = known()
    alone = [am.AdaFTRL(DENSE.layout, DENSE.transitions) for _ in range(3)]
    for context, table in zip(CONTEXTS.tolist(), TABLES, strict=True):
        learner.enter(context)
        assert np.array_equal(flat(learner.policy()), flat(alone[context].policy()))
        learner.observe(table)
        alone[context].observe(table)


def test_counts_are_shared_and_used_by_all() -> None:
    learner = planner()
    am.play(DENSE, LOSSES, learner, N, seed=3, contexts=CONTEXTS)
    for context in (0, 1, 2):
        learner.enter(context)
        counted = learner.learners[context].state()["transition.pairs"]
        assert counted.sum() == N * DENSE.layout.n_layers
    learner.enter(1)
    entered = flat(learner.policy())
    learner.learners[1].renew()
    assert np.array_equal(flat(learner.policy()), entered)  # it had seen the others' counts


def test_it_is_kept_in_a_file(tmp_path: Path) -> None:
    learner = am.PerContext(am.planners.WindowPlanner, DENSE.layout, 3, window=4)
    am.play(DENSE, LOSSES, learner, 40, contexts=CONTEXTS)
    learner.save(tmp_path / "contexts.am")
    again = am.load(tmp_path / "contexts.am")
    assert_same_state(again, learner)
    for each in (learner, again):
        each.enter(2)
        each.observe(TABLES[41])
    assert np.array_equal(flat(again.policy()), flat(learner.policy()))


def test_a_learner_in_the_unit_interval_stays_there() -> None:
    learner = am.PerContext(am.UOBREPS, DENSE.layout, 3, n_episodes=N)
    with pytest.raises(am.InvalidInput, match=r"needs losses in \[0, 1\]"):
        am.play(DENSE, LOSSES, learner, N, contexts=CONTEXTS)
    run = am.play(DENSE, am.losses.Stochastic(losses_of(DENSE, 0)), learner, N, contexts=CONTEXTS)
    assert run.compiled


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (CONTEXTS[:5], r"contexts: give 120 numbers"),
        (CONTEXTS + 1, r"contexts: give numbers in 0\.\.2"),
        (CONTEXTS - 1, r"contexts: give numbers in 0\.\.2"),
        ([0.5] * N, r"contexts: .*whole numbers"),
    ],
)
def test_wrong_contexts_are_refused(contexts: Any, message: str) -> None:
    learner, twin = planner(), planner()
    with pytest.raises(am.InvalidInput, match=message):
        am.play(DENSE, LOSSES, learner, N, contexts=contexts)
    with pytest.raises(am.InvalidInput, match=r"context: 3 is not in 0\.\.2"):
        learner.enter(3)
    with pytest.raises(am.InvalidInput, match="contexts: Uniform takes none"):
        am.play(DENSE, LOSSES, am.Uniform(DENSE.layout), N, contexts=CONTEXTS)
    assert_same_state(learner, twin)


def test_states_that_do_not_fit_are_refused_without_a_trace() -> None:
    learner, twin = planner(), planner()
    for each in (learner, twin):
        am.play(DENSE, LOSSES, each, 30, contexts=CONTEXTS)
    good = learner.state()
    other = good["1.transition.pairs"] * 0
    for wrong in (
        {**good, "clock": np.array([3, 30])},
        {**good, "1.transition.pairs": other},
        {name: array for name, array in good.items() if name != "2.policy"},
        {**good, "3.policy": good["2.policy"]},
    ):
        with pytest.raises(am.InvalidInput, match="restore"):
            learner.restore(wrong)
        assert_same_state(learner, twin)


WEEK = """
n_episodes = 700
losses = {name = "switching", period = 1, n_tables = 7, noisy = false}
mdp = {name = "random", layer_sizes = [1, 3, 1], n_actions = 3}
contexts = [0, 1, 2, 3, 4, 5, 6]
learner = [{name = "ada-ftrl"}, {name = "ada-ftrl", by_context = true}, {name = "ada-mixture"}]
"""


def test_contexts_in_specs_reach_the_learners(tmp_path: Path) -> None:
    """Seven tables in turn: who is told the day loses little, who is not cannot tell them apart."""
    specs = SweepSpec.from_toml(WEEK).runs()
    store = Store(tmp_path / "store", create=True)
    play_here(store, specs)
    runs = store.runs().sort("expected_loss")
    assert runs["status"].to_list() == ["finished"] * 3
    best, second, blind = runs["expected_loss"].to_list()
    assert set(runs["learner"].to_list()[:2]) == {"ada-ftrl by_context=True", "ada-mixture"}
    assert second - best < 0.2 * (blind - best)
    again = RunSpec.from_toml(specs[1].to_toml())
    assert again == specs[1]
    assert again.hash != RunSpec(**{**again.data(), "contexts": [0, 1]}).hash


def test_contexts_of_specs_are_checked() -> None:
    data = SweepSpec.from_toml(WEEK).runs()[1].data()
    with pytest.raises(am.InvalidInput, match="contexts: number them 0, 1"):
        RunSpec(**{**data, "contexts": [0, 2]})
    del data["contexts"]
    assert "contexts" not in RunSpec(**data).data()
    with pytest.raises(am.InvalidInput, match=r"learner\.by_context: the run has no contexts"):
        build(RunSpec(**data))


def test_a_service_is_told_the_context(tmp_path: Path) -> None:
    """Two contexts with opposite losses, in a program that restarts half-way."""
    layout = am.Layout((1, 1), 2)
    learner = am.PerContext(am.EstimatedAdaFTRL, layout, 2)
    service = am.Service(learner, tmp_path / "service.am")
    for episode in range(40):
        if episode == 20:
            service.close()
            service = am.Service.load(tmp_path / "service.am")
        context = episode % 2
        ticket = service.begin(context)
        losses = [np.array([[0.0, 9.0]]) if context == 0 else np.array([[9.0, 0.0]])]
        service.finish(ticket, am.FullInformation([0, 0], [0], losses))
    for context in (0, 1):
        ticket = service.begin(context)
        assert ticket.policy[0][0, context] > 0.9
        service.abandon(ticket)
    with pytest.raises(am.InvalidInput, match=r"context: 2 is not in 0\.\.1"):
        service.begin(2)
    with pytest.raises(am.InvalidInput, match="context: Uniform takes none"):
        am.Service(am.Uniform(layout)).begin(0)
