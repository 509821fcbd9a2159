"""What ``am.gym.play`` shares with ``am.play``: progress, records, resuming, Ctrl-C, contexts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from gymnasium import spaces

import advmdp as am
from advmdp.gym.numbering import numbering
from advmdp.gym.snapshots import set_words, words_of
from tests.gym.test_environment_loop import Corridor

mpl.use("Agg")
LAKE = gymnasium.make("FrozenLake-v1")
GAME = am.gym.from_gymnasium(LAKE, horizon=6, pooled=True)
N_EPISODES = 60


def learner() -> am.UCBVIBF:
    return am.UCBVIBF(GAME.layout, N_EPISODES, bonus_scale=0.01, stationary=True)


def played(**options: Any) -> Any:
    return am.gym.play(LAKE, learner(), GAME, N_EPISODES, seed=3, **options)


WHOLE = played()


def test_a_run_that_was_cut_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    kept: dict[int, Any] = {}

    def keep(episodes: int, snapshot: Any) -> None:
        if episodes == 25:
            kept[episodes] = snapshot()

    assert np.array_equal(played(keep=keep).reward, WHOLE.reward)
    LAKE.reset(seed=999)  # whatever happens to the environment meanwhile
    again = played(resume=kept[25])
    assert np.array_equal(again.steps, WHOLE.steps)
    assert np.array_equal(again.reward, WHOLE.reward)
    path = tmp_path / "lake.am"
    played(keep=path)
    finished = played(resume=str(path))
    assert np.array_equal(finished.steps, WHOLE.steps)
    assert not finished.stopped


def test_a_snapshot_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lake.am"
    played(keep=path)
    with pytest.raises(am.InvalidInput, match="another seed"):
        am.gym.play(LAKE, learner(), GAME, N_EPISODES, seed=4, resume=path)
    with pytest.raises(am.InvalidInput, match="after 60 episodes of 50"):
        am.gym.play(LAKE, learner(), GAME, 50, seed=3, resume=path)
    with pytest.raises(am.InvalidInput, match="it has no 'reward'"):
        played(resume={"episodes": np.array(3)})
    with pytest.raises(am.InvalidInput, match="give a snapshot or the path of its file"):
        played(resume=7)


def test_words_hold_the_whole_state_of_a_generator() -> None:
    one, other = np.random.default_rng(5), np.random.default_rng(6)
    one.integers(10, dtype=np.uint32)  # leaves half a word over
    words = words_of(one)
    assert words is not None
    set_words(other, words)
    assert one.random(3).tolist() == other.random(3).tolist()
    assert words_of(np.random.Generator(np.random.MT19937(1))) is None


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C as a terminal has it; programs in the background of a shell ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_keeps_the_rewards(tmp_path: Path) -> None:
    def press(moment: Any) -> None:
        if moment.episodes == 20:
            signal.raise_signal(signal.SIGINT)

    path = tmp_path / "lake.am"
    cut = played(callback=press, every=10, keep=path)
    assert cut.stopped
    assert np.array_equal(cut.reward, WHOLE.reward[: len(cut.reward)])
    assert 20 <= len(cut.reward) < 60
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert np.array_equal(played(resume=path).reward, WHOLE.reward)

    def press_twice(moment: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        played(callback=press_twice, every=10)


def test_progress_records_and_callbacks(capsys: pytest.CaptureFixture[str]) -> None:
    reports: list[am.gym.EnvironmentProgress] = []
    moments: list[Any] = []
    run = played(
        progress=reports.append,
        record=["policy"],
        every=20,
        callback=moments.append,
    )
    assert reports[-1].episodes == N_EPISODES
    assert reports[-1].earned.total == WHOLE.reward.sum()
    assert [moment.episodes for moment in moments] == [20, 40, 60]
    assert moments[1].account.mean == WHOLE.reward[:40].mean()
    assert run.recorded.episodes.tolist() == [20, 40, 60]
    assert run.recorded["policy"].shape == (3, GAME.layout.n_rows)
    played(progress=True)
    assert "60 of 60 episodes (100%)" in (line := capsys.readouterr().err)
    assert "mean reward" in line
    with pytest.raises(am.InvalidInput, match="record: an environment shows rewards only"):
        played(record=["regret"])


def test_results_have_frames_plots_and_short_texts() -> None:
    frame = WHOLE.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame["reward"].sum() == WHOLE.reward.sum()
    assert frame.columns == ["episode", "reward", "steps"]
    assert "mean_reward=" in repr(WHOLE)
    assert "<svg" in WHOLE._repr_html_()
    points, mean = WHOLE.mean_curve()
    line = WHOLE.plot().lines[0]
    assert line.get_xdata().tolist() == points.tolist()
    assert mean[-1] == pytest.approx(WHOLE.reward.mean())


def test_contexts_are_told_before_every_episode() -> None:
    told = am.PerContext(am.UCBVIBF, GAME.layout, 2, n_episodes=20, stationary=True)
    am.gym.play(LAKE, told, GAME, 30, contexts=[0, 0, 1] * 10)
    assert [part.episodes for part in told.learners] == [20, 10]
    with pytest.raises(am.InvalidInput, match="contexts: UCBVIBF takes none"):
        played(contexts=[0] * N_EPISODES)


def test_rewards_outside_the_range_are_refused_or_clipped_and_counted() -> None:
    env = Corridor()
    game = am.gym.unroll(env, 4, am.Rewards(-1, 1), starts=[(0, 1)])
    uniform = am.Uniform(game.layout)
    with pytest.raises(am.InvalidInput, match=r"rewards: 3.0 is outside \[-1, 1\]"):
        am.gym.play(env, uniform, game, 50)
    run = am.gym.play(env, uniform, game, 50, rewards_outside="clip")
    won = run.reward > -4.0 + 1e-9
    assert run.clipped == np.count_nonzero(run.reward >= 0.0) > 0
    assert run.reward[won].max() == 2.0  # what the environment paid: 3 - 1
    assert "clipped" in repr(run)


# ---------------------------------------------------------------------- what an environment may be


def test_an_id_stands_for_its_environment() -> None:
    game = am.gym.from_gymnasium("FrozenLake-v1", horizon=6, pooled=True)
    run = am.gym.play("FrozenLake-v1", learner(), game, N_EPISODES, seed=3)
    assert np.array_equal(run.reward, WHOLE.reward)
    assert am.gym.unroll("FrozenLake-v1", 3, am.Rewards(0, 1)).horizon == 3
    for wrong in ("NoSuchLake-v1", "not an id"):
        with pytest.raises(am.InvalidInput, match=rf"env: '{wrong}' makes none \("):
            am.gym.from_gymnasium(wrong, horizon=6)


def test_vector_environments_are_refused_with_the_remedy() -> None:
    several = gymnasium.make_vec("FrozenLake-v1", num_envs=2)
    for call in (
        lambda: am.gym.from_gymnasium(several, 4),
        lambda: am.gym.unroll(several, 4, am.Rewards(0, 1)),
        lambda: am.gym.play(several, learner(), GAME, 5),
    ):
        with pytest.raises(am.InvalidInput, match=r"env: a vector environment .* single"):
            call()
    several.close()


def test_time_limits_that_the_layout_does_not_know_are_refused() -> None:
    short = gymnasium.make("FrozenLake-v1", max_episode_steps=4)
    with pytest.raises(am.InvalidInput, match="after 4 of 6 steps, but the table"):
        am.gym.play(short, learner(), GAME, N_EPISODES)
    with pytest.raises(am.InvalidInput, match="make it with max_episode_steps=6, or use a horizon"):
        am.gym.unroll(short, 6, am.Rewards(0, 1), pooled=True)
    apart = am.gym.unroll(short, 6, am.Rewards(0, 1), starts=[0])  # learns the limit like all else
    steps = am.gym.play(short, am.Uniform(apart.layout), apart, 30).steps
    assert steps.max() == 4


@pytest.mark.parametrize(
    "space",
    [
        spaces.Dict({"place": spaces.Discrete(3), "door": spaces.MultiBinary(2)}),
        spaces.Box(-1, 2, (2,), dtype=np.int8),
    ],
)
def test_dicts_and_boxes_of_whole_numbers_are_numbered(space: Any) -> None:
    count = numbering(space, "space")
    elements = [count.element(i) for i in range(count.size)]
    assert all(space.contains(element) for element in elements)
    assert [count.number(element) for element in elements] == list(range(count.size))
    assert len({str(element) for element in elements}) == count.size
    for strange in ({}, {"place": 0}, 3, None, "a"):
        with pytest.raises(am.InvalidInput, match="is not in the space"):
            count.checked(strange, "env")


def test_spaces_without_a_list_of_elements_are_refused_with_the_remedy() -> None:
    with pytest.raises(am.InvalidInput, match=r"gymnasium\.wrappers\.DiscretizeObservation makes"):
        numbering(spaces.Box(0.0, 1.0), "observation_space")
    with pytest.raises(am.InvalidInput, match=r"gymnasium\.wrappers\.DiscretizeAction makes"):
        numbering(spaces.Box(0.0, 1.0), "action_space")
    with pytest.raises(am.InvalidInput, match="more than 100,000,000 elements"):
        numbering(spaces.Box(0, 255, (84, 84), dtype=np.uint8), "observation_space")
    car = gymnasium.wrappers.DiscretizeObservation(gymnasium.make("MountainCar-v0"), bins=4)
    assert am.gym.unroll(car, 3, am.Rewards(-1, 0)).observations.size == 16
