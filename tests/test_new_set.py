"""A set of transitions is added without an edit in the package, and is told apart in one room.

``tests/outside/lower_bounds_kernel.py`` registers one from outside; here it is played, compiled.
Its oracle is the plain transcription of UOB-REPS with the same bounds (``test_every_set.py``
projects onto it).
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from advmdp.kernels.sets import SETS
from tests.batch.simulator import simulate
from tests.outside.lower_bounds import LowerBoundREPS
from tests.reference.linear_programs import upper_occupancy_lp
from tests.reference.plain_uob_reps import Episode, PlainUOBREPS, random_episodes
from tests.reference.shadow import assert_resumes, assert_same_both_ways
from tests.reference.tables import Array, Table, greatest_difference

PACKAGE = Path(am.__file__).parent


# ---------------------------------------------------------------------- what it gives


class PlainLowerBoundREPS(PlainUOBREPS):
    """The transcription with no upper bounds, and u_t by linear programs."""

    def bounds(self) -> tuple[Table, Table]:
        lower, upper = super().bounds()
        return lower, [np.ones_like(layer) for layer in upper]

    def upper_occupancy(self, episode: Episode) -> Array:
        u = upper_occupancy_lp(self.policy, *self.bounds())
        visited = zip(episode.states, episode.actions, strict=False)
        return np.array([u[k][x, a] for k, (x, a) in enumerate(visited)])


def test_mirror_descent_over_it_is_the_transcription() -> None:
    mdp = am.families.random_mdp((1, 2, 3, 1), 2, seed=1)
    parameters: dict[str, Any] = {"eta": 0.3, "gamma": 0.05, "log_scale": 0.02}
    learner = LowerBoundREPS(mdp.layout, 60, **parameters)
    plain = PlainLowerBoundREPS((1, 2, 3, 1), 2, n_episodes=60, delta=0.1, **parameters)
    for episode in random_episodes(5, mdp.transitions, 60):
        plain.update(episode)
        learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        assert learner.epoch == plain.epoch
        bounds = learner.upper_occupancy_of_last
        assert np.allclose(bounds, plain.upper_occupancy_of_last, rtol=0, atol=1e-6)
        assert greatest_difference(learner.policy(), plain.policy) <= 1e-6
    assert 0.0 < learner.mean_width < 0.9


def test_it_is_played_compiled_and_resumed() -> None:
    mdp = am.families.random_mdp((1, 3, 3, 1), 2, seed=0)
    losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
    known = [np.full_like(table, np.nan) for table in mdp.transitions]
    known[1][0] = mdp.transitions[1][0]
    for layout in (mdp.layout, mdp.layout.knowing(known)):
        world = am.LayeredMDP(layout, mdp.transitions)

        def make(layout: am.Layout = layout) -> LowerBoundREPS:
            return LowerBoundREPS(layout, 400, log_scale=0.01)

        assert_same_both_ways(world, losses, make, 400)
        assert_resumes(world, losses, make, 400)


ON_THE_CARD = """
import json, sys
from tests.outside.lower_bounds import LowerBoundREPS

N = 9
learners = [LowerBoundREPS(mdp.layout, N, log_scale=0.001) for mdp in MDPS]
worlds = [(mdp, am.losses.Stochastic(TABLES[i])) for i, mdp in enumerate(MDPS)]
batch = [BatchRun(*worlds[i], learners[i], seed=i) for i in range(2)]
regrets = [run.regret for run in play_batch(batch, N, width=2)]
assert np.allclose(regrets, json.loads(sys.argv[1]), rtol=1e-10, atol=1e-10)
print("same")
"""


def test_it_is_played_on_a_gpu() -> None:
    """The runs of the simulated card are those of ``play``, which this process has compiled."""
    regrets = []
    for i in range(2):
        mdp = am.families.random_mdp((1, 2, 3, 1), 2, seed=i)
        losses = am.losses.Stochastic(np.random.default_rng(i).random(mdp.layout.n_rows))
        learner = LowerBoundREPS(mdp.layout, 9, log_scale=0.001)
        regrets.append(am.play(mdp, losses, learner, 9, seed=i).regret.tolist())
    assert simulate(ON_THE_CARD, json.dumps(regrets)).split() == ["same"]


# ---------------------------------------------------------------------- where sets are told apart

NAMES = {kind.__name__ for kind in SETS}
# ``uniform_measure`` and ``is_balanced`` ask whether everything is known; the row problems of
# regularisers on triples are registered, by type, for the sets that have one.
TELLS_APART = {
    "learners/mirror/initial_measure.py": {"KnownRows"},
    "kernels/ftrl/triples/ball_problem.py": {"BallRows"},
    "kernels/ftrl/triples/row_problem.py": {"BoxRows"},
}


def told_apart(source: str) -> set[str]:
    """The set records that a file compares with or registers something for."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            name = name.id if isinstance(name, ast.Name) else name
            if name in ("isinstance", "issubclass", "register"):
                found |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        elif isinstance(node, ast.Compare):
            found |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return found & NAMES


def test_told_apart_sees_every_form() -> None:
    for line in ("isinstance(x, BoxRows)", "f.register(BallRows)(g)", "type(x) is KnownRows"):
        assert len(told_apart(line)) == 1
    assert not told_apart("def f(rows: BoxRows) -> BallRows: return BallRows(rows.status)")


def test_sets_are_told_apart_in_one_room() -> None:
    """Everywhere else a set is found by its type when compiling."""
    elsewhere = {
        str(path.relative_to(PACKAGE)): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if "kernels/sets" not in path.as_posix() and (names := told_apart(path.read_text()))
    }
    assert elsewhere == TELLS_APART


def test_a_new_set_is_three_files() -> None:
    """Its kernels, its line in the registry, its public class: no other file names all sets."""
    allowed = {"kernels/sets/__init__.py", "steps/confidence.py"}
    every = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        >= NAMES
    }
    assert every <= allowed
