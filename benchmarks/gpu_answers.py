"""The answers of ``benchmarks.gpu``: the same runs on the GPU and on the CPU, episode by episode.

Both engines add, multiply, divide and take roots alike, to the last bit; ``exp`` and ``log`` come
from two libraries, which differ in the last place now and then.  Importance-weighted learners
amplify that: the less likely an action, the larger its estimated loss, the less likely it gets.
Some thousand episodes later a random number falls between the two engines' boundaries of an action,
and the trajectories part.  For every run that parts, the table keeps that draw: how far the random
number was from the boundary on the CPU, and how far the boundary of the GPU was from it.

The control is the CPU against itself, with the first policy nudged by one unit in the last place
(learners that compute every policy from counters take no notice).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import advmdp as am
from advmdp.batch import BatchRun, RefusedRuns, play_batch
from advmdp.batch.columns import Block
from advmdp.batch.playing import shape_of
from advmdp.batch.runs import casts
from advmdp.evaluation.schema import term_columns
from advmdp.kernels.runtime.random_numbers import TRAJECTORY, uniform_pair
from advmdp.kernels.runtime.targets import machine_code
from advmdp.seeds import seed_words
from benchmarks.worlds import SMALL

RUNS, EPISODES = 32, 10_000
MOMENTS = (100, 1_000)  # episodes after which policies are compared
TERMS = tuple(term.name for term in term_columns())
# One of every kind of kernel; the last two use neither exp nor log.
LEARNERS = (
    *("uob-reps", "uob-reps-l1", "o-reps", "uc-o-reps", "bandit-uc-o-reps", "fpop", "mdp-e"),
    *("ngs-2010", "exp3-ix", "ucrl2-window", "q-learning-b", "ucbvi-bf"),
)


class Trace(NamedTuple):
    """What some runs did in every episode."""

    rows: NDArray[np.int64]  # (episode, run, layer)
    policies: NDArray[np.float64]  # (episode, run, row), before the episode


def make(name: str, mdp: am.LayeredMDP, **parameters: float) -> Any:
    """A learner for ``EPISODES`` episodes."""
    entry = am.LEARNERS[name]
    known = {"transitions": mdp.transitions} if entry.knows_transition else {}
    horizon = {"n_episodes": EPISODES} if entry.has_horizon else {}
    return entry.make(mdp.layout, **horizon, **known, **parameters)


def batch_of(name: str, n_runs: int = RUNS, **parameters: float) -> list[BatchRun]:
    """Runs on four MDPs with three loss processes."""
    mdps = [am.families.random_mdp(SMALL.sizes, SMALL.n_actions, seed=i) for i in range(4)]
    rng = np.random.default_rng(5)
    losses = [am.losses.Stochastic(rng.random(mdps[0].layout.n_rows)) for _ in range(3)]
    return [
        BatchRun(mdps[i % 4], losses[i % 3], make(name, mdps[i % 4], **parameters), seed=i)
        for i in range(n_runs)
    ]


def new_trace(runs: Sequence[BatchRun], n_episodes: int) -> Trace:
    """Room for it."""
    layout = runs[0].mdp.layout
    size = (n_episodes, len(runs))
    return Trace(np.zeros((*size, layout.n_layers), np.int64), np.zeros((*size, layout.n_rows)))


def on_gpu(runs: list[BatchRun], n_episodes: int) -> Trace:
    """By the programs of ``play_batch``, one episode at a time."""
    from advmdp.batch.programs import programs_for
    from advmdp.batch.wave import Wave

    block = Block(casts(runs, n_episodes), *shape_of(runs))
    programs = programs_for(block.plan, None)
    wave = Wave(block, programs, 0, len(runs))
    trace = new_trace(runs, n_episodes)
    [policy] = {"state.0.policy", "state.0.step.measure.policy"} & set(wave.columns)
    for t in range(n_episodes):
        trace.policies[t] = wave.column(policy)
        wave.play(t + 1)
        trace.rows[t] = wave.column("ledger.path")
    return trace


def on_cpu(runs: list[BatchRun], n_episodes: int, *, nudged: bool = False) -> Trace:
    """By the compiled loop of ``play``, one episode at a time; the learners are used up."""
    trace = new_trace(runs, n_episodes)
    for i, run in enumerate(runs):
        learner: Any = run.learner
        cast = casts([run], n_episodes)[0]
        head = cast.state[0]
        policy = head.step.measure.policy if hasattr(head, "step") else head.policy
        if nudged:
            policy[0] = np.nextafter(policy[0], 1.0)
            if hasattr(head, "score"):  # of which the policy is computed
                head.score[0] = 2.0**-52
        first = (cast.graph, cast.world, cast.program, cast.ledger)
        play = machine_code(learner.compiled_loop().kernel, *first, 0, 1, *cast.state)
        for t in range(n_episodes):
            trace.policies[t, i] = policy
            if play(*first, t, t + 1, *cast.state) != t + 1:
                raise RuntimeError(f"run {i}, episode {t + 1}: the safe path is compared elsewhere")
            trace.rows[t, i] = cast.ledger.path
    return trace


def first_difference(run: BatchRun, i: int, ours: Trace, base: Trace) -> dict[str, Any] | None:
    """The draw at which run i parts, or None."""
    differ = np.flatnonzero((ours.rows[:, i] != base.rows[:, i]).any(axis=1))
    if not len(differ):
        return None
    t = int(differ[0])
    k = int(np.flatnonzero(ours.rows[t, i] != base.rows[t, i])[0])
    rows = sorted((int(ours.rows[t, i, k]), int(base.rows[t, i, k])))
    begin = rows[0] - rows[0] % SMALL.n_actions
    # an action is drawn by comparing u with the sums of the policy: the first of the two chosen
    # actions ends at the boundary between them
    ends = [
        np.maximum(trace.policies[t, i, begin : rows[0] + 1], 0.0).sum() for trace in (base, ours)
    ]
    u, _ = uniform_pair(*seed_words(run.seed), TRAJECTORY, t, k)
    return {
        "run": i,
        "episode": t + 1,
        "from the boundary": abs(u - ends[0]),
        "boundary moved by": abs(ends[1] - ends[0]),
    }


def agreement(runs: list[BatchRun], ours: Trace, base: Trace) -> dict[str, Any]:
    """How long trajectories stay equal, and policies close."""
    apart = np.abs(np.maximum(ours.policies, 0.0) - np.maximum(base.policies, 0.0)).max(axis=2)
    same_bits = (ours.policies == base.policies).all(axis=(0, 2))
    found = [first_difference(run, i, ours, base) for i, run in enumerate(runs)]
    parted = [draw for draw in found if draw is not None]
    drawn = sum(draw["episode"] if draw else len(ours.rows) for draw in found)
    return {
        "same bits to the end": int(same_bits.sum()),
        "same trajectories to the end": len(runs) - len(parted),
        "policies differ by, after": {
            str(t): float(apart[t].max()) for t in MOMENTS if t < len(apart)
        },
        "episodes until the first difference, in all": int(drawn),
        "first differing draws": sorted(parted, key=lambda draw: draw["episode"]),
    }


def figures(name: str, n_episodes: int) -> dict[str, float]:
    """How far ``play_batch`` and ``play`` are apart, relative to the regret: it, and its terms."""
    gpu = play_batch(batch_of(name), n_episodes, checkpoints=[min(500, n_episodes)])
    apart, terms_apart = [], [0.0]
    for run, other in zip(gpu, batch_of(name), strict=True):
        points = [min(500, n_episodes)]
        world = (other.mdp, other.losses, other.learner)
        base = am.play(*world, n_episodes, seed=other.seed, checkpoints=points)
        apart.append(np.abs(run.regret - base.regret) / np.abs(base.regret))
        if run.decomposition is not None and base.decomposition is not None:
            for term in TERMS:
                ours, theirs = getattr(run.decomposition, term), getattr(base.decomposition, term)
                terms_apart.append(abs((ours[0] - theirs[0]) / base.regret[0]))
    first, last = np.array(apart)[:, [0, -1]].T
    return {
        "500": float(first.max()),
        "500, of the four terms": float(max(terms_apart)),
        "end": float(last.max()),
        "end, median": float(np.median(last)),
    }


def compare(name: str, n_episodes: int = EPISODES) -> dict[str, Any]:
    """GPU against CPU, and CPU against a nudged CPU."""
    runs = batch_of(name)
    gpu, cpu = on_gpu(runs, n_episodes), on_cpu(batch_of(name), n_episodes)
    nudged = on_cpu(batch_of(name), n_episodes, nudged=True)
    return {
        "learner": name,
        "world": str(SMALL),
        "runs": RUNS,
        "episodes": n_episodes,
        "gpu against cpu": agreement(runs, gpu, cpu),
        "cpu nudged against cpu": agreement(runs, nudged, cpu),
        "relative difference of the regret, after": figures(name, n_episodes),
    }


def safe_path(width: int, n_runs: int = 1_056, n_episodes: int = 300) -> dict[str, Any]:
    """Rates far beyond the theory's, so that the fast path fails: the safe path, on the card.

    The runs go in step, and leave their block for the safe path or for good.
    """
    parameters = {"eta_scale": 3e4, "log_scale": 0.01}
    runs = batch_of("uob-reps", n_runs, **parameters)
    try:
        gpu: list[am.Run | None] = list(play_batch(runs, n_episodes, checkpoints=[50], width=width))
    except RefusedRuns as problem:
        gpu = problem.runs
    apart, safe, refused = [], [], []
    for i, run in enumerate(gpu):
        other = runs[i]  # a batch leaves its learners as they are
        world = (other.mdp, other.losses, other.learner)
        try:
            base = am.play(*world, n_episodes, seed=other.seed, checkpoints=[50])
        except am.UncertifiedStep:
            refused.append(i)
            continue
        if run is None or run.solver is None or base.solver is None:
            continue
        safe.append((run.solver.safe_paths, base.solver.safe_paths))
        apart.append(np.abs(run.expected_loss - base.expected_loss) / base.expected_loss)
    counts = np.array(safe)
    return {
        "learner": "uob-reps",
        "world": str(SMALL),
        "episodes": n_episodes,
        **parameters,
        "runs": n_runs,
        "runs in a warp": width,
        "refused runs": {
            "gpu": sum(run is None for run in gpu),
            "cpu": len(refused),
            "both": sum(gpu[i] is None for i in refused),
        },
        "projections on the safe path": dict(
            zip(("gpu", "cpu"), map(int, counts.sum(axis=0)), strict=True)
        ),
        "relative difference of the expected loss, after": {
            str(t): dict(
                zip(("median", "most"), map(float, (np.median(at), np.max(at))), strict=True)
            )
            for t, at in zip((50, n_episodes), np.array(apart).T, strict=True)
        },
        "worst residual": max(r.solver.worst_residual for r in gpu if r is not None and r.solver),
    }
