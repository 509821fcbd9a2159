"""Hints: closed forms, other solvers, literal copies, the bound, and what is kept of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.kernels.kl.step import KLStep
from advmdp.kernels.learners import interface
from advmdp.kernels.steps.interface import replace_hint
from tests.reference.brute_force import all_trajectories
from tests.reference.contract import DENSE, WORLDS, assert_same_state, flat, follow, losses_of, made
from tests.reference.plain_ftrl import PlainFTRL
from tests.reference.plain_uob_reps import Episode, PlainUOBREPS, random_episodes
from tests.reference.reduced_dual import project_reduced
from tests.reference.tables import greatest_difference

BANDIT = WORLDS["one layer"]
ROWS = DENSE.layout.n_rows
TABLE = np.random.default_rng(3).random(ROWS)


def tables(n_episodes: int, n_rows: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Losses that are hard to guess: coin flips, and stretches of one table."""
    rng = np.random.default_rng(seed)
    steady = rng.random(n_rows)
    return np.array(
        [rng.integers(0, 2, n_rows) if t // 5 % 2 else steady for t in range(n_episodes)], float
    )


def growing(history: Any) -> Any:
    """A hint that is another one after every episode."""
    return np.full(ROWS, len(history) / 100)


def told(learner: Any, losses: Any) -> am.FullInformation:
    """All losses, of an episode that went anywhere."""
    path = [0] * learner.layout.n_layers
    return am.FullInformation([*path, 0], path, losses)


def hints_by_hand(losses: np.ndarray[Any, Any]) -> dict[str, tuple[Any, np.ndarray[Any, Any]]]:
    """What may be given, and the m_t that it means for every episode."""
    n, rows = losses.shape
    table = np.linspace(0.0, 1.0, rows)
    means = [losses[max(0, t - 3) : t].mean(axis=0) if t else np.zeros(rows) for t in range(n)]

    def farthest(history: tuple[am.FullInformation, ...]) -> Any:
        seen = [np.concatenate([np.ravel(layer) for layer in each.losses]) for each in history]
        return np.max([np.zeros(rows), *seen], axis=0)

    return {
        "last": ("last", np.vstack([np.zeros(rows), losses[:-1]])),
        "mean": (3, np.array(means)),
        "table": (table, np.tile(table, (n, 1))),
        "function": (farthest, np.maximum.accumulate(np.vstack([np.zeros(rows), losses[:-1]]))),
    }


# ---------------------------------------------------------------------- closed forms and copies


@pytest.mark.parametrize("kind", ["last", "mean", "table", "function"])
def test_one_state_is_optimistic_hedge(kind: str) -> None:
    losses = tables(40, 3)
    hint, heard = hints_by_hand(losses)[kind]
    learner = am.OREPS(BANDIT.layout, BANDIT.transitions, 40, eta=0.7, hint=hint)
    for t in range(40):
        weights = np.exp(-0.7 * (losses[:t].sum(axis=0) + heard[t]))
        policy = learner.policy()[0][0]
        np.testing.assert_allclose(policy, weights / weights.sum(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(learner.hint_table()[0][0], heard[t], rtol=0, atol=1e-15)
        learner.update(told(learner, losses[t]))


@pytest.mark.parametrize("kind", ["mean", "table"])
def test_with_a_known_transition_it_is_the_leader_of_losses_and_hint(kind: str) -> None:
    losses = tables(30, ROWS)
    hint, heard = hints_by_hand(losses)[kind]
    learner = am.OREPS(DENSE.layout, DENSE.transitions, 30, eta=0.4, hint=hint)
    known = am.KnownTransition(DENSE.layout, DENSE.transitions)
    for t in range(30):
        cost = DENSE.layout.pairs(0.4 * (losses[:t].sum(axis=0) + heard[t]))
        leader = am.minimise(cost, known, am.Entropy(1.0)).occupancy
        assert greatest_difference(learner.occupancy(), leader) <= 1e-8
        learner.update(told(learner, losses[t]))


class PlainHinted(PlainUOBREPS):
    """The transcription with the last losses as a hint; with ``losses``, full information."""

    def update(self, episode: Episode, losses: Any = None) -> None:
        if not hasattr(self, "hint"):
            self.hint = [np.zeros(layer.shape[:2]) for layer in self.occupancy]
        u = self.upper_occupancy(episode)
        coming = [layer.copy() for layer in self.hint] if losses is None else losses
        estimate = [layer.copy() for layer in coming]
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            if losses is None:
                surprise = episode.losses[k] - self.hint[k][x, a]
                estimate[k][x, a] += surprise / (u[k] + self.gamma)
                coming[k][x, a] = episode.losses[k]
        tilted = [e - m + n for e, m, n in zip(estimate, self.hint, coming, strict=True)]
        weights = [
            q * np.exp(-self.eta * d)[:, :, None]
            for q, d in zip(self.occupancy, tilted, strict=True)
        ]
        self.counters.record(episode)
        self.occupancy = project_reduced(weights, *self.bounds())
        self.hint = coming


@pytest.mark.parametrize("make", [am.UOBREPS, am.UCOREPSBox])
def test_episodes_against_the_transcription(make: Any) -> None:
    mdp = am.families.random_mdp((1, 3, 2, 1), 2, seed=4)
    eager: dict[str, Any] = {"delta": 0.1, "eta": 0.5, "log_scale": 0.01}
    sees_all = make is am.UCOREPSBox
    extra = {} if sees_all else {"gamma": 0.05}
    learner = make(mdp.layout, 24, **eager, **extra, hint="last")
    plain = PlainHinted((1, 3, 2, 1), 2, n_episodes=24, gamma=0.05, **eager)
    kernel = [np.array(layer) for layer in mdp.transitions]
    for t, episode in enumerate(random_episodes(3, kernel, 24)):
        assert greatest_difference(learner.occupancy(), plain.occupancy) <= 1e-8, t
        losses = mdp.layout.pairs(np.random.default_rng(t).random(mdp.layout.n_rows))
        if sees_all:
            learner.update(am.FullInformation(episode.states, episode.actions, losses))
            plain.update(episode, losses)
        else:
            learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))
            plain.update(episode)
    assert learner.epoch == plain.epoch > 5


class PlainHintedFTRL(PlainFTRL):
    """Predictions that start at nothing, and learn from episodes that open an epoch too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.prediction = [0.0 * layer for layer in self.prediction]
        self._follow()

    def update(self, episode: Episode) -> None:
        epoch = self.counters.epoch
        super().update(episode)
        if self.counters.epoch > epoch:
            for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
                self.prediction[k][x, a] = episode.losses[k]
            self._follow()


SIZES, N = (1, 3, 2, 1), 50
SMALL = am.families.random_mdp(SIZES, 2, seed=4)
LOG_TERM = 0.02 * float(np.log(N * sum(SIZES) * 2) + 3 * np.log(N))
FTRL = {
    "log barrier": (
        lambda: am.LogBarrierFTRL(SMALL.layout, SMALL.transitions, N, 0.5, hint="last"),
        {"rate": 0.0, "barrier": 0.5, "adapt": 0.5 / float(np.log(N))},
    ),
    "bonus": (
        lambda: am.UOBFTRL(SMALL.layout, N, log_barrier=0.3, log_scale=0.02, hint="last"),
        {"rate": 1.0, "barrier": 0.3, "bonus": 3.0, "log_term": LOG_TERM},
    ),
    "optimistic": (
        lambda: am.OptimisticFTRL(
            SMALL.layout, N, log_barrier=0.3, root_scale=0.7, log_scale=0.02, hint="last"
        ),
        {
            "rate": 0.7,
            "barrier": 0.3,
            "adapt": 0.5 * 0.02 / LOG_TERM,
            "log_term": LOG_TERM,
            "optimistic": True,
        },
    ),
}


@pytest.mark.parametrize("name", FTRL)
def test_leaders_hear_their_hints_as_a_literal_copy_does(name: str) -> None:
    make, settings = FTRL[name]
    transitions = [np.array(layer) for layer in SMALL.transitions]
    known = transitions if name == "log barrier" else None
    ours, plain = make(), PlainHintedFTRL(SIZES, 2, known, learn=1.0, **settings)
    for t, episode in enumerate(random_episodes(5, transitions, N)):
        assert greatest_difference(ours.policy(), plain.policy) <= 1e-7, t
        ours.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        plain.update(episode)
    assert known is not None or ours.epoch == plain.counters.epoch > 5


def test_the_log_barrier_on_triples_steps_from_one_hint_to_the_next() -> None:
    # in one state  b (1 / q_t - 1 / q_{t+1}) + l^_t - m_t + m_{t+1}  is the same for all actions
    learner = am.UOBLogBarrier(BANDIT.layout, 60, eta=0.2, growth_scale=0.0, hint="last")
    for t in range(60):
        q, m, action = learner.policy()[0][0], learner.hint_table()[0][0], t * t % 3
        loss = float(np.sin(t) ** 2)
        learner.update(am.Trajectory([0, 0], [action], [loss]))
        moved = learner.hint_table()[0][0].copy()
        moved[action] += (loss - m[action]) / q[action]
        slack = (1.0 / q - 1.0 / learner.policy()[0][0]) / 0.2 + moved
        assert np.ptp(slack) < 1e-6


# ---------------------------------------------------------------------- what it is good for


def bound(mdp: am.LayeredMDP, learner: Any, losses: Any, eta: float) -> tuple[float, float]:
    """The regret of a learner with full information, and D(q || q_1) / eta + eta sum <q, d^2>."""
    layout = mdp.layout
    plain = am.OREPS(layout, mdp.transitions, len(losses))
    first = flat([t.sum(axis=2) for t in plain.occupancy()])
    best = am.best_fixed_policy(mdp, layout.pairs(losses.mean(axis=0)))
    q = flat([t.sum(axis=2) for t in am.occupancy_measure(mdp.transitions, best.policy, layout)])
    lost, missed = 0.0, 0.0
    for table in losses:
        mine = flat([t.sum(axis=2) for t in learner.occupancy()])
        lost += mine @ table
        missed += mine @ (table - flat(learner.hint_table())) ** 2
        learner.update(told(learner, table))
    divergence = (q * np.log(np.maximum(q, 1e-300) / first)).sum()
    return lost - q @ losses.sum(axis=0), divergence / eta + eta * missed


@pytest.mark.parametrize("hint", ["last", 4, "foresight"])
def test_regret_is_bounded_by_what_the_hints_have_missed(hint: Any) -> None:
    losses = tables(200, ROWS, seed=5)
    given = (lambda history: losses[len(history) % 200]) if hint == "foresight" else hint
    eta = 30.0 if hint == "foresight" else 0.3
    learner = am.OREPS(DENSE.layout, DENSE.transitions, 200, eta=eta, hint=given)
    regret, most = bound(DENSE, learner, losses, eta)
    assert regret <= most + 1e-6
    if hint == "foresight":  # nothing missed: a constant, on losses that nobody could learn
        assert most < 0.2


def test_with_the_true_means_as_a_hint_the_regret_does_not_grow() -> None:
    losses = am.losses.Replayed(np.tile(TABLE, (4000, 1)))
    learner = am.OREPS(DENSE.layout, DENSE.transitions, 4000, eta=1.0, hint=TABLE)
    run = am.play(DENSE, losses, learner, 4000, checkpoints=[400, 4000])
    assert run.compiled
    assert run.regret[-1] < run.regret[0] + 1e-3


def test_estimates_around_a_hint_are_unbiased_where_the_occupancy_is_known() -> None:
    # E[l^] = m + (l - m) q / q, by every trajectory there is
    mdp = am.families.random_mdp((1, 2, 2, 1), 2, seed=4)
    table = np.random.default_rng(2).random(mdp.layout.n_rows)
    losses = mdp.layout.pairs(np.random.default_rng(9).random(mdp.layout.n_rows))

    def learner() -> am.OREPSBandit:
        return am.OREPSBandit(mdp.layout, mdp.transitions, 100, hint=table)

    mean = mdp.layout.pairs(np.zeros(mdp.layout.n_rows))
    for states, actions, chance in all_trajectories(mdp.transitions, learner().policy()):
        one = learner()
        found = [layer.copy() for layer in mdp.layout.pairs(table)]
        seen = [losses[k][states[k], a] for k, a in enumerate(actions)]
        one.update(am.Trajectory(states, actions, seen))
        for k, a in enumerate(actions):
            found[k][states[k], a] = one.estimate_of_last[k]
        for k, layer in enumerate(found):
            mean[k] += chance * layer
    assert greatest_difference(mean, losses) < 1e-12


# ---------------------------------------------------------------------- the same without


@pytest.mark.parametrize("name", ["o-reps", "uc-o-reps", "uob-reps", "o-reps-bandit"])
def test_a_hint_of_nothing_changes_nothing(name: str) -> None:
    # but the last places: a hint weighs all pairs anew, so that more than a path may have changed
    policies = [
        follow(made(name, DENSE, **given), DENSE, 0, 40) for given in ({}, {"hint": np.zeros(ROWS)})
    ]
    np.testing.assert_allclose(*policies, rtol=0, atol=1e-12)


def test_a_leader_with_a_hint_of_nothing_is_the_one_without() -> None:
    for name in ("tsallis-ftrl", "optimistic-ftrl"):
        given: dict[str, Any] = {"log_barrier": 0.3}
        plain = follow(made(name, DENSE, **given), DENSE, 0, 40)
        hinted = follow(made(name, DENSE, **given, hint=np.zeros(ROWS)), DENSE, 0, 40)
        np.testing.assert_allclose(hinted, plain, rtol=0, atol=1e-8)


# ---------------------------------------------------------------------- keeping


def test_a_function_is_called_with_the_history_and_goes_on_from_a_state() -> None:
    def ask(history: tuple[am.Trajectory, ...]) -> Any:
        table = np.zeros(ROWS)
        table[: len(history) % ROWS] = history[-1].losses[0] if history else 0.0
        return DENSE.layout.pairs(table)

    whole, first, second = (am.UOBREPS(DENSE.layout, 40, eta=0.3, hint=ask) for _ in range(3))
    policies = follow(whole, DENSE, 0, 40)
    follow(first, DENSE, 0, 25)
    second.restore(first.state())
    assert np.array_equal(follow(second, DENSE, 25, 40)[-1], policies[-1])
    assert_same_state(second, whole)
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    assert not am.play(DENSE, losses, am.UOBREPS(DENSE.layout, 40, hint=ask), 40).compiled
    with pytest.raises(am.InvalidInput, match=r"history\.path is not of 25 episodes"):
        second.restore({**first.state(), "history.path": np.zeros((3, 4), dtype=np.int64)})
    with pytest.raises(am.InvalidInput, match="the argument hint is a function"):
        whole.save("nowhere.am")


def test_a_function_is_called_between_the_episodes_of_learners_inside_others() -> None:
    asked: list[int] = []

    def ask(history: Any) -> Any:
        asked.append(len(history))
        return np.zeros(3)

    losses = am.losses.Stochastic([np.array([[0.2, 0.5, 0.8]])])
    rounds = am.Doubling(am.UOBREPS, BANDIT.layout, first=4, hint=ask)
    assert not am.play(BANDIT, losses, rounds, 10).compiled
    assert asked == [*range(5), *range(7)]  # a history for every round
    by_context = am.PerContext(am.UOBREPS, BANDIT.layout, 2, n_episodes=9, hint=ask)
    del asked[:]
    assert not am.play(BANDIT, losses, by_context, 4, contexts=[0, 1, 1, 1]).compiled
    assert asked == [1, 1, 2, 3]
    with pytest.raises(am.InvalidInput, match="hints of a function need compiled=False"):
        am.UOBREPS(BANDIT.layout, 9, hint=ask).compiled_loop()


def test_what_a_function_returns_is_checked_before_anything_changes() -> None:
    def ask(history: Any) -> Any:
        return np.full(3, 0.6 * len(history))

    learner = am.OREPS(BANDIT.layout, BANDIT.transitions, 9, hint=ask)
    learner.update(told(learner, [np.full((1, 3), 0.5)]))
    before = learner.state()
    with pytest.raises(am.InvalidInput, match=r"hint: 1\.2 at .* is outside \[0, 1\]"):
        learner.update(told(learner, [np.full((1, 3), 0.5)]))
    assert all(np.array_equal(array, before[name]) for name, array in learner.state().items())


@pytest.mark.parametrize(
    ("name", "hint"), [("o-reps", 3), ("uob-reps", TABLE), ("uob-ftrl", 2), ("uob-reps", growing)]
)
def test_an_episode_that_is_taken_back_leaves_no_trace(
    name: str, hint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = made(name, DENSE, hint=hint)
    follow(learner, DENSE, 0, 12)
    before = learner.state()

    def begin_only(graph: Any, state: Any, *steps: Any) -> bool:
        interface.begin_update(graph, state, *steps)
        return False

    with monkeypatch.context() as patch:
        patch.setattr(learner, "_update_program", begin_only)
        patch.setattr(interface, "finish_safely", lambda *arguments: False)
        with pytest.raises(am.UncertifiedStep):
            follow(learner, DENSE, 12, 13)
    now = learner.state()
    for part in (
        "hint.",
        "baseline.",
        "step.measure.policy",
        "step.objective",
        "visits.pairs",
        "history.",
    ):
        for array in (array for array in before if array.startswith(part)):
            assert np.array_equal(now[array], before[array]), array


def test_tables_are_kept_in_files_and_by_a_service(tmp_path: Path) -> None:
    learner = made("uob-reps", DENSE, hint=DENSE.layout.pairs(TABLE))
    follow(learner, DENSE, 0, 10)
    learner.save(tmp_path / "learner.am")
    again = am.load(tmp_path / "learner.am")
    assert np.array_equal(follow(again, DENSE, 10, 20), follow(learner, DENSE, 10, 20))
    service = am.Service(made("uob-reps", DENSE, hint="last"), tmp_path / "kept")
    one, two = service.begin(), service.begin()
    path = {"states": [0] * 5, "actions": [1] * 4}
    service.finish(two, {**path, "losses": [0.5] * 4})
    service.finish(one, {**path, "losses": [0.25] * 4})
    service.close()
    reopened = am.Service.load(tmp_path / "kept").learner
    assert np.array_equal(flat(reopened.policy()), flat(service.learner.policy()))
    assert reopened.hint_table()[0][0].tolist() == [0.0, 0.25]


def test_every_context_has_its_own_hints() -> None:
    learner = am.PerContext(
        *(am.OREPS, DENSE.layout, 2), transitions=DENSE.transitions, n_episodes=20, hint=2
    )
    for context, value in ((0, 0.25), (1, 1.0), (0, 0.75)):
        learner.enter(context)
        learner.update(told(learner, DENSE.layout.pairs(np.full(ROWS, value))))
    found = [each.hint_table()[0][0, 0] for each in learner.learners]
    assert found == [0.5, 1.0]


def test_specs_name_hints_and_write_tables_as_lists() -> None:
    for hint, expected in (("last", 0.0), (7, 0.0), ([0.5] * 12, 0.5)):
        spec = RunSpec(
            learner={"name": "o-reps", "hint": hint},
            mdp={"name": "random", "layer_sizes": [1, 2, 3, 1], "n_actions": 2},
            losses={"name": "stochastic"},
            n_episodes=30,
        )
        again = RunSpec.from_toml(spec.to_toml())
        assert build(again).learner.hint_table()[1][0, 0] == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hint": "next"}, "hint: 'next' is not 'last', a whole number, a table or a function"),
        ({"hint": 0}, "hint: 0"),
        ({"hint": True}, "hint: True"),
        ({"hint": 2.5}, "hint: give a list of 4 arrays"),
        ({"hint": np.full(ROWS, 2.0)}, "hint: 2.0 at .* is outside"),
        ({"hint": 2**40}, "hint: .* too many to remember"),
    ],
)
def test_bad_hints_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        am.UCOREPS(DENSE.layout, 100, **given)


def test_a_step_without_hints_refuses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(replace_hint.table, KLStep)
    with pytest.raises(am.InvalidInput, match="hint: this learner's step takes none"):
        am.UOBREPS(DENSE.layout, 100, hint="last")


def test_hints_exclude_what_takes_their_place() -> None:
    with pytest.raises(am.InvalidInput, match="hint, baseline: give one of them"):
        am.UOBREPS(DENSE.layout, 100, baseline="damped", hint="last")
    with pytest.raises(am.InvalidInput, match="hint, prediction_rate: give one of them"):
        am.LogBarrierFTRL(DENSE.layout, DENSE.transitions, 100, prediction_rate=0.1, hint="last")
    with pytest.raises(am.InvalidInput, match="has a baseline or a hint"):
        am.Corral(DENSE.layout, [am.UOBREPS(DENSE.layout, 40, hint="last")], 40)
