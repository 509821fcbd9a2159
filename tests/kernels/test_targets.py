"""One source for two targets: the CUDA simulator gives the CPU's numbers; caches never go stale."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

import advmdp
from advmdp.kernels.runtime import targets

PACKAGE = Path(advmdp.__file__).parent

# The same episodes, once compiled for the CPU and once through the device functions, on arrays
# that are columns of (entry, run) tables as a batch of runs stores them.
SIMULATED_RUN = """
import numpy as np
from numba import cuda
import advmdp as am
from advmdp.evaluation.account import new_ledger
from advmdp.kernels.accounting.episode import play_episodes
from advmdp.kernels.accounting.ledger import World
from advmdp.batch.views import twin
from advmdp.kernels.runtime.targets import load_cuda_kernels
import importlib
from advmdp.steps import workspace

# The CPU takes the same way as a card: no packs, no kept factors.
workspace.LEAST_PACKED, workspace.MOST_KEPT = 10**9, 0
mdp = am.families.random_mdp((1, 2, 3, 1), 2, seed=0)
losses = am.losses.Stochastic(mdp.layout.pairs(np.random.default_rng(0).random(mdp.layout.n_rows)))
package = load_cuda_kernels().__name__
device = importlib.import_module(package + ".accounting.episode").play_episodes
assert device is not play_episodes


def strided(value):
    if isinstance(value, tuple):
        return twin(type(value))(*(strided(part) for part in value))
    if isinstance(value, np.ndarray) and value.ndim == 1:
        table = np.zeros((value.size, 2), dtype=value.dtype)
        table[:, 1] = value
        return table[:, 1]
    return value


def fresh():
    learner = am.UOBREPS(mdp.layout, n_episodes=12, log_scale=0.001, eta_scale=4.0)
    stream = losses.begin(mdp.layout, 7)
    world = World(np.array(mdp.flat), *stream.words)
    return learner._state, [mdp.layout.graph(), world, stream.program, new_ledger(mdp), 0, 12]


host_state, host = fresh()
assert play_episodes(*host, host_state, None) == 12
state, arguments = fresh()
state, arguments = strided(state), [strided(argument) for argument in arguments]
done = np.zeros(1, dtype=np.int64)


@cuda.jit
def launch(done):
    done[0] = device(*arguments, state, None)


launch[1, 1](done)
assert done[0] == 12
for name in ("chance", "policy", "mass"):
    ours, theirs = getattr(state.step.measure, name), getattr(host_state.step.measure, name)
    assert np.allclose(ours, theirs, rtol=1e-12, atol=1e-300), name
assert np.array_equal(state.visits.triples, host_state.visits.triples)
assert np.array_equal(state.visits.clock, host_state.visits.clock)
assert (host_state.rows.status > 0).any(), "no set was narrowed: the case is too easy"
assert np.allclose(arguments[3].sums, host[3].sums, rtol=1e-12)
assert arguments[3].sums[0] > 0
print("same numbers")
"""


def test_whole_episodes_under_the_cuda_simulator() -> None:
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", SIMULATED_RUN]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "same numbers" in result.stdout


def test_an_edit_of_any_kernel_file_renews_every_cache(tmp_path: Path) -> None:
    """numba alone would keep the old code of an inlined kernel from another file."""
    package = tmp_path / "advmdp"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    script = (
        "import numpy as np; from advmdp.kernels.model.flow import expected_loss;"
        "from advmdp.layout import Layout;"
        "graph = Layout((1, 1), 1).graph();"
        "print(expected_loss(graph, np.ones(1), np.ones(2), np.ones(1)))"
    )
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def answer() -> float:
        result = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return float(result.stdout)

    assert answer() == 1.0
    source = package / "kernels" / "model" / "log_storage.py"  # inlined into flow.py's kernels
    source.write_text(source.read_text().replace("return max(value, 0.0)", "return 3.0"))
    assert answer() == 9.0
    # an index left by other sources may name classes that no longer exist: it is not even opened
    for index in (tmp_path / "cache").rglob("*.nbi"):
        if targets.SOURCE_STAMP[:12] in index.name:
            index.write_bytes(b"not an index")
    assert answer() == 9.0


def test_kernels_keep_to_the_rules() -> None:
    """No allocation and no NumPy function: only casts may be called from ``np``."""
    allowed = {
        "np.int64",
        "np.uint32",
        "np.uint8",
        "np.float64",
        "np.int32",
        "np.integer",
        "np.bool_",
    }
    for path in sorted((PACKAGE / "kernels").rglob("*.py")):
        text = path.read_text()
        used = {"np." + word.split("np.")[1] for word in _words(text) if word.startswith("np.")}
        assert used <= allowed, (path.name, used - allowed)


def _words(text: str) -> list[str]:
    return re.findall(r"\bnp\.\w+", text)


def test_the_stamp_covers_every_source() -> None:
    assert len(targets.SOURCE_STAMP) == 64
    covered = set(targets.KERNEL_FILES)
    for path in PACKAGE.rglob("*.py"):
        if re.search(r"^@(kernel|leaf)$", path.read_text(), re.MULTILINE):
            assert path in covered, path


PLAY_WIDE = """
import numpy as np
import advmdp as am
mdp = am.families.random_mdp((1, 23, 19, 1), 3, seed=0)
losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
{first}
run = am.play(mdp, losses, am.Uniform(mdp.layout), 50, checkpoints=range(1, 51))
print(run.expected_loss.tobytes().hex(), run.best_loss.tobytes().hex())
"""
# Loads copies of the same kernels in another order: those of the protocol loop first.
OTHER_LOOP_FIRST = "am.play(mdp, losses, am.Uniform(mdp.layout), 3, compiled=False)"


def test_every_process_gives_the_same_bits(tmp_path: Path) -> None:
    """One that compiles, one that loads what it compiled, and one that loads in another order."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def figures(first: str) -> str:
        script = PLAY_WIDE.format(first=first)
        result = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert figures("") == figures("") == figures(OTHER_LOOP_FIRST)


class Pair(NamedTuple):
    numbers: Any
    scale: float


class OtherPair(NamedTuple):
    numbers: Any
    scale: float


def test_bundles_that_are_alike_share_their_machine_code_and_no_others() -> None:
    """The look-up distinguishes whatever numba has different types for."""
    fixed, wide = np.zeros(3), np.zeros((2, 3))
    fixed.flags.writeable = False
    numbers = [np.zeros(3), fixed, wide, wide.T, wide[0, ::2], np.zeros(3, int), None, 1, 1.0, True]
    bundles = [kind(each, 1.0) for kind in (Pair, OtherPair) for each in numbers]
    asked: list[Any] = []

    class Compiled:
        def compile(self, types: Any) -> object:
            asked.append(types)
            return types

    compiled: Any = Compiled()
    for bundle in bundles * 2:
        assert targets.machine_code(compiled, bundle) == (numba.typeof(bundle),)
    assert targets.machine_code(compiled, Pair(np.ones(7), 2.0)) is asked[0]
    assert len(asked) == len(bundles) == len(set(asked))
