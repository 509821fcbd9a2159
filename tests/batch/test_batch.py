"""Batches under numba's CUDA simulator: the runs of ``play``, for every learner."""

from __future__ import annotations

import pytest

from tests.batch.simulator import simulate
from tests.reference.contract import COMPILED

# Their programs, with other numbers, are those of learners that are played.
ALIKE = (
    *("uob-reps-l1-printed", "bandit-uc-o-reps-floor", "bandit-uc-o-reps-shifted", "ucbvi-ch"),
    *("delayed-uob-reps", "delayed-uob-ftrl", "tsallis-ftrl-aggregate", "log-barrier-ftrl"),
    *("optimistic-ftrl", "q-learning-h", "ada-o-reps", "plan-window-known", "apo-mvp"),
    *("plan-exponential-known", "dapo", "dilated-bonus-aggregate-known"),
)

EVERY_LEARNER = """
import sys

N = 6
for name in sys.argv[1].split(","):
    eager = {"log_scale": 0.001, "eta_scale": 4.0} if name.startswith("uob") else {}
    batch = [
        BatchRun(mdp, am.losses.Stochastic(TABLES[i]), make(name, N, mdp, **eager), seed=i)
        for i, mdp in enumerate([MDPS[0], MDPS[1], MDPS[0]])
    ]
    before = [run.learner.policy()[0].tolist() for run in batch]
    results = play_batch(batch, N, width=2)
    assert before == [run.learner.policy()[0].tolist() for run in batch], "a learner was changed"
    for run, result in zip(batch, results, strict=True):
        learner = make(name, N, run.mdp, **eager)
        assert_same(result, am.play(run.mdp, run.losses, learner, N, seed=run.seed))
    print(name)
"""

LOSSES = """
N = 10
usual, other = TABLES[0], 1.0 - TABLES[0]
for processes in (
    [am.losses.Switching([usual, other], period=p) for p in (3, 4)],
    [am.losses.Drifting(usual, other, period=p) for p in (5, 7)],
    [am.losses.Corrupted(usual, other, 3, N, seed=s) for s in (0, 1)],
    [am.losses.Adaptive(usual, strength=s) for s in (0.5, 0.0)],
    [am.losses.Majority.against(usual, period=4), am.losses.Switching([other, usual], period=2)],
):
    learner = make("exp3-ix", N, MDPS[0])
    batch = [BatchRun(MDPS[0], losses, learner, seed=7) for losses in processes]
    for run, result in zip(batch, play_batch(batch, N), strict=True):
        assert_same(result, am.play(run.mdp, run.losses, make("exp3-ix", N, MDPS[0]), N, seed=7))
print("same")
"""

WIDE = """
# Layers wide enough for conjugate gradients, and a declared support.
N = 3
wide = am.families.random_mdp((1, 13, 1), 2, seed=0)
sparse = am.families.random_mdp((1, 4, 4, 1), 2, seed=0, n_successors=2)
for mdp in (wide, sparse):
    losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
    learner = make("uob-reps", N, mdp, log_scale=0.001)
    batch = [BatchRun(mdp, losses, learner, seed=i) for i in range(2)]
    for i, result in enumerate(play_batch(batch, N)):
        other = am.play(mdp, losses, make("uob-reps", N, mdp, log_scale=0.001), N, seed=i)
        assert_same(result, other)
        assert result.solver.products == other.solver.products
print("same")
"""

WAVES = """
N = 6
learners = [make("uob-reps", N, MDPS[0], eta_scale=scale) for scale in (1.0, 2.0)]
losses = am.losses.Stochastic(TABLES[0])
batch = [BatchRun(MDPS[0], losses, learners[i % 2], seed=i) for i in range(5)]
whole = play_batch(batch, N, width=4, checkpoints=[2, 5])
reports = []
cut = play_batch(batch, N, width=4, checkpoints=[2, 5], memory=10_000, progress=reports.append)
assert reports[-1].runs == 5 and reports[-1].episodes == 5 * N, reports[-1]
assert len({report.runs for report in reports}) > 1, "everything fitted: the case is too easy"
for run, other in zip(whole, cut, strict=True):
    assert run.episodes.tolist() == [2, 5, 6]
    assert run.regret.tobytes() == other.regret.tobytes()
    assert run.decomposition.reg.tobytes() == other.decomposition.reg.tobytes()
print("same")
"""

