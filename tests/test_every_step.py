"""One list of properties for every step, and a step of one's own without an edit in the package."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import advmdp as am
from advmdp.kernels.ftrl.objective import FTRLStep
from advmdp.kernels.ftrl.triples.step import TripleStep
from advmdp.kernels.kl.step import KLStep
from advmdp.kernels.steps import interface
from tests.batch.simulator import simulate
from tests.steps.tsallis_step import LayeredTsallisINF, TsallisStep

SINGLE = am.families.random_mdp((1, 1, 1, 1), 3, seed=0)
WIDE = am.families.random_mdp((1, 3, 2, 1), 2, seed=1)


def kl_learner(n_episodes: int) -> Any:
    return am.UOBREPS(WIDE.layout, n_episodes, log_scale=0.01)


def ftrl_learner(n_episodes: int) -> Any:
    # without a bonus, which moves the iterate as well
    return am.UOBFTRL(WIDE.layout, n_episodes, log_barrier=0.1, log_scale=0.01, bonus_scale=0.0)


STEPS = {
    TripleStep: (WIDE, lambda n: am.UOBLogBarrier(WIDE.layout, n, log_scale=0.01)),
    FTRLStep: (WIDE, ftrl_learner),
    KLStep: (WIDE, kl_learner),
    TsallisStep: (SINGLE, lambda n: LayeredTsallisINF(SINGLE.layout, n)),
}
every_step = pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.__name__)


def test_the_list_is_complete() -> None:
    assert set(interface.solve_step.table) == set(STEPS)


def played(kind: type, n_episodes: int = 60) -> Any:
    mdp, make = STEPS[kind]
    learner = make(200)
    losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
    am.play(mdp, losses, learner, n_episodes, seed=3)
    return learner


def snapshot(learner: Any) -> dict[str, Any]:
    return {name: array.tobytes() for name, array in learner.state().items()}


@every_step
def test_a_step_implements_the_whole_interface(kind: type) -> None:
    for function in ("add_path_losses", "add_losses", "remove_path_losses", "remove_losses"):
        assert kind in getattr(interface, function).table, function
    assert kind in interface.certificate_of.table
    assert "measure" in kind._fields  # type: ignore[attr-defined]


@every_step
def test_losses_that_are_removed_leave_no_trace(kind: type) -> None:
    learner = played(kind)
    graph, step = learner.layout.graph(), learner.kernel_state.step
    before = snapshot(learner)
    path = np.arange(0, learner.layout.n_rows, learner.layout.n_actions)[: learner.layout.n_layers]
    interface.add_path_losses(graph, step, path, np.full(len(path), 2.5), 0.7)
    assert snapshot(learner) != before
    interface.remove_path_losses(graph, step, path)
    assert snapshot(learner) == before
    interface.add_losses(graph, step, np.full(learner.layout.n_rows, 0.3), 0.7)
    assert snapshot(learner) != before
    interface.remove_losses(graph, step)
    assert snapshot(learner) == before
    hints = np.random.default_rng(1).random((2, learner.layout.n_rows))
    interface.add_losses(graph, step, np.zeros(learner.layout.n_rows), 0.7)
    interface.replace_hint(graph, step, *hints, 0.7)
    assert (snapshot(learner) != before) == (kind in interface.replace_hint.table)
    interface.remove_losses(graph, step)
    assert snapshot(learner) == before


@every_step
def test_a_solved_step_is_an_occupancy_measure_and_moves_away_from_losses(kind: type) -> None:
    learner = played(kind)
    layout, state = learner.layout, learner.kernel_state
    before = np.concatenate([q.sum(axis=2).ravel() for q in learner.occupancy()])
    losses = np.zeros(layout.n_rows)
    losses[0] = 1.0
    interface.add_losses(layout.graph(), state.step, losses, 0.5)
    assert interface.solve_step(layout.graph(), state.step, state.rows, None)
    occupancy = learner.occupancy()
    for k, q in enumerate(occupancy):
        assert abs(q.sum() - 1.0) < 1e-12
        if k + 1 < layout.n_layers:
            assert np.allclose(q.sum(axis=(0, 1)), occupancy[k + 1].sum(axis=(1, 2)), atol=1e-12)
    assert occupancy[0][0, 0].sum() < before[0]
    assert interface.certificate_of(state.step).figures[interface.RESIDUAL] <= 1e-9


@every_step
def test_both_loops_and_a_resumed_run_have_the_same_bits(kind: type) -> None:
    mdp, make = STEPS[kind]
    losses = am.losses.Switching(
        [np.random.default_rng(i).random(mdp.layout.n_rows) for i in range(2)], 9, noisy=True
    )
    kept: list[Any] = []
    fast, slow, cut = (make(120) for _ in range(3))
    runs = [
        am.play(mdp, losses, fast, 120, seed=5, compiled=True),
        am.play(
            mdp,
            losses,
            slow,
            120,
            seed=5,
            compiled=False,
            keep=lambda t, take: kept.append(take()) if t == 50 else None,
        ),
        am.play(mdp, losses, cut, 120, seed=5, resume=None),
    ]
    again = make(120)
    runs.append(am.play(mdp, losses, again, 120, seed=5, resume=kept[0]))
    for run, learner in zip(runs[1:], (slow, cut, again), strict=True):
        assert np.array_equal(run.regret, runs[0].regret)
        assert run.decomposition is not None
        assert np.array_equal(run.decomposition.reg, runs[0].decomposition.reg)  # type: ignore[union-attr]
        assert snapshot(learner) == snapshot(fast)


def plain_tsallis_inf(costs: np.ndarray) -> np.ndarray:
    """By a root finder of another library."""
    n = len(costs)

    def excess(v: float) -> float:
        return float((1.0 / (2.0 * (costs - v)) ** 2).sum() - 1.0)

    v = brentq(excess, costs.min() - n, costs.min() - 0.5 + 1e-15, xtol=1e-15, rtol=1e-15)
    return 1.0 / (2.0 * (costs - v)) ** 2


def test_the_step_from_outside_is_tsallis_inf_in_every_layer() -> None:
    learner = LayeredTsallisINF(SINGLE.layout, 300)
    n_layers, n_actions = SINGLE.layout.n_layers, SINGLE.layout.n_actions
    cost, rng = learner.kernel_state.step.cost.reshape(-1, n_actions), np.random.default_rng(8)
    for _ in range(300):
        before = cost.copy()
        policy = [plain_tsallis_inf(before[k]) for k in range(n_layers)]
        for k in range(n_layers):
            assert np.allclose(learner.policy()[k][0], policy[k], rtol=0, atol=1e-9)
        actions = [int(rng.choice(n_actions, p=p / p.sum())) for p in policy]
        losses = rng.random(n_layers)
        learner.update(am.Trajectory([0] * (n_layers + 1), actions, losses))
        for k, action in enumerate(actions):
            before[k, action] += 0.1 * losses[k] / policy[k][action]
        assert np.allclose(cost, before, rtol=1e-9)


SIMULATED = """
from tests.steps.tsallis_step import LayeredTsallisINF

