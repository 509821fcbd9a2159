"""Reports in rewards, against rewards that are counted by hand and by other programmes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advmdp as am
from advmdp.cli import main
from advmdp.errors import InvalidInput
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.reports.cells import cells_of, select_cell
from advmdp.reports.figures.cell_panels import FIGURES, rate_panels
from advmdp.reports.from_runs import LabelledRun, results_from_runs
from advmdp.reports.html.report_page import report_page
from advmdp.reports.rates import families_of
from advmdp.reports.results import Results
from advmdp.reports.tables.cell_tables import overview_table, reward_table, summary_table
from advmdp.store import Store
from tests.experiments.sweeps import one_run, play_here
from tests.reports.frames import TERMS, in_rewards, made_up_results

EUR = {"low": -3.0, "high": 5.0, "unit": "EUR"}


class Account:
    """What a learner earned in the world of a spec, counted in rewards, episode by episode."""

    def __init__(self, spec: RunSpec, reward_of_loss: Any) -> None:
        mdp, losses, learner, seed, _ = build(spec)
        layout, stream = mdp.layout, losses.begin(mdp.layout, seed)
        self.expected, self.realised, self.episodes = 0.0, 0.0, 0
        total = np.zeros(layout.n_rows)

        class Watching:
            def policy(_) -> Any:
                return learner.policy()

            def update(_, trajectory: am.Trajectory) -> None:
                rewards = reward_of_loss(stream.table(self.episodes))
                total[:] += rewards
                self.episodes += 1
                table = layout.pairs(rewards)
                path = zip(trajectory.states, trajectory.actions, strict=False)
                self.realised += sum(table[k][x, a] for k, (x, a) in enumerate(path))
                value = np.zeros(1)
                backward = zip(mdp.transitions, table, learner.policy(), strict=True)
                for step, layer, chance in reversed(list(backward)):
                    value = (chance * (layer + step @ value)).sum(axis=1)
                self.expected += float(value[0])
                learner.update(trajectory)

        am.play(mdp, losses, Watching(), spec.n_episodes, seed, compiled=False)
        value = np.zeros(1)
        for step, layer in zip(mdp.transitions[::-1], layout.pairs(total)[::-1], strict=True):
            value = (layer + step @ value).max(axis=1)
        self.best = float(value[0])


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[RunSpec], list[Account]]:
    """Two learners, two replicates, prices from -3 to 5 euros."""
    specs = [
        one_run(learner=learner, replicate=replicate, rewards=EUR, n_episodes=120)
        for learner in ("uob-reps", "uniform")
        for replicate in (0, 1)
    ]
    store = Store(tmp_path_factory.mktemp("priced") / "store", create=True)
    play_here(store, specs)
    return store, specs, [Account(spec, lambda loss: 5.0 - 8.0 * loss) for spec in specs]


def test_stores_say_what_was_earned(priced, tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    store, specs, accounts = priced
    assert main(["ls", str(store.path), "--json"]) == 0
    listed = {row["run"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    file = tmp_path / "curves.csv"
    assert main(["export", str(file), "--csv", "--store", str(store.path)]) == 0
    exported = pl.read_csv(file).filter(pl.col("episodes") == 120)
    assert exported.select("reward_low", "reward_high", "reward_unit").row(0) == (-3.0, 5.0, "EUR")
    for spec, account in zip(specs, accounts, strict=True):
        assert main(["show", spec.id, "--store", str(store.path), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out.splitlines()[-1])["figures"]["rewards"]
        for row in (
            listed[spec.id],
            shown,
            exported.row(by_predicate=pl.col("run") == spec.id, named=True),
        ):
            assert row["expected_reward"] == pytest.approx(account.expected)
            assert row["realised_reward"] == pytest.approx(account.realised)
            assert row["best_reward"] == pytest.approx(account.best)
            assert row["reward_regret"] == pytest.approx(account.best - account.expected)
        assert listed[spec.id]["reward_unit"] == "EUR"


def test_the_page_says_what_was_earned(priced) -> None:  # type: ignore[no-untyped-def]
    store, specs, accounts = priced
    page = report_page(Results(store.runs(), store.curves()))
    data = json.loads(page.partition('id="data"')[2].partition(">")[2].partition("</script>")[0])
    (cell,) = data["cells"]
    assert cell["name"].endswith(" | T = 120 | rewards from -3 to 5 EUR")
    assert "are in rewards" in data["counts"]
    learners = np.array([spec.learner.name for spec in specs])
    regret = np.array([account.best - account.expected for account in accounts])
    for name in ("uob-reps", "uniform"):
        mine = [account for account, who in zip(accounts, learners, strict=True) if who == name]
        means = [
            float(np.mean([getattr(account, total) for account in mine]) / 120)
            for total in ("expected", "realised", "best")
        ]
        (earned,) = (row for row in cell["sheets"]["rewards"]["rows"] if name in row["learners"])
        values = [entry["value"] for entry in earned["entries"][2:]]
        assert values == pytest.approx([*means, 120 * means[0]])
        assert earned["entries"][2]["text"] == f"{means[0]:.4f}"
        (summary,) = (row for row in cell["sheets"]["summary"]["rows"] if name in row["learners"])
        assert summary["entries"][3]["value"] == pytest.approx(regret[learners == name].mean())
        assert summary["entries"][5]["value"] == pytest.approx(means[0])
        (panel,) = cell["panels"]["regret"]
        (line,) = (series for series in panel["series"] if series["key"] == name)
        assert line["y"][-1] == pytest.approx(regret[learners == name].mean(), rel=1e-5)
        so_far = cell["panels"]["realised"][0]["series"]
        ends = {series["label"]: series["y"][-1] for series in so_far}
        assert [ends[name], ends[f"{name}, realised"]] == pytest.approx(means[:2], rel=1e-5)
        assert ends["best fixed policy"] == pytest.approx(means[2], rel=1e-5)
    assert cell["sheets"]["summary"]["columns"][3] == "regret (EUR)"
    assert cell["sheets"]["summary"]["columns"][5] == "reward/episode"
    assert panel["y_label"] == "regret (EUR)"
    labels = [panel["y_label"] for panel in cell["panels"]["realised"]]
    assert labels == ["reward per episode (EUR)", "realised - expected (EUR)"]
    assert cell["panels"]["terms"][0]["y_label"] == "regret (EUR) and its terms"
    assert data["families"][0]["panels"][0]["y_label"] == "regret (EUR)"
    (against,) = cell["comparisons"]["uob-reps"]["rows"]
    by_learner = [regret[learners == name].mean() for name in ("uob-reps", "uniform")]
    assert against["estimate"] == pytest.approx(by_learner[1] - by_learner[0], rel=1e-5)
    assert "regret (EUR)" in cell["comparisons"]["uniform"]["note"]


def test_progress_and_ends_are_in_rewards(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    arguments = ["run", "uob-reps", "--episodes", "300", "--rewards", "-3,5,EUR"]
    assert main([*arguments, "--store", str(tmp_path / "a"), "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    by_name = {event["event"]: event for event in events}
    assert by_name["started"]["rewards"] == EUR
    assert by_name["progress"]["reward_regret"] == pytest.approx(8 * by_name["progress"]["regret"])
    end = by_name["finished"]
    row = Store(tmp_path / "a").runs().row(0, named=True)
    for name in ("reward_regret", "expected_reward", "realised_reward", "best_reward"):
        assert end[name] == row[name]
    assert end["expected_reward"] == pytest.approx(300 * 3 * 5.0 - 8.0 * end["expected_loss"])
    assert main([*arguments, "--store", str(tmp_path / "b")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"regret {end['reward_regret']:,.0f} EUR" in lines[0]
    assert any("rewards from -3 to 5 EUR" in line for line in lines)
    assert any(line.split()[:3] == ["learner", "told", "expected"] for line in lines)


def by_the_table(env: Any, horizon: int, weights: tuple[float, float]) -> tuple[float, float]:
    """Uniform and best total reward by dynamic programming on the environment's own table.

    Weights are numbers of episodes with the rewards r of the table and with low + high - r, the
    reversed ones; in the place after the end the reward is 0, reversed too.
    """
    table = env.unwrapped.P
    seen = {r for rows in table.values() for out in rows.values() for p, _, r, _ in out if p} | {0}
    usual, turned = weights
    ends = min(seen) + max(seen)

    def weighed(reward: float) -> float:
        return usual * reward + turned * (ends - reward)

    totals = []
    for choose in (np.mean, np.max):
        value, over = dict.fromkeys(table, 0.0), 0.0
        for _ in range(horizon):
            value = {
                s: float(
                    choose(
                        [
                            weighed(sum(p * r for p, _, r, _ in out))
                            + sum(p * (over if done else value[after]) for p, after, _, done in out)
                            for out in table[s].values()
                        ]
                    )
                )
                for s in table
            }
            over += weighed(0.0)
        start = env.unwrapped.initial_state_distrib
        totals.append(float(sum(start[s] * value[s] for s in table)))
    return totals[0], totals[1]


@pytest.mark.parametrize(
    ("identifier", "horizon"), [("FrozenLake-v1", 8), ("CliffWalking-v1", 5), ("Taxi-v4", 2)]
)
@pytest.mark.parametrize("reverses", [False, True])
def test_gymnasium_is_reported_in_its_own_rewards(
    identifier: str, horizon: int, reverses: bool, tmp_path: Path
) -> None:
    """Taxi has an opening layer, which is no step of an episode and earns nothing."""
    losses: dict[str, Any] = {"name": "switching", "means": "natural", "noisy": False}
    weights = (10.0, 0.0)
    if reverses:
        losses = {**losses, "name": "majority", "period": 5, "adverse_share": 0.4}
        weights = (6.0, 4.0)
    mdp = {"name": "gymnasium", "id": identifier, "horizon": horizon}
    store = Store(tmp_path / "store", create=True)
    spec = one_run(learner="uniform", mdp=mdp, losses=losses, n_episodes=10)
    play_here(store, [spec])
    uniform, best = by_the_table(gymnasium.make(identifier), horizon, weights)
    row = store.runs().row(0, named=True)
    assert row["expected_reward"] == pytest.approx(uniform, abs=1e-9)
    assert row["best_reward"] == pytest.approx(best, abs=1e-9)
    (cell,) = cells_of(Results(store.runs(), store.curves()))
    sheet = reward_table(cell)
    assert sheet is not None
    earned = [entry.value for entry in sheet.rows[0].entries]
    assert earned[2] == pytest.approx(uniform / 10, abs=1e-9)
    assert earned[4] == pytest.approx(best / 10, abs=1e-9)


PLAIN = made_up_results(n_episodes=(100, 400), n_replicates=3)


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=20, deadline=None)
def test_an_affine_map_changes_units_and_nothing_else(low: float, span: float) -> None:
    priced = in_rewards(PLAIN, low, low + span, "EUR")
    span = (low + span) - low
    for cell, plain in zip(cells_of(priced), cells_of(PLAIN), strict=True):
        for group, twin in zip(cell.groups, plain.groups, strict=True):
            for name in ("regret", *TERMS):
                if name in twin.curves:
                    np.testing.assert_allclose(group.curves[name], span * twin.curves[name])
            gap = group.curves["best"] - group.curves["expected"]
            size = 3 * 400 * (abs(low) + span)
            np.testing.assert_allclose(gap, group.curves["regret"], rtol=0, atol=1e-12 * size)
            back = (low + span) * 3 * twin.episodes - group.curves["realised"]
            np.testing.assert_allclose(
                back / span, twin.curves["realised"], rtol=0, atol=1e-11 * size / span
            )
        for pair, other in zip(cell.comparisons, plain.comparisons, strict=True):
            assert (pair.better, pair.other, pair.p_value) == (
                other.better,
                other.other,
                other.p_value,
            )
            assert pair.difference.estimate == pytest.approx(span * other.difference.estimate)
    for family, plain in zip(
        families_of(cells_of(priced)), families_of(cells_of(PLAIN)), strict=True
    ):
        for rate, other in zip(family.rates, plain.rates, strict=True):
            assert rate.law is not None
            assert other.law is not None
            assert rate.law.exponent == pytest.approx(other.law.exponent, abs=1e-6)


def mixed() -> Results:
    """The same runs in losses, in rewards and in euros."""
    parts = [PLAIN, in_rewards(PLAIN, -1.0, 0.0, "rewards"), in_rewards(PLAIN, -1.0, 0.0, "EUR")]
    parts.append(in_rewards(PLAIN, 0.0, 10.0, "EUR"))
    frames = [pl.concat([getattr(part, name) for part in parts]) for name in ("runs", "curves")]
    return Results(*frames)


def test_units_never_share_an_axis_a_mean_or_a_comparison() -> None:
    cells = cells_of(mixed())
    assert len(cells) == 2 * 4
    assert len({cell.name for cell in cells}) == len(cells)
    assert len(families_of(cells)) == 4
    for family in families_of(cells):
        assert {cell.units for cell in family.cells} == {family.units}
        (panel,) = rate_panels(family)
        assert panel.y_label == family.units.regret
    for cell in cells:
        assert cell.all_runs["reward_unit"].n_unique() == 1
        assert [len(group.replicates) for group in cell.groups] == [3, 3, 3]
        span = 1.0 if cell.units.low is None else cell.units.high - cell.units.low  # type: ignore[operator]
        regret = cell.groups[0].regret.estimate
        assert regret == pytest.approx(
            span
            * select_cell(cells, n_episodes=cell.n_episodes, units="losses")
            .groups[0]
            .regret.estimate
        )
        for panels in FIGURES.values():
            for panel in panels(cell):
                assert ("EUR" in panel.y_label) == (
                    cell.units.unit == "EUR"
                    and "width" not in panel.y_label
                    and panel.y_label != "epoch"
                )
    overview = overview_table(cells)
    assert overview.columns[-1] == "in"
    assert [row.entries[-1].text for row in overview.rows] == [cell.units.name for cell in cells]
    assert summary_table(cells[0]).columns[3] == "regret"


def test_a_figure_needs_one_kind_of_units() -> None:
    cells = cells_of(mixed())
    with pytest.raises(
        InvalidInput, match=r"cell: 4 fit, choose by .* or units: .* from -1 to 0 EUR"
    ):
        select_cell(cells, n_episodes=100)
    assert select_cell(cells, n_episodes=100, units="losses").units.unit is None
    assert select_cell(cells, n_episodes=100, units="from 0 to 10").units.high == 10.0
    with pytest.raises(InvalidInput, match="cell: 2 fit"):
        select_cell(cells, n_episodes=100, units="EUR")
    with pytest.raises(InvalidInput, match="cell: none fits"):
        select_cell(cells, n_episodes=100, units="USD")


def test_the_figure_command_takes_units(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path / "store", create=True)
    play_here(store, [one_run(), one_run(rewards=EUR)])
    figure = ["figure", "regret", str(tmp_path / "a.svg"), "--store", str(store.path)]
    assert main(figure) == 2
    assert (
        "cell: 2 fit, choose by MDP, losses, number of episodes or units" in capsys.readouterr().err
    )
    assert main([*figure, "--units", "EUR"]) == 0
    assert main(["ls", str(store.path)]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()[1:]
    assert heading.split()[:4] == ["run", "status", "regret", "in"]
    regrets = {line.split()[3]: float(line.split()[2]) for line in lines[:2]}
    assert regrets["EUR"] == pytest.approx(8 * regrets["losses"], rel=0.01)


@pytest.mark.parametrize("text", ["1", "a,b", "1,", ""])
def test_a_range_on_the_command_line(text: str, tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    arguments = ["run", "uniform", "--rewards", text, "--store", str(tmp_path / "store")]
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: --rewards: {text!r} is not of the form LOW,")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"reward_low": None},
        {"reward_unit": None},
        {"reward_steps": 0},
        {"reward_low": 2.0},
        {"reward_high": float("inf")},
    ],
)
def test_half_a_range_is_refused(change: dict[str, Any]) -> None:
    results = in_rewards(PLAIN, -1.0, 1.0, "EUR")
    broken = results.runs.with_columns(pl.lit(value).alias(key) for key, value in change.items())
    with pytest.raises(InvalidInput, match="needs reward_low < reward_high, reward_unit and"):
        Results(broken, results.curves)


def test_frames_without_reward_columns_are_in_losses() -> None:
    bare = PLAIN.runs.drop("reward_low", "reward_high", "reward_unit", "reward_steps")
    assert report_page(Results(bare, PLAIN.curves)) == report_page(PLAIN)


def test_runs_in_memory() -> None:
    mdp = am.families.random_mdp((1, 2, 1), n_actions=2, seed=0)
    losses = am.losses.Stochastic(np.linspace(0.0, 1.0, mdp.layout.n_rows))
    run = am.play(mdp, losses, am.Uniform(mdp.layout), 50)
    rewards = am.Rewards(-1.0, 3.0)
    (cell,) = cells_of(
        results_from_runs([LabelledRun("uniform", run, rewards=rewards, unit="EUR")])
    )
    curves, (group,) = rewards.report(run), cell.groups
    np.testing.assert_allclose(group.curves["expected"][0], curves.expected_reward)
    np.testing.assert_allclose(group.curves["realised"][0], curves.realised_reward)
    np.testing.assert_allclose(group.curves["best"][0], curves.best_reward)
    np.testing.assert_allclose(group.curves["regret"][0], curves.regret)
    (fewer,) = cells_of(results_from_runs([LabelledRun("uniform", run, rewards=rewards, steps=1)]))
    difference = group.curves["expected"][0] - fewer.groups[0].curves["expected"][0]
    np.testing.assert_allclose(difference, 3.0 * run.episodes)  # a step less at the high end
