"""Every loader of the package, and how wrong data is put before it.

An attempt returns whether the data was refused, by an error of the package; what is accepted must
work.  Anything else that is raised is a defect.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w

import advmdp as am
from advmdp.batch.columns import Block
from advmdp.batch.resuming import SavedBatch
from advmdp.batch.runs import BatchRun, casts
from advmdp.cli.terminal.listing import run_page, runs_lines
from advmdp.experiments.build import build
from advmdp.experiments.engines.interface import CheckpointSchedule
from advmdp.experiments.engines.single_run import play_run
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec
from advmdp.files.archive import pack, read_archive, unpack, write_archive
from advmdp.kernels.accounting.evaluation_point import N_FIGURES
from advmdp.service.journal import Journal
from advmdp.store import Store, manifest
from advmdp.store.checkpoints import KIND as CHECKPOINT
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.frames import curves_frame, runs_frame
from tests.fuzz.mutations import mutated, mutated_arrays

Attempt = Callable[[random.Random], None]
CHEAP = ("uniform", "exp3-ix")
SMALL = 1000  # what a spec may ask for to be built here
SPEC = {
    "learner": {"name": "exp3-ix", "eta_scale": 2.0},
    "mdp": {"name": "random", "layer_sizes": [1, 3, 2, 1], "n_actions": 2, "n_successors": 2},
    "losses": {"name": "majority", "period": 10},
    "n_episodes": 40,
    "seed": 3,
    "replicate": 1,
    "checkpoints": [10, 20],
    "rewards": {"low": -1.0, "high": 2.0, "unit": "EUR"},
}


class Tally(NamedTuple):
    """How the attempts at one loader ended."""

    refused: int
    accepted: int


def attempts(attempt: Attempt, rng: random.Random, n: int) -> Tally:
    """Try ``n`` times; an error that is not the package's own comes through."""
    refused = 0
    for _ in range(n):
        try:
            attempt(rng)
        except am.AdvMDPError as problem:
            assert "\n" not in str(problem), problem  # noqa: PT017
            refused += 1
    return Tally(refused, n - refused)


def _changed(header: Any, arrays: Any, rng: random.Random) -> tuple[Any, Any]:
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.4:
            header = mutated(header, rng)
        else:
            arrays = mutated_arrays(arrays, rng)
    if not isinstance(header, dict):
        raise am.InvalidInput("header: the archive itself rejects it")
    return header, arrays


def goes_on(learner: Any, n_episodes: int = 3) -> None:
    """Play a few episodes in a world of the learner's layout; all policies must be proper."""
    layout = learner.layout
    flat = np.repeat(1.0 / layout.row_sizes(), layout.row_sizes())
    world = am.LayeredMDP(layout, flat)
    losses = am.losses.Stochastic(np.full(layout.n_rows, 0.5))
    run = am.play(world, losses, learner, n_episodes, compiled=False)
    assert np.isfinite(run.expected_loss).all()


def saved_learner(name: str, path: Path) -> tuple[Any, Any]:
    """Header and arrays of a learner that has played a little."""
    mdp = am.families.random_mdp((1, 4, 3, 1), 2, seed=0, n_successors=2)
    entry = am.LEARNERS[name]
    parameters = {"n_episodes": 50} if entry.has_horizon else {}
    if name == "ucrl2-window":
        parameters["window"] = 4  # short enough to run full
    learner = entry.make(mdp.layout, **parameters)
    goes_on(learner, 5)
    learner.save(path)
    return read_archive(path, "learner")


def learner_files(folder: Path, names: tuple[str, ...] = CHEAP) -> Attempt:
    """``advmdp.load``: header, layout, pools, known rows and state."""
    files = [saved_learner(name, folder / "learner") for name in names]

    def attempt(rng: random.Random) -> None:
        header, arrays = _changed(*rng.choice(files), rng)
        write_archive(folder / "learner", "learner", header, arrays)
        goes_on(am.load(folder / "learner"))

    return attempt


def served(folder: Path) -> am.Service:
    """A small service with two open episodes of different policies, one of them from a file."""
    service = am.Service(am.UOBREPS(am.Layout((1, 2, 1), 2), 30, log_scale=0.01), folder)
    for t in range(8):
        ticket = service.begin()
        if t % 4:
            service.finish(ticket, am.Trajectory([0, t % 2, 0], [t % 2, 1], [0.5, 0.25 * (t % 5)]))
    return service


def closes_and_goes_on(service: am.Service) -> None:
    """Give up what is open, and finish one more."""
    for ticket in service.open:
        service.abandon(ticket)
    ticket = service.begin()
    assert all(np.allclose(table.sum(axis=1), 1.0) for table in ticket.policy)
    states = [0] * (service.learner.layout.n_layers + 1)  # type: ignore[attr-defined]
    service.finish(ticket, {"states": states, "actions": states[1:], "losses": states[1:]})


def service_files(folder: Path) -> Attempt:
    """``Service.load`` of a single file."""
    served(folder / "kept").save(folder / "service")
    header, arrays = read_archive(folder / "service", "service")

    def attempt(rng: random.Random) -> None:
        write_archive(folder / "service", "service", *_changed(header, arrays, rng))
        closes_and_goes_on(am.Service.load(folder / "service"))

    return attempt


