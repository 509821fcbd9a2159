"""Learners, worlds and losses of the user's own in specs, sweeps, commands and workers."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import advmdp as am
from advmdp.cli import app, main
from advmdp.experiments.build import build
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.interface import CheckpointSchedule, EngineOptions
from advmdp.experiments.engines.results import RunStopped
from advmdp.experiments.engines.single_run import play_run
from advmdp.experiments.own import registry
from advmdp.experiments.runner import run_all
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec
from advmdp.store import Store
from advmdp.store.source_stamp import source_stamp
from tests.experiments.sweeps import one_run

CODE = '''
import numpy as np
import advmdp as am

open(__file__ + ".imported", "w").close()

class Follow:
    """Plays the action of least estimated loss, in pure Python."""

    def __init__(self, layout, n_episodes, rate=0.5):
        self.layout, self.rate = layout, rate
        self.sums = np.zeros(layout.n_rows)

    def policy(self):
        tables = self.layout.pairs(self.sums)
        weights = [np.exp(-self.rate * table) for table in tables]
        return [w / w.sum(axis=1, keepdims=True) for w in weights]

    def update(self, trajectory):
        start = self.layout.layer_start[: self.layout.n_layers]
        states = np.asarray(trajectory.states)[: self.layout.n_layers] + start
        self.sums[states * self.layout.n_actions + trajectory.actions] += trajectory.losses


class Saved(Follow):
    def state(self):
        return {"sums": self.sums.copy()}

    def restore(self, saved):
        self.sums[:] = saved["sums"]


class Broken:
    def __init__(self, layout):
        raise KeyError("nothing here")


def corridor(length, n_actions=2):
    return am.families.random_mdp((1,) * length, n_actions, seed=3)


def market(mdp, rng, n_episodes, spread=0.1):
    tables = [spread * rng.random(mdp.layout.n_rows) for _ in range(n_episodes)]
    return am.losses.Replayed(tables)


MAZE = am.families.random_mdp((1, 2, 1), 2, seed=0)
FLAT = am.losses.Custom(lambda episode, history: [np.full((n, 2), 0.5) for n in (1, 2)])
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module with parts of its own, which is in no package."""
    name = f"own_parts_of_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_locations", {})
    yield name
    sys.modules.pop(name, None)


def own(module: str, learner: str = "Follow", **parameters: Any) -> dict[str, Any]:
    return {"learner": {"name": f"{module}:{learner}", **parameters}}


def played(spec: RunSpec, folder: Path) -> Store:
    store = Store(folder, create=True)
    assert run_all([spec], store, InlineEngine(folder)).complete
    return store


def test_every_kind_of_part_is_built_from_its_place(module: str) -> None:
    world = {"mdp": {"name": f"{module}:corridor", "length": 4}}
    losses = {"losses": {"name": f"{module}:market", "spread": 0.2}}
    parts = build(one_run(**own(module, rate=0.1), **world, **losses))
    assert parts.learner.rate == 0.1
    assert parts.mdp.layout.layer_sizes == (1, 1, 1, 1)
    assert parts.losses.begin(parts.mdp.layout, 0).table(299).max() <= 0.2
    finished = build(one_run(mdp=f"{module}:MAZE", losses=f"{module}:FLAT"))
    assert finished.mdp is importlib.import_module(module).MAZE


def test_an_own_learner_meets_the_worlds_of_the_others(module: str) -> None:
    mine, other = build(one_run(**own(module), replicate=2)), build(one_run(replicate=2))
    np.testing.assert_array_equal(mine.mdp.flat, other.mdp.flat)
    layout = mine.mdp.layout
    tables = [parts.losses.begin(layout, parts.seed).table(7) for parts in (mine, other)]
    np.testing.assert_array_equal(*tables)


def test_the_source_is_part_of_the_identity(module: str, tmp_path: Path) -> None:
    spec = one_run(**own(module))
    assert spec.learner.label.startswith(f"{module}:Follow@{spec.data()['learner']['source'][:8]}")
    assert ":" not in spec.id
    again = RunSpec.from_json(spec.to_json(), allow_code=True)
    assert (again, again.hash) == (spec, spec.hash)
    file = tmp_path / f"{module}.py"
    file.write_text(CODE + "\n# edited\n")
    importlib.reload(sys.modules[module])
    edited = one_run(**own(module))
    assert edited.hash != spec.hash
    assert edited.learner.label != spec.learner.label
    with pytest.raises(am.InvalidInput, match=r"learner\.source: .* leave the key out"):
        RunSpec.from_json(spec.to_json(), allow_code=True)