mdp = am.families.random_mdp((1, 1, 1), 2, seed=0)
losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
batch = [BatchRun(mdp, losses, LayeredTsallisINF(mdp.layout, 12), seed=i) for i in range(3)]
runs = play_batch(batch, 12)
for i, run in enumerate(runs):
    one = am.play(mdp, losses, LayeredTsallisINF(mdp.layout, 12), 12, seed=i, compiled=False)
    assert np.array_equal(run.realised_loss, one.realised_loss)
    assert np.allclose(run.regret, one.regret, rtol=0, atol=1e-12)
print("played")
"""


def test_the_step_from_outside_plays_in_a_batch() -> None:
    assert simulate(SIMULATED).strip() == "played"


def test_no_relative_entropy_function_is_named_outside_its_room() -> None:
    """The loops, the batches, the store and the accounting know steps by their interface only."""
    package = Path(am.__file__).parent
    # allocation, am.project, and what a file may say of factors that were kept
    allowed = {"steps/workspace.py", "steps/mirror_descent.py"}
    allowed |= {"learners/saving/state_invariants.py"}
    named = set()
    for path in package.rglob("*.py"):
        relative = path.relative_to(package).as_posix()
        if relative.startswith("kernels/kl/"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and "kl" in (node.module or "").split("."):
                named.add(relative)
    assert named == allowed