RESUMED = """
import advmdp.batch.playing as playing

N = 10
losses = am.losses.Adaptive(TABLES[0], strength=0.3)
batch = [BatchRun(MDPS[i % 2], losses, make("uob-reps", N, MDPS[0]), seed=i) for i in range(3)]
options = dict(width=2, checkpoints=[3, 7], memory=9_000)
saved = []
whole = play_batch(batch, N, save=saved.append, save_seconds=0.0, **options)
assert len({int(state["wave"]) for state in saved}) > 1, "only one wave: the case is too easy"
for state in saved:
    on_disk = {name: np.array(array) for name, array in state.items()}
    again = play_batch(batch, N, resume=on_disk, **options | {"memory": 10**6})
    for run, other in zip(whole, again, strict=True):
        for name in ("regret", "expected_loss", "realised_loss", "mean_width"):
            assert getattr(run, name).tobytes() == getattr(other, name).tobytes(), name
        assert run.solver == other.solver
        assert run.epoch_starts.tolist() == other.epoch_starts.tolist()
last = batch[-1]
reseeded = [*batch[:-1], BatchRun(last.mdp, last.losses, last.learner, seed=99)]
for other in (batch[:2], batch[::-1], reseeded):
    try:
        play_batch(other, N, resume=saved[0], **options)
    except am.InvalidInput as problem:
        assert "another batch" in str(problem)
    else:
        raise AssertionError("resumed with other runs")
print("same")
"""

STRICT = """
from advmdp.batch.compiling import Program, _nothing_fused
from numba.cuda import decorators
from numba.cuda.cudadrv import nvvm

decorators._have_nvjitlink = lambda: True  # then numba optimises when linking, unless told not to
program = Program(lambda array: None, threads=1, registers=64)
assert program._kernel.targetoptions["lto"] is False, "the linker fuses products and sums"
assert program._kernel.targetoptions["max_registers"] == 64
told = {}
nvvm.compile_ir = plain = lambda *arguments, **options: told.update(options)
with _nothing_fused():
    nvvm.compile_ir([], opt=3)
assert told == {"fma": 0, "opt": 3}, told
assert nvvm.compile_ir is plain
print("strict")
"""

# What threads of one run share is exchanged by identity: kernels may have names of their own.
EXCHANGED = """
import importlib
import sys
from advmdp.batch import programs, sharing
from advmdp.kernels.runtime.targets import CUDA_PACKAGE

programs._load_kernels()
programs._load_kernels()  # for another plan
kernels = [module for name, module in sys.modules.items() if name.startswith(CUDA_PACKAGE)]
for name in ("shared", "barrier", "reduce_max"):
    users = [module for module in kernels if hasattr(module, name)]
    assert len(users) > 1, name
    for module in users:
        exchanged = getattr(module, name) is getattr(sharing, name)
        assert exchanged or module.__name__.endswith("runtime.threads"), (module.__name__, name)
episode = importlib.import_module(f"{CUDA_PACKAGE}.accounting.episode")
assert episode.align_at_episode is sharing.align_at_episode
print("exchanged")
"""

# An H200 has 132 multiprocessors; a thread with 109 registers lets 18 warps into a block.
BLOCKS = """
from advmdp.batch import wave

wave.processors = lambda: 132
assert wave.warps_of_a_block(1000, 14, 18) == 8  # on 125 of them
assert wave.warps_of_a_block(135_168 // 32, 14, 32) == 32  # full
assert wave.warps_of_a_block(10_000, 14, 32) == 32  # more than full
assert wave.warps_of_a_block(3000, 14, 18) == 18
assert wave.warps_of_a_block(528, 14, 18) == 1  # a scheduler for each
assert wave.warps_of_a_block(1000, 204, 18) == 1  # long loops
print("blocks")
"""

# Projections that fail on purpose: every one on the fast path, and that of a marked run on both.
FAILING = """
import importlib
from advmdp.kernels.runtime.targets import load_cuda_kernels

package = load_cuda_kernels().__name__
MARK = 77.0


def fail_if_marked(project_safely):
    def pretend(graph, measure, rows, solver):
        if solver.certificate.figures[2] == MARK:
            return False
        return project_safely(graph, measure, rows, solver)

    return pretend


step = importlib.import_module(f"{package}.kl.step")
step.project = lambda *arguments: False
step.project_safely = fail_if_marked(step.project_safely)
losses = am.losses.Stochastic(np.ones(LAYOUT.n_rows))
"""

