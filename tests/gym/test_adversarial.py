"""The environment: Gymnasium's own checks, and the walks and losses of ``advmdp.play``."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import advmdp as am
from advmdp.kernels.runtime.random_numbers import TRAJECTORY, uniform_pair
from advmdp.seeds import seed_words

MDP = am.families.random_mdp((1, 4, 3, 1), n_actions=3, seed=2, n_successors=2)
MEAN = np.random.default_rng(0).random(MDP.layout.n_rows)
PROCESSES: dict[str, am.losses.LossProcess] = {
    "coins": am.losses.Stochastic(MEAN),
    "adaptive": am.losses.Adaptive(MEAN, strength=0.8, memory=0.5),
    "custom": am.losses.Custom(lambda t, past: np.full_like(MEAN, min(1.0, len(past) / 10))),
}


def make(losses: am.losses.LossProcess) -> Any:
    return gymnasium.make(am.gym.ENVIRONMENT_ID, mdp=MDP, losses=losses)


@pytest.mark.parametrize("name", PROCESSES)
def test_gymnasium_accepts_it(name: str) -> None:
    check_env(make(PROCESSES[name]).unwrapped)


@pytest.mark.parametrize("name", PROCESSES)
def test_same_seed_same_world_as_play(name: str) -> None:
    """Drive it with the very draws that ``play`` uses: losses, walks and the account agree."""
    n_episodes, seed = 30, 9
    learner = am.Uniform(MDP.layout)
    run = am.play(MDP, PROCESSES[name], learner, n_episodes, seed=seed, checkpoints=range(1, 31))
    env, total, totals = make(PROCESSES[name]), 0.0, []
    for t in range(n_episodes):
        observation, info = env.reset(seed=seed if t == 0 else None)
        over, k = False, 0
        while not over:
            assert (info["episode"], info["layer"]) == (t, k)
            u, _ = uniform_pair(*seed_words(seed), TRAJECTORY, t, k)
            observation, reward, over, truncated, info = env.step(int(u * 3))
            assert reward == -info["loss"]
            assert not truncated
            total += info["loss"]
            k += 1
        assert observation == MDP.layout.n_states - 1
        assert k == MDP.layout.n_layers
        totals.append(total)
    assert np.allclose(totals, run.realised_loss, rtol=0, atol=1e-12)


def test_an_episode_left_early_begins_again() -> None:
    env = make(PROCESSES["adaptive"])
    env.reset(seed=1)
    env.step(0)
    assert env.reset()[1]["episode"] == 0
    assert env.step(0)[4]["loss"] == MEAN[0]  # no pressure yet: nothing was observed
    env.step(0)
    env.step(0)
    assert env.reset()[1]["episode"] == 1
    assert env.step(0)[4]["loss"] == pytest.approx(min(1.0, MEAN[0] + 0.8 * 0.5))
    assert env.reset(seed=1)[1]["episode"] == 0
    assert env.step(0)[4]["loss"] == MEAN[0]


def test_without_a_seed_it_still_plays() -> None:
    env = am.gym.AdversarialMDP(MDP, PROCESSES["coins"])
    env.reset()
    assert env.step(1)[4]["loss"] in (0.0, 1.0)


def test_what_is_refused() -> None:
    env = am.gym.AdversarialMDP(MDP, am.losses.Replayed([MEAN]))
    with pytest.raises(am.InvalidInput, match="call reset first"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(am.InvalidInput, match=r"action: 3 is not in 0\.\.2"):
        env.step(3)
    for _ in range(3):
        env.step(0)
    with pytest.raises(am.InvalidInput, match="call reset first"):
        env.step(0)
    with pytest.raises(am.InvalidInput, match="1 recorded episodes cannot serve 2"):
        env.reset()


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_gymnasium_is_imported_only_when_asked_for() -> None:
    code = "import sys, advmdp as am; print('gymnasium' in sys.modules, am.gym.ENVIRONMENT_ID)"
    assert run_python(code) == "False advmdp/Adversarial-v0"
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import advmdp as am\n"
        "try: am.gym\n"
        "except am.MissingExtra as error: print(error)"
    )
    assert run_python(code) == "advmdp.gym needs Gymnasium: pip install 'advmdp[gym]'"
    with pytest.raises(AttributeError, match="no attribute 'gymm'"):
        am.gymm  # noqa: B018
