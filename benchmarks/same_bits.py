"""The bits of many runs: recorded before a change of the kernels, compared after it.

    python -m benchmarks.same_bits record before.json      # also --engine simulator, --engine cuda
    python -m benchmarks.same_bits compare before.json after.json

Every case is one learner of the catalogue on one world with one loss process: compiled, in the
protocol loop, or cut and resumed.  What is recorded is a checksum of every curve, of the best
policy and of the final policy.  Only public names are used, so that two versions of the package
can be compared.  The engines ``simulator`` (numba's CUDA simulator) and ``cuda`` play batches.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

CURVES = ("episodes", "regret", "expected_loss", "realised_loss", "best_loss")
OPTIONAL = ("epoch", "mean_width", "epoch_starts")
TERMS = ("error", "bias1", "reg", "bias2")
SETTINGS: dict[str, dict[str, float]] = {"theory": {}, "sharp sets": {"log_scale": 0.01}}
EAGER = {"uob-reps": {"eta_scale": 16.0, "gamma_scale": 0.05, "log_scale": 0.01}}


def checksum(*arrays: Any) -> str:
    """Of the bits of some arrays; None is skipped."""
    found = hashlib.sha256()
    for array in arrays:
        if array is not None:
            found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def bits_of(run: Any, learner: Any) -> dict[str, str]:
    """Checksums of all that a run says, one for each part."""
    parts = {name: checksum(getattr(run, name)) for name in (*CURVES, *OPTIONAL)}
    if run.decomposition is not None:
        parts |= {name: checksum(getattr(run.decomposition, name)) for name in TERMS}
    if run.solver is not None:
        parts["solver"] = repr(run.solver)
    parts["best"] = checksum(*run.best.policy)
    if learner is not None:
        parts["policy"] = checksum(*learner.policy())
    return parts


def worlds() -> dict[str, Any]:
    """Dense, wide, declared, scattered, shared counts, long, one state a layer."""
    import advmdp as am

    return {
        "dense": am.families.random_mdp((1, 3, 3, 1), 2, seed=0),
        "middle": am.families.random_mdp((1, 6, 5, 6, 1), 3, seed=1),
        "wide": am.families.random_mdp((1, 14, 15, 1), 2, seed=2),
        "declared": am.families.grid(2, 2, horizon=3),
        "scattered": am.families.random_mdp((1, 5, 5, 1), 2, seed=3, n_successors=2),
        "shared counts": am.families.river_swim(length=4, horizon=6, pooled=True),
        "single states": am.families.random_mdp((1, 1, 1), 3, seed=4),
    }


def made(name: str, mdp: Any, n_episodes: int, **parameters: Any) -> Any:
    """A learner as the catalogue makes it."""
    import advmdp as am

    entry = am.LEARNERS[name]
    if entry.knows_transition:
        parameters["transitions"] = mdp.transitions
    if entry.has_horizon:
        parameters["n_episodes"] = n_episodes
    return entry.make(mdp.layout, **parameters)


def processes(mdp: Any) -> dict[str, Any]:
    """An oblivious process with coin flips, and one that reads the path."""
    import advmdp as am

    rng = np.random.default_rng(7)
    tables = [rng.random(mdp.layout.n_rows) for _ in range(2)]
    return {
        "switching": am.losses.Switching(tables, period=50, noisy=True),
        "adaptive": am.losses.Adaptive(tables[0]),
    }


def settings_of(name: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Theory's parameters, sets that bind early, and absurd rates, where a learner takes them."""
    import inspect

    import advmdp as am

    parameters = inspect.signature(am.LEARNERS[name].make).parameters
    for label, setting in SETTINGS.items():
        if set(setting) <= set(parameters):
            yield label, setting
    if name in EAGER:
        yield "eager", EAGER[name]


def resumed(mdp: Any, losses: Any, make: Callable[[], Any], n_episodes: int) -> dict[str, str]:
    """The protocol loop cut after a third, and resumed from its snapshot."""
    import advmdp as am

    kept: list[Any] = []

    def keep(episodes: int, snapshot: Callable[[], Any]) -> None:
        if episodes == n_episodes // 3:
            kept.append(snapshot())

    am.play(mdp, losses, make(), n_episodes, seed=5, keep=keep, compiled=False)
    learner = make()
    run = am.play(mdp, losses, learner, n_episodes, seed=5, resume=kept[0])
    return bits_of(run, learner)