REFUSED = """
N = 4
learners = [make("uob-reps", N, MDPS[0]) for _ in range(2)]
learners[1]._state.step.solver.certificate.figures[2] = MARK
batch = [BatchRun(MDPS[0], losses, learner, seed=i) for i, learner in enumerate(learners)]
try:
    play_batch(batch, N, width=2)
except RefusedRuns as problem:
    assert "1 of 2 runs" in str(problem) and "run 1 at episode 1" in str(problem), problem
    assert "\\n" not in str(problem)
    assert problem.refused.tolist() == [-1, 0]
    assert problem.runs[1] is None
    other = am.play(MDPS[0], losses, make("uob-reps", N, MDPS[0]), N)
    assert_same(problem.runs[0], other, safe_paths=N)
else:
    raise AssertionError("an uncertified step slipped through")
print("refused")
"""

SAFE_PATH = """
N = 5
learner = make("uob-reps", N, MDPS[0], log_scale=0.001)
batch = [BatchRun(MDPS[0], losses, learner, seed=i) for i in range(3)]
for i, result in enumerate(play_batch(batch, N, width=2)):
    other = am.play(MDPS[0], losses, make("uob-reps", N, MDPS[0], log_scale=0.001), N, seed=i)
    assert_same(result, other, safe_paths=N)
print("safe")
"""


# The lemmas' claims: sums that an observer keeps, with and without the bounds of all pairs.
WATCHED = """
from dataclasses import asdict

from advmdp.claims.playing import observed_runs
from advmdp.claims.playing.observed_runs import observe_run, observe_runs

N = 8
LOSSES = am.losses.Stochastic(np.ones(LAYOUT.n_rows))


def runs():
    for i in range(3):
        learner = make("uob-reps", N, MDPS[i % 2], log_scale=0.001, eta_scale=3.0)
        yield BatchRun(MDPS[i % 2], LOSSES, learner, seed=i)


played_here = []
observed_runs.observe_run = lambda *run, **how: played_here.append(run) or observe_run(*run, **how)
for bounds in (True, False):
    card = observe_runs(runs(), N, bounds=bounds, on_gpu=True)
    assert (len(played_here) > 0) == FAILS  # runs whose last episode opened an epoch
    cores = observe_runs(runs(), N, bounds=bounds)
    assert len(card) == len(cores) == 3
    for ours, theirs in zip(card, cores):
        for name, value in asdict(theirs).items():
            a = getattr(ours, name)
            assert type(a) is type(value), name
            close = 0.0 if isinstance(value, int) else CLOSE
            assert np.allclose(a, value, rtol=close, atol=close), name
        assert (theirs.upper.any() and theirs.spread.any()) == bounds
    played_here.clear()
    assert sum(seen.rows for seen in cores) > 50  # rows that were looked at
assert max(seen.least_factor for seen in cores) > 0.0
print("watched")
"""


@pytest.mark.parametrize("part", range(3))
def test_every_learner_plays_as_on_the_cpu(part: int) -> None:
    names = [name for name in COMPILED if name not in ALIKE][part::3]
    assert simulate(EVERY_LEARNER, ",".join(names)).split() == names


def test_loss_processes_of_one_shape_share_a_batch() -> None:
    assert "same" in simulate(LOSSES)


def test_wide_layers_and_declared_supports() -> None:
    assert "same" in simulate(WIDE)


def test_a_batch_is_cut_to_the_memory_of_the_card() -> None:
    assert "same" in simulate(WAVES)


def test_a_resumed_batch_ends_with_the_same_bits() -> None:
    assert "same" in simulate(RESUMED)


def test_an_uncertified_step_stops_its_run_and_no_other() -> None:
    assert "refused" in simulate(FAILING + REFUSED)


def test_the_safe_path_takes_over() -> None:
    assert "safe" in simulate(FAILING + SAFE_PATH)


def test_an_observer_sees_the_same_on_the_card() -> None:
    assert "watched" in simulate("FAILS, CLOSE = False, 1e-12" + WATCHED)


def test_a_last_set_that_nobody_looked_at_is_looked_at_here() -> None:
    assert "watched" in simulate(FAILING + "FAILS, CLOSE = True, 1e-7" + WATCHED)


def test_gpu_programs_fuse_nothing() -> None:
    assert "strict" in simulate(STRICT, simulator=False)


def test_how_many_warps_go_in_step() -> None:
    assert "blocks" in simulate(BLOCKS, simulator=False)


def test_only_what_threads_share_is_exchanged() -> None:
    assert "exchanged" in simulate(EXCHANGED, simulator=False)
