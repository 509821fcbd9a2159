"""``play(record=..., every=..., callback=...)``: what is recorded; the run stays the same."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.display.progress_line import ProgressLine
from advmdp.evaluation.observations import readable

MDP = am.families.random_mdp((1, 3, 3, 1), 2, seed=0)
LOSSES = am.losses.Majority.against(np.random.default_rng(0).random(MDP.layout.n_rows), 100)
T = 240
ALL = ["policy", "q", "u", "estimate", "visits", "width", "epoch", "gap", "residual"]
SUMS = ["regret", "expected_loss", "realised_loss", "best_loss"]


def played(**options: Any) -> am.Run:
    return am.play(MDP, LOSSES, am.UOBREPS(MDP.layout, T), T, seed=5, **options)


def test_both_loops_record_the_same_and_the_run_is_unchanged() -> None:
    plain = played()
    fast, slow = (played(record=ALL + SUMS, every=50, compiled=c) for c in (True, False))
    for run in (fast, slow):
        np.testing.assert_array_equal(run.regret, plain.regret)
        assert run.recorded.episodes.tolist() == [50, 100, 150, 200]
    assert fast.compiled
    for name in ALL + SUMS:
        np.testing.assert_array_equal(fast.recorded[name], slow.recorded[name], err_msg=name)
    assert plain.recorded is None


def test_what_is_recorded_is_what_the_learner_shows() -> None:
    """A literal loop over the two methods, against the rows that ``play`` records."""
    learner, layout = am.UOBREPS(MDP.layout, T), MDP.layout
    seen: dict[str, list[Any]] = {name: [] for name in ALL}

    def look(moment: Any) -> None:
        assert moment.learner.episodes == moment.episodes
        seen["policy"].append(layout.flat_pairs(moment.learner.policy()))
        seen["q"].append(layout.flat_triples(moment.learner.occupancy()))
        seen["width"].append(moment.learner.mean_width)
        seen["visits"].append(layout.flat_pairs(moment.learner.visits))

    options: dict[str, Any] = {"record": ALL, "every": 60, "callback": look}
    run = am.play(MDP, LOSSES, learner, T, seed=5, **options)
    for name, rows in seen.items():
        if rows:
            np.testing.assert_array_equal(run.recorded[name], np.array(rows))
    flows = run.recorded["q"]
    np.testing.assert_allclose(flows[:, MDP.layout.layer_entries(0)].sum(axis=1), 1.0)
    assert run.recorded["visits"][-1].sum() == 3 * T
    assert (run.recorded["gap"] <= 1e-14).all()
    assert run.recorded["u"].shape == (4, 3)


def test_the_account_of_a_moment_is_that_of_the_run() -> None:
    seen: list[Any] = []
    run = played(callback=seen.append, checkpoints=[60])
    assert run.decomposition is not None
    for i, moment in enumerate(seen):
        account = moment.account
        assert account.regret == run.regret[i]
        assert account.realised_loss == run.realised_loss[i]
        for name, value in account.terms._asdict().items():
            assert value == getattr(run.decomposition, name)[i]
    assert [moment.episodes for moment in seen] == run.episodes.tolist()


def test_without_every_the_checkpoints_are_used() -> None:
    run = played(record=["regret"], checkpoints=[7, 100])
    np.testing.assert_array_equal(run.recorded.episodes, run.episodes)
    np.testing.assert_array_equal(run.recorded["regret"], run.regret)


def test_a_callback_can_end_the_run() -> None:
    class Enough(Exception):
        pass

    def stop(moment: Any) -> None:
        if moment.episodes >= 80:
            raise Enough

    learner = am.UOBREPS(MDP.layout, T)
    with pytest.raises(Enough):
        am.play(MDP, LOSSES, learner, T, seed=5, every=40, callback=stop)
    assert learner.episodes == 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record": ["gapp"]}, "record: there is no 'gapp'; did you mean 'gap'"),
        ({"record": "gap"}, "record: give names in a list"),
        ({"every": 5}, "every: has no effect alone"),
        ({"every": 0, "record": ["q"]}, "every"),
        ({"callback": 3}, "callback: give a callable"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        played(**options)


def test_a_learner_says_what_it_has() -> None:
    with pytest.raises(am.InvalidInput, match="Uniform has no 'width'; choose from policy, regret"):
        am.play(MDP, LOSSES, am.Uniform(MDP.layout), 5, record=["width"])
    recorded = played(record=["regret"]).recorded
    with pytest.raises(am.InvalidInput, match="was not recorded"):
        recorded["q"]
    assert list(recorded) == ["regret"]
    assert "q" not in recorded
    assert recorded.get("q") is None
    copy = pickle.loads(pickle.dumps(recorded))
    np.testing.assert_array_equal(copy.episodes, recorded.episodes)
    np.testing.assert_array_equal(copy["regret"], recorded["regret"])


@pytest.mark.parametrize("name", sorted(am.LEARNERS))
def test_every_learner_can_be_asked_for_all_it_has(name: str) -> None:
    entry = am.LEARNERS[name]
    given: dict[str, Any] = {"n_episodes": 4} if entry.has_horizon else {}
    if entry.knows_transition:
        given["transitions"] = MDP.transitions
    learner = entry.make(MDP.layout, **given)
    has = readable(learner)
    run = am.play(MDP, LOSSES, learner, 4, record=has, compiled=False)
    assert {len(run.recorded[one]) for one in has} == {len(run.episodes)}


def test_the_count_of_episodes_is_told() -> None:
    learner = am.UOBREPS(MDP.layout, 30)
    am.play(MDP, LOSSES, learner, 20)
    with pytest.raises(am.InvalidInput, match="20 of 30 are already played; play 10 or fewer"):
        am.play(MDP, LOSSES, learner, 11)
    am.play(MDP, LOSSES, learner, 10)
    assert learner.episodes == 30


def test_progress_is_a_line_on_a_terminal_and_a_few_in_a_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    played(progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 11
    assert lines[-1].startswith("240 of 240 episodes (100%)")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    line = ProgressLine(100, terminal)
    account = type("Account", (), {"regret": 1.0})()
    for episodes in (10, 100):
        line(am.Progress(episodes, 50.0, account, None))
    assert terminal.getvalue().count("\r") == 2
    assert terminal.getvalue().count("\n") == 1
    assert "2 s left" in terminal.getvalue()