def on_this_processor(n_episodes: int) -> dict[str, dict[str, str]]:
    """Every learner of the catalogue on every world."""
    import advmdp as am

    found = {}
    for world, mdp in worlds().items():
        for name in am.LEARNERS:
            for label, setting in settings_of(name):
                for process, losses in processes(mdp).items():
                    case = f"{name} | {world} | {label} | {process}"
                    try:
                        learner = made(name, mdp, n_episodes, **setting)
                        run = am.play(mdp, losses, learner, n_episodes, seed=5)
                        found[f"{case} | compiled"] = bits_of(run, learner)
                    except am.AdvMDPError as error:
                        found[f"{case} | compiled"] = {"refused": type(error).__name__}
                        continue
                    few = min(n_episodes, 300)
                    slow = made(name, mdp, few, **setting)
                    run = am.play(mdp, losses, slow, few, seed=5, compiled=False)
                    found[f"{case} | protocol"] = bits_of(run, slow)
                    if label == "theory" and process == "switching":
                        make = lambda: made(name, mdp, 150, **setting)  # noqa: B023, E731
                        found[f"{case} | resumed"] = resumed(mdp, losses, make, 150)
        print(world, len(found), file=sys.stderr, flush=True)
    return found


def in_batches(
    n_episodes: int, n_runs: int, sizes: tuple[int, ...], learners: list[str]
) -> dict[str, dict[str, str]]:
    """Some learners, or all, a batch on each world."""
    import advmdp as am
    from advmdp.batch import BatchRun, play_batch

    found = {}
    shapes = {
        "dense": am.families.random_mdp(sizes, 2, seed=0),
        "scattered": am.families.random_mdp((1, 4, 4, 1), 2, seed=3, n_successors=2),
    }
    for world, mdp in shapes.items():
        compiled = (n for n, entry in am.LEARNERS.items() if hasattr(entry.make, "compiled_loop"))
        for name in learners or compiled:
            for label, setting in settings_of(name):
                losses = processes(mdp)["switching"]
                learner = made(name, mdp, n_episodes, **setting)
                batch = [BatchRun(mdp, losses, learner, seed=i) for i in range(n_runs)]
                try:
                    runs = play_batch(batch, n_episodes)
                except am.AdvMDPError as error:
                    found[f"{name} | {world} | {label}"] = {"refused": type(error).__name__}
                    continue
                for i, run in enumerate(runs):
                    found[f"{name} | {world} | {label} | run {i}"] = bits_of(run, None)
        print(world, len(found), file=sys.stderr, flush=True)
    return found


def compare(one: dict[str, Any], two: dict[str, Any]) -> int:
    """Print the cases that differ; returns how many."""
    differing = 0
    for case in sorted(one.keys() | two.keys()):
        before, after = one.get(case), two.get(case)
        if before == after:
            continue
        differing += 1
        if before is None or after is None:
            print(f"{case}: only in {'the second' if before is None else 'the first'}")
            continue
        parts = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
        print(f"{case}: {', '.join(parts)}")
    print(f"{len(one.keys() & two.keys())} cases in both, {differing} differ")
    return differing


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record")
    record.add_argument("file", type=Path)
    record.add_argument("--engine", choices=("cpu", "simulator", "cuda"), default="cpu")
    record.add_argument("--episodes", type=int)
    record.add_argument(
        "--learners", nargs="*", default=[], help="of batches; all if none is named"
    )
    against = commands.add_parser("compare")
    against.add_argument("files", type=Path, nargs=2)
    chosen = parser.parse_args()
    if chosen.command == "compare":
        sys.exit(min(compare(*(json.loads(file.read_text()) for file in chosen.files)), 1))
    if chosen.engine == "cpu":
        found = on_this_processor(chosen.episodes or 2_000)
    elif chosen.engine == "simulator":
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba is imported
        found = in_batches(chosen.episodes or 6, 2, (1, 2, 3, 1), chosen.learners)
    else:
        found = in_batches(chosen.episodes or 2_000, 32, (1, 3, 3, 1), chosen.learners)
    chosen.file.write_text(json.dumps(found, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