def test_a_base_class_of_another_file_counts(module: str, tmp_path: Path) -> None:
    derived = tmp_path / f"{module}_derived.py"
    derived.write_text(f"from {module} import Follow\nclass Mine(Follow):\n    pass\n")
    name = f"{module}_derived:Mine"
    before = one_run(learner=name).hash
    (tmp_path / f"{module}.py").write_text(CODE + "\n# edited\n")
    importlib.reload(sys.modules[module])
    assert one_run(learner=name).hash != before
    del sys.modules[f"{module}_derived"]


def test_registered_names_and_entry_points(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    am.register("learner", "follow", f"{module}:Follow")
    am.register("learner", "follow", f"{module}:Follow")  # a notebook runs a cell twice
    assert type(build(one_run(learner="follow")).learner).__name__ == "Follow"
    with pytest.raises(am.InvalidInput, match="already"):
        am.register("learner", "follow", f"{module}:Saved")
    with pytest.raises(am.InvalidInput, match="top of a module"):
        am.register("learner", "local", lambda layout: am.Uniform(layout))
    for kind, name in (("learner", "uob-reps"), ("mdp", "grid"), ("losses", "majority")):
        with pytest.raises(am.InvalidInput, match=f"name: '{name}' is one of the built-in ones"):
            am.register(kind, name, f"{module}:Follow")
    with pytest.raises(
        am.InvalidInput, match=r"'run' is defined in the script .* no other process"
    ):
        am.register("learner", "script", "__main__:run")
    package = tmp_path / "plugin-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: plugin\nVersion: 1.0\n")
    points = f"[advmdp]\nlearner.plugged = {module}:Saved\nmdp.corridor = {module}:corridor\n"
    (package / "entry_points.txt").write_text(points)
    text = one_run(learner="plugged", mdp={"name": "corridor", "length": 3}).to_toml()
    spec = RunSpec.from_toml(text)  # an installed package needs no further word
    assert type(build(spec).learner).__name__ == "Saved"
    with pytest.raises(am.InvalidInput, match="did you mean 'plugged'"):
        one_run(learner="pluged")
    with pytest.raises(am.InvalidInput, match="module:Name"):
        one_run(learner="zzz")


def test_a_file_imports_nothing_without_a_word(module: str, tmp_path: Path) -> None:
    part = f'"{module}:Follow"'
    for key, value in (
        ("learner", part),
        ("learner", f"[{part}]"),
        ("learner", f'{{name = ["uniform", {part}]}}'),
        ("mdp", f'{{name = "{module}:corridor", length = 3}}'),
        ("losses", f'"{module}:FLAT"'),
    ):
        rest = {"learner": '"uniform"', "losses": '"majority"', "n_episodes": "9"}
        rest["mdp"] = '{name = "deep-sea", depth = 3}'
        text = "\n".join(f"{k} = {v}" for k, v in {**rest, key: value}.items())
        with pytest.raises(am.InvalidInput, match="--allow-code"):
            SweepSpec.from_toml(text)
    assert not (tmp_path / f"{module}.py.imported").exists()
    assert SweepSpec.from_toml(text, allow_code=True).runs()
    assert (tmp_path / f"{module}.py.imported").exists()


