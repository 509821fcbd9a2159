"""``advmdp run``, ``compare``, ``sweep``, ``ls``, ``show`` and ``export``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
import tomli_w

from advmdp.cli import main
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store
from tests.experiments.sweeps import one_run, play_here, runs_of, sweep_text


def test_run_by_flags_and_by_file(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    flags = ["--episodes", "300", "--layers", "1,3,3,1", "--actions", "2", "--losses", "majority"]
    store = str(tmp_path / "store")
    assert main(["run", "uob-reps", *flags, "--store", store, "--quiet"]) == 0
    spec = one_run()
    assert Store(store).runs()["run"].to_list() == [spec.id]
    for name, text in (("a.toml", spec.to_toml()), ("a.json", spec.to_json())):
        (tmp_path / name).write_text(text)
        assert main(["run", "--spec", str(tmp_path / name), "--store", store]) == 0
        assert "1 of 1 runs are in the store already" in capsys.readouterr().out


def test_the_largest_seed_can_be_listed(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store, seed = str(tmp_path / "store"), 2**63 - 1
    flags = ["--seed", str(seed), "--episodes", "10", "--store", store, "--quiet"]
    assert main(["run", "uniform", *flags]) == 0
    assert main(["ls", store]) == 0
    assert Store(store).runs()["seed"].to_list() == [seed]


def test_compare_multiplies_flags(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    store = tmp_path / "store"
    arguments = ["compare", "uob-reps", "exp3-ix", "--episodes", "50,100", "-r", "2"]
    options = ["--set", "losses.period=[10,20]", "--workers", "1", "--store", str(store)]
    assert main([*arguments, *options]) == 0
    runs = Store(store).runs()
    assert runs.height == 2 * 2 * 2 * 2
    assert set(runs["losses"]) == {"majority period=10", "majority period=20"}
    assert capsys.readouterr().out.count("regret") >= 16


def test_json_lines(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "sweep.toml"
    file.write_text(sweep_text())
    store = tmp_path / "store"
    options = ["--workers", "1", "--store", str(store), "--json"]
    assert main(["sweep", str(file), *options]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[0] == {"event": "begin", "runs": 4, "finished": 0}
    finished = {event["run"]: event["regret"] for event in events if event["event"] == "finished"}
    stored = Store(store).runs()
    assert finished == dict(zip(stored["run"], stored["regret"], strict=True))
    assert any(event["event"] == "progress" and event["episodes"] > 0 for event in events)


def test_ls_show_export(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path / "store", create=True)
    runs = runs_of(sweep_text())
    play_here(store, runs)
    assert main(["ls", str(store.path)]) == 0
    listing = capsys.readouterr().out
    assert "4 finished" in listing
    assert main(["ls", str(store.path), "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["show", runs[0].id[:-3], "--store", str(store.path)]) == 0
    assert runs[0].hash in capsys.readouterr().out
    assert main(["show", runs[0].id, "--store", str(store.path), "--json"]) == 0
    spec = RunSpec(**json.loads(capsys.readouterr().out)["spec"])
    assert spec == runs[0]
    for form, read in (("csv", pl.read_csv), ("parquet", pl.read_parquet)):
        file, flagged = tmp_path / f"curves.{form}", tmp_path / "curves"
        assert main(["export", str(file), "--store", str(store.path)]) == 0
        assert main(["export", str(flagged), f"--{form}", "--store", str(store.path)]) == 0
        assert flagged.read_bytes() == file.read_bytes()
        frame = read(file)
        assert set(frame["mdp.layer_sizes"]) == {"1,3,3,1"}
        assert set(frame["mdp.n_actions"]) == {2.0}
        assert frame.height == store.curves().height
        assert {"learner", "regret", "replicate"} <= set(frame.columns)
        assert main(["export", str(store.path), "-o", str(flagged) + f".{form}"]) == 0
        assert (tmp_path / f"curves.{form}").read_bytes() == file.read_bytes()
    file = tmp_path / "runs.csv"
    assert main(["export", str(file), "--csv", "--runs", "--store", str(store.path)]) == 0
    assert pl.read_csv(file).height == 4


@pytest.mark.parametrize("command", ["ls", "gc", "report", "export", "watch --terminal"])
def test_a_store_is_an_argument_or_an_option(  # type: ignore[no-untyped-def]
    command, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    play_here(Store("there", create=True), runs_of(sweep_text()))
    told = []
    to_file = {"report": ["-o", "a.html"], "export": ["-o", "a.csv"]}.get(command, [])
    for named in (["there"], ["--store", "there"], ["there", "--store", "there"]):
        assert main([*command.split(), *named, *to_file]) == 0
        told.append(capsys.readouterr().out)
        assert main([*command.split(), "nowhere", *to_file]) == 2
        capsys.readouterr()
    assert told[0] == told[1]
    if not command.startswith("watch"):  # which shows several
        assert told[0] == told[2]
        assert main([command, "there", "--store", "here", *to_file]) == 2
        assert "two stores are named, there and here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ls", "nowhere"], "--store: nowhere is not a store"),
        (["run", "uob-rep"], "learner: there is no 'uob-rep'; did you mean 'uob-reps'?"),
        (["run", "--layers", "1,x"], "--layers: '1,x' is not a list"),
        (["run", "--layers", ""], "--layers: '' is not a list"),
        (["compare", "uniform", "--layers", ""], "--layers: '' is not a list"),
        (["compare", "uniform", "--layers", "2,1", "--workers", "1"], "--layers: (2, 1) must have"),
        (["run", "--mdp", "deep-sea"], "mdp.depth: 'deep-sea' needs it"),
        (["run", "--episodes", "0"], "--episodes: 0"),
        (["run", "--seed", "9223372036854775808"], "--seed: 9223372036854775808: input should be"),
        (["run", "--set", "eta=2"], "--set: 'eta=2' is not of the form PART.KEY=VALUE"),
        (["run", "--set", "losses.seed=-1"], "losses.seed: -1 is not a whole number"),
        (["verify", "--dry-run", "--engine", "cloud", "-o", "new/x.html"], "--engine: there is no"),
        (["run", "--set", "learner.delta=2"], "learner.delta: 2"),
        (["run", "--set", "learner.eta_scale=.5"], "learner.eta_scale: '.5' is not a number"),
        (["compare", "uniform", "--set", "losses.noisy=no"], "losses.noisy: 'no' is neither true"),
        (["run", "--spec", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["sweep", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["sweep", "store"], "store: cannot be read"),  # a file, and no word of --store
        (["run", "--spec", "seed"], "seed: cannot be read"),
        (["compare", "uniform", "--engine", "cloud"], "--engine: there is no 'cloud'"),
        (["compare", "uniform", "--episodes", "1,x"], "--episodes: '1,x' is not a list"),
        (
            ["compare", "uob-reps", "--set", "learner.eta_scale=[]"],
            "learner.eta_scale: the list is empty; give at least one value",
        ),
        (["export", "x.txt"], "export: x.txt does not say which form; end it in .csv or"),
        (["export"], "export: say where the file goes, such as -o curves.csv"),
        (["export", "."], "export: say where the file goes, such as -o curves.csv"),
        (["export", "x.csv", "--csv", "--parquet"], "export: x.csv does not say which form"),
    ],
)
def test_refusals_leave_nothing_behind(  # type: ignore[no-untyped-def]
    arguments, message, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: {message}")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["run", "--spec"], ["sweep"]], ids=["run", "sweep"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_episodes": 0}, "n_episodes: 0: "),
        ({"seed": -1}, "seed: -1: "),
        ({"rewards": 3}, "rewards: 3: "),
        ({"mdp": {"name": "random", "layer_sizes": [1, 1], "n_actions": 0}}, "mdp.n_actions: 0 is"),
        ({"mdp": {"name": "random", "layer_sizes": "1,x"}}, "mdp.layer_sizes: '1,x' is not a list"),
        ({"checkpoints": [301]}, "checkpoints: give whole numbers"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_of_the_file(  # type: ignore[no-untyped-def]
    command, change, message, tmp_path, monkeypatch, capsys
) -> None:
    """Not of options, which have nothing to do with it."""
    monkeypatch.chdir(tmp_path)
    content = one_run().data() | change
    del content["replicate"]
    Path("bad.toml").write_text(tomli_w.dumps(content))
    assert main([*command, "bad.toml"]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: bad.toml: {message}")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "bad.toml"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["exp3-ix"], "the learner"),
        (["--episodes", "7777"], "--episodes"),
        (["--seed", "0"], "--seed"),  # also where it would change nothing
        (["--mdp", "random"], "--mdp"),
        (["--layers", "1,1"], "--layers"),
        (["--actions", "2"], "--actions"),
        (["--losses", "majority"], "--losses"),
        (["--rewards", "0,1"], "--rewards"),
        (["--set", "learner.eta_scale=2"], "--set"),
    ],
)
def test_nothing_stands_beside_a_file(given, told, tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text(one_run().to_toml())
    assert main(["run", "--spec", "a.toml", *given]) == 2
    assert capsys.readouterr().err == f"error: --spec: give the file alone; {told} is in it\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "a.toml"]


def test_a_run_that_fails_is_noted_and_tried_again(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    from advmdp.errors import UncertifiedStep
    from advmdp.experiments.engines import inline

    def broken(*given: object, **named: object) -> None:
        raise UncertifiedStep("episode 3: no certified projection")

    store = tmp_path / "store"
    arguments = ["run", "--episodes", "300", "--store", str(store), "--quiet"]
    with monkeypatch.context() as patched:
        patched.setattr(inline, "play_run", broken)
        assert main(arguments) == 1
    assert "failed: uob-reps_" in capsys.readouterr().err
    row = Store(store).runs().row(0, named=True)
    assert (row["status"], row["reason"]) == ("failed", "episode 3: no certified projection")
    assert main(["show", "uob-reps", "--store", str(store)]) == 0
    assert "no certified projection" in capsys.readouterr().out
    assert main(arguments) == 0
    assert Store(store).runs()["status"].to_list() == ["finished"]


def test_nothing_is_exported_over_a_pipe(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    store, pipe = Store(tmp_path / "store", create=True), tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["export", str(pipe), "--csv", "--store", str(store.path)]) == 2
    assert capsys.readouterr().err == (
        f"error: {pipe}: exists and is not a plain file; give another path\n"
    )
    assert pipe.is_fifo()


@pytest.mark.parametrize("command", [["report", "-o", "out.html"], ["figure", "regret", "out.svg"]])
def test_a_damaged_curve_is_left_out_and_the_rest_is_drawn(  # type: ignore[no-untyped-def]
    command, tmp_path, monkeypatch, caplog
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("results/store", create=True)
    specs = [one_run(replicate=i) for i in range(3)]
    play_here(store, specs)
    (store.path / "runs" / specs[1].id / "curves.parquet").write_bytes(b"rotten")
    assert main(command) == 0
    assert f"{specs[1].id}/curves.parquet: the checksum does not match; left out" in caplog.text
    text = Path(command[-1]).read_text()
    if command[0] == "report":
        assert "2 finished runs (1 damaged: not in any figure)" in text


@pytest.mark.parametrize("command", [["report", "-o", "out.html"], ["figure", "regret", "out.svg"]])
def test_of_runs_that_differ_in_checkpoints_alone_one_is_drawn(  # type: ignore[no-untyped-def]
    command, tmp_path, monkeypatch, caplog
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("results/store", create=True)
    same = {"learner": {"name": "uob-reps", "eta_scale": 2}}
    many, few = (
        one_run(**same),
        one_run(learner={"name": "uob-reps", "eta_scale": 2.0}, checkpoints=3),
    )
    play_here(store, [few, many, one_run(**same, replicate=1, checkpoints=(5, 300))])
    assert main(command) == 0
    assert f"{few.id}: left out, {many.id} differs in its checkpoints alone" in caplog.text
    thinned = "its curves show the 2 that all of them share, and not the other"
    assert thinned in caplog.text
    text = Path(command[-1]).read_text()
    if command[0] == "report":
        assert "2 finished runs (1 left out: not in any figure)" in text
        assert thinned in text


def test_reading_while_writing(tmp_path: Path) -> None:
    """A store lists what is under way, with nothing half-written in its frames."""
    store = Store(tmp_path / "store", create=True)
    first, second = one_run(), one_run(replicate=1)
    play_here(store, [first])
    identity = second.identity()
    claim = store.lock(identity)
    assert claim is not None
    assert store.lock(identity) is None  # nobody else may
    store.begin(identity, claim)
    statuses = dict(zip(store.runs()["run"], store.runs()["status"], strict=True))
    assert statuses == {first.id: "finished", second.id: "running"}
    assert store.curves()["run"].unique().to_list() == [first.id]
    claim.release()
    assert "cut" in store.runs()["status"].to_list()
