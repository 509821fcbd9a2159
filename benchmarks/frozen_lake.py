"""FrozenLake 8x8 from Gymnasium, unrolled over sixty steps: UOB-REPS in the environment itself.

The layout is deep and its support declared: 60 layers of up to 54 states with three successors a
row, and rows that share their counts over time.
"""

from __future__ import annotations

import gymnasium
import numpy as np

import advmdp as am
from advmdp.kernels.steps.interface import EVALUATIONS, ITERATIONS, PRODUCTS, certificate_of
from benchmarks.machine import calm
from benchmarks.report import Figure, Grid, Section, number, seconds

HORIZON = 60
RUN = 20_000  # the episodes that the learner is made for
TARGET = 300  # episodes per second, with the preset
COLUMNS = ("parameters", "after", "mean width", "episodes/s", "time", "Newton", "evals", "products")
SETTINGS: dict[str, dict[str, float]] = {"theory": {}, "preset": am.PRACTICAL["uob-reps"]}


def run(*, quick: bool) -> Section:
    """The constants of the proof and the preset, in the first hundreds of episodes."""
    warm_up, n_episodes = (20, 20) if quick else (200, 100)
    env = gymnasium.make("FrozenLake-v1", map_name="8x8", max_episode_steps=HORIZON)
    game = am.gym.from_gymnasium(env, HORIZON, pooled=True)
    section, rows = Section(), []
    for name, parameters in SETTINGS.items():
        learner = am.UOBREPS(game.layout, RUN, **parameters)
        am.gym.play(env, learner, game, warm_up, seed=0)
        effort: list[np.ndarray] = []

        def note(moment: am.Moment, effort: list[np.ndarray] = effort) -> None:
            effort.append(certificate_of(moment.learner.kernel_state.step).counts.copy())

        width, state = learner.mean_width, learner.state()

        def stretch(learner: am.UOBREPS = learner, state: dict = state) -> None:
            learner.restore(state)
            am.gym.play(env, learner, game, n_episodes, seed=1)

        timing, _ = calm(stretch)
        am.gym.play(env, learner, game, 10, seed=2, callback=note, every=1)
        mean = np.mean(effort, axis=0)
        each = timing.cpu / n_episodes
        counted = (f"{mean[i]:.1f}" for i in (ITERATIONS, EVALUATIONS, PRODUCTS))
        rate = f"{'~' if timing.noisy else ''}{number(1 / each)}"
        rows.append((name, f"{warm_up:,}", f"{width:.2f}", rate, seconds(each), *counted))
        target = TARGET if name == "preset" else None
        what = f"FrozenLake 8x8 at horizon {HORIZON}, {name}"
        section.figures.append(Figure(what, 1 / each, "episodes/s", target, noisy=timing.noisy))
    layout = game.layout
    note_below = (
        f"{layout.n_states:,} states, {layout.n_entries:,} declared triples; processor time, "
        "the environment's included"
    )
    section.grids.append(Grid("FrozenLake 8x8 from Gymnasium", COLUMNS, rows, note_below))
    return section