def test_a_store_is_read_without_the_code(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = played(one_run(**own(module)), tmp_path / "store")
    (manifest,) = store.manifests()
    assert manifest["versions"]["sources"] == source_stamp()
    del sys.modules[module]
    mark = tmp_path / f"{module}.py.imported"
    mark.unlink()
    for arguments in (
        ["ls", str(store.path)],
        ["show", manifest["run"], "--store", str(store.path)],
        ["export", str(tmp_path / "x.csv"), "--csv", "--store", str(store.path)],
        ["report", str(store.path), "-o", str(tmp_path / "report.html")],
    ):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    assert f"{module}:Follow@" in (tmp_path / "report.html").read_text()
    assert not mark.exists()


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_compare_plays_own_parts_in_workers(
    module: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module lies in the working directory, which the command alone searches."""
    sys.path.remove(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    am.register("losses", "market", f"{module}:market")
    arguments = ["compare", "uniform", f"{module}:Follow", "--set", "losses.spread=0.3"]
    arguments += ["--losses", "market", "--episodes", "60", "-r", "2", "--engine", engine, "-q"]
    assert main([*arguments, "--workers", "1", "--store", "store"]) == 0
    runs = Store(tmp_path / "store").runs()
    assert (runs["status"] == "finished").all()
    assert sorted({label.split("@")[0] for label in runs["learner"]}) == [
        f"{module}:Follow",
        "uniform",
    ]


def test_a_run_resumes_where_its_learner_can_be_saved(
    module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = played(one_run(**own(module, "Saved")), tmp_path / "whole").curves()
    for learner, episodes in (("Saved", 120), ("Follow", 0)):
        spec = one_run(**own(module, learner))
        store = Store(tmp_path / learner, create=True)
        lock = store.lock(spec.identity())
        assert lock is not None
        calls = iter(range(10**6))
        with caplog.at_level(logging.WARNING), pytest.raises(RunStopped):
            play_run(
                spec,
                store.checkpoints(spec.identity()),
                schedule=CheckpointSchedule(1e9, 40),
                should_stop=lambda calls=calls: next(calls) == 119,
            )
        lock.release()
        assert ("begins anew" in caplog.text) == (learner == "Follow")
        kept = [saved.episodes for saved in store.checkpoints(spec.identity()).newest_first()]
        assert kept[:1] == ([episodes] if episodes else [])
        assert run_all([spec], store, InlineEngine(store.path, EngineOptions())).complete
        again = store.curves()
        assert again["regret"].to_list() == whole["regret"].to_list()


def test_defaults_that_are_written_out_are_the_same_run() -> None:
    plain = one_run(losses="majority")
    for change in (
        {"learner": {"name": "uob-reps", "eta_scale": 1, "delta": 0.1, "preset": "theory"}},
        {"losses": {"name": "majority", "noisy": True, "adverse_share": 0.3, "means": "uniform"}},
    ):
        assert one_run(**change).hash == plain.hash
        assert one_run(**change).identity() == plain.identity()
    practical = {"name": "uob-reps", "preset": "practical"}
    theory = {**practical, "eta_scale": 1.0}  # the default of the constructor, not of the preset
    assert one_run(learner=practical).hash != one_run(learner=theory).hash
    etas = {build(one_run(learner=learner)).learner.eta for learner in (practical, theory)}
    assert len(etas) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": "{module}:Nobody"}, "learner: .* has no 'Nobody'; is the name right"),
        ({"learner": "{module}:follow"}, "learner: .* has no 'follow'; did you mean 'Follow'"),
        ({"learner": "{module}.Follow"}, "learner: .* is written '{module}:Follow'"),
        ({"learner": "{module}.py:Follow"}, "learner: .* such as '{module}:Follow'"),
        ({"learner": "here/{module}.py:Follow"}, "learner: .* such as '{module}:Follow'"),
        ({"learner": "no_such_module_x:Y"}, "learner: .* cannot be imported .* PYTHONPATH"),
        ({"learner": "{module}:Broken"}, "learner: KeyError: 'nothing here'"),
        ({"learner": "{module}:MAZE"}, "learner: .* makes no learner"),
        ({"learner": "{module}:corridor", "n": 3}, r"learner\.n: .* no such key"),
        ({"learner": {"name": "{module}:corridor", "length": 3}}, "learner: give a learner"),
        ({"mdp": "{module}:corridor"}, r"mdp\.length: .* needs it"),
        ({"mdp": "{module}:FLAT"}, "mdp: give an advmdp LayeredMDP"),
        ({"losses": "{module}:MAZE"}, "losses: give a loss process"),
    ],
)
def test_errors_are_one_line(module: str, change: dict[str, Any], message: str) -> None:
    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: named(part) for key, part in value.items()}
        return value.replace("{module}", module) if isinstance(value, str) else value

    given = named(change)
    if "n" in given:
        given = {"learner": {"name": given["learner"], "n": given["n"]}}
    with pytest.raises(am.InvalidInput, match=named(message)) as caught:
        build(one_run(**given))
    assert "\n" not in str(caught.value)


def test_the_working_directory_is_searched_for_places_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    arguments = ["run", "uniform", "--episodes", "5", "-q", "--store", "store"]
    assert main(arguments) == 0
    assert str(tmp_path) not in sys.path
    assert main(["run", "no_such_module_y:Z"]) == 2
    assert sys.path[-1] == str(tmp_path)


def test_defaults_of_contexts() -> None:
    """Without a learner for each context; the number of contexts is the run's, not a default."""
    run: dict[str, Any] = {"contexts": [0, 1, 1]}
    planner = {"name": "plan-window", "window": 5}
    plain = one_run(learner=planner, **run)
    assert one_run(learner={**planner, "by_context": False}, **run).hash == plain.hash
    assert one_run(learner={**planner, "by_context": True}, **run).hash != plain.hash
    told = {"name": "ada-mixture"}
    assert build(one_run(learner=told, **run)).learner.n_contexts == 2
    given = one_run(learner={**told, "n_contexts": 1}, **run)
    assert given.hash != one_run(learner=told, **run).hash
    assert build(given).learner.n_contexts == 1