def journals(folder: Path) -> Attempt:
    """``Service.load`` of a folder whose journal says something else."""
    place = folder / "kept"
    served(place).close()
    (file,) = place.glob("journal-*.log")
    events = Journal(file).events

    def attempt(rng: random.Random) -> None:
        changed = mutated(events, rng)
        file.unlink(missing_ok=True)
        journal = Journal(file)
        try:
            for event in changed if isinstance(changed, list) else [changed]:
                journal.append(event)
        except (TypeError, ValueError):
            raise am.InvalidInput("events: the journal itself rejects them") from None
        finally:
            journal.close()
        service = am.Service.load(place)
        try:
            closes_and_goes_on(service)
        finally:
            service.close()

    return attempt


def checkpoints(folder: Path) -> Attempt:
    """The checkpoints of a run: passed over or resumed from, the run is played in any case."""
    spec = RunSpec(**SPEC)
    kept: list[Any] = []
    parts = build(spec)
    am.play(
        *(parts.mdp, parts.losses, parts.learner, spec.n_episodes, parts.seed),
        checkpoints=parts.evaluation_points,
        compiled=False,
        keep=lambda done, take: kept.append(take()) if done == 15 else None,
    )
    header = {"hash": spec.hash, "episodes": 15, "seconds": 1.0}

    def attempt(rng: random.Random) -> None:
        changed = _changed(header, kept[0], rng)
        write_archive(folder / "checkpoint-a.bin", CHECKPOINT, *changed)
        never = CheckpointSchedule(seconds=1e9)
        done = play_run(spec, Checkpoints(folder, spec.hash), schedule=never)
        assert np.isfinite(done.outcome.curves["expected_loss"]).all()  # type: ignore[arg-type]

    return attempt


def batches(folder: Path) -> Attempt:
    """The arrays that a batch is resumed from, up to the moment when the card would get them."""
    mdp = am.families.random_mdp((1, 3, 2, 1), 2, seed=0)
    losses = am.losses.Stochastic(np.full(mdp.layout.n_rows, 0.5))
    learner = am.Exp3IX(mdp.layout, n_episodes=20)
    runs, points = [BatchRun(mdp, losses, learner, seed=i) for i in range(3)], np.array([10, 20])
    block = Block(casts(runs, 20), 2, 1)
    number = {"wave": 0, "episodes": 0, "per_wave": 3, "stamp": 1}
    kept = {"figures": np.full((2, N_FIGURES, 3), np.nan), "refused": np.full(3, -1)}
    saved = {name: np.array(value) for name, value in number.items()} | kept
    saved |= {"tiles": block.own(0, 3), "done": np.zeros(3, dtype=np.int64)}

    def attempt(rng: random.Random) -> None:
        wrong = saved
        for _ in range(rng.randint(1, 3)):
            wrong = mutated_arrays(wrong, rng)
        batch = SavedBatch(unpack(pack("x", {}, wrong), "x", "x")[1], runs, points, block)
        batch.check(kept)
        assert batch.tiles().shape == saved["tiles"].shape

    return attempt


def manifests(folder: Path) -> Attempt:
    """Manifests with right checksums, and all that lists them."""
    spec = RunSpec(**SPEC)
    place = folder / "runs" / spec.id
    place.mkdir(parents=True)
    rest = {"started": "now", "finished": "now", "seconds": 1.0, "sittings": 1, "files": {}}
    figures = {"regret": 1.0, "solver": None, "rewards": {"steps": 3}}
    good = manifest.manifest_of(spec.identity(), "finished", figures=figures, **rest)
    good = json.loads(json.dumps(good))

    def attempt(rng: random.Random) -> None:
        content = good
        for _ in range(rng.randint(1, 3)):
            content = mutated(content, rng)
        content = content if isinstance(content, dict) else {}
        (place / manifest.NAME).write_bytes(manifest.encode(content))
        read = manifest.read(place)
        frame = runs_frame([read])
        list(runs_lines(frame))
        list(run_page(read, curves_frame([], frame)))
        json.dumps(frame.row(0))

    return attempt


def stores(folder: Path) -> Attempt:
    """The marker of a store."""
    Store(folder / "store", create=True)

    def attempt(rng: random.Random) -> None:
        document = mutated({"schema": 1}, rng)
        (folder / "store" / "store.json").write_text(json.dumps(document))
        assert Store(folder / "store").runs().height == 0

    return attempt


def specs(folder: Path) -> Attempt:
    """Specs of runs and sweeps, from JSON and TOML."""

    def attempt(rng: random.Random) -> None:
        document: Any = SPEC
        for _ in range(rng.randint(1, 3)):
            document = mutated(document, rng)
        if rng.random() < 0.5:
            spec = RunSpec.from_json(json.dumps(document))
            assert RunSpec.from_toml(spec.to_toml()) == spec
            if _is_small(document):
                build(spec)
        else:
            table = _for_toml(document) if isinstance(document, dict) else {}
            table.pop("replicate", None)
            SweepSpec.from_toml(tomli_w.dumps(table)).runs()

    return attempt


def _is_small(document: Any) -> bool:
    """Whether no number of a document asks for much memory or time."""
    if isinstance(document, dict | list):
        parts = document.values() if isinstance(document, dict) else document
        return all(map(_is_small, parts))
    return not isinstance(document, int | float) or abs(document) <= SMALL


def _for_toml(document: Any) -> Any:
    """Without what TOML cannot write."""
    if isinstance(document, dict):
        return {str(k): _for_toml(v) for k, v in document.items() if v is not None}
    if isinstance(document, list):
        return [_for_toml(value) for value in document if value is not None]
    return document


LOADERS: dict[str, Callable[[Path], Attempt]] = {
    "learner files": learner_files,
    "service files": service_files,
    "journals": journals,
    "checkpoints": checkpoints,
    "batches": batches,
    "manifests": manifests,
    "stores": stores,
    "specs": specs,
}
