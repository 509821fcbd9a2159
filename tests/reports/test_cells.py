"""From frames to cells, comparisons and rates; what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from advmdp.errors import InvalidInput
from advmdp.reports.cells import cells_of, select_cell
from advmdp.reports.rates import ACROSS, WITHIN_RUN, families_of
from advmdp.reports.results import Results
from tests.reports.frames import LAWS, LOSS, MDP, changed, made_up_results

RESULTS = made_up_results()


def test_cells_hold_the_frames_numbers() -> None:
    cells = cells_of(RESULTS)
    assert [cell.n_episodes for cell in cells] == [1000, 4000, 16000]
    assert cells[0].name == f"{MDP} | {LOSS} | T = 1,000"
    for cell in cells:
        assert [group.learner for group in cell.groups] == sorted(LAWS)
        for group in cell.groups:
            runs = RESULTS.runs.filter(
                (pl.col("learner") == group.learner) & (pl.col("n_episodes") == cell.n_episodes)
            )
            assert group.regret.estimate == pytest.approx(runs["regret"].mean())
            band = group.band("regret")
            assert band.mean[-1] == pytest.approx(group.regret.estimate)
            for row, run in zip(group.curves["regret"], group.runs["run"], strict=True):
                curve = RESULTS.curves.filter(pl.col("run") == run).sort("episodes")
                np.testing.assert_array_equal(row, curve["regret"])
                np.testing.assert_array_equal(group.episodes, curve["episodes"])


def test_the_order_of_rows_does_not_matter() -> None:
    shuffled = Results(
        RESULTS.runs.sample(fraction=1.0, shuffle=True, seed=1),
        RESULTS.curves.sample(fraction=1.0, shuffle=True, seed=2),
    )
    for cell, other in zip(cells_of(RESULTS), cells_of(shuffled), strict=True):
        assert cell.comparisons == other.comparisons
        for group, twin in zip(cell.groups, other.groups, strict=True):
            for one, two in zip(group.band("regret"), twin.band("regret"), strict=True):
                np.testing.assert_array_equal(one, two)


def test_pairing_cancels_what_learners_have_in_common() -> None:
    # The worlds differ by 30%, the learners by 5%, each learner's own luck is 0.5%.
    laws = {"a": (10.0, 0.5), "b": (10.5, 0.5)}
    (cell,) = cells_of(made_up_results(laws, [10_000], 10, common=0.3, own=0.005))
    (pair,) = cell.comparisons
    assert (pair.better, pair.other) == ("a", "b")
    assert pair.difference.low < 50.0 < pair.difference.high
    assert pair.difference.low > 0.0
    assert pair.p_value == pytest.approx(2 / 2**10)
    alone = cell.groups[0].regret
    assert alone.high > cell.groups[1].regret.low  # unpaired, the two intervals overlap
    assert pair.difference.high - pair.difference.low < 0.2 * (alone.high - alone.low)


def test_only_shared_replicates_are_compared() -> None:
    results = changed(RESULTS, 0, status="failed")
    first = cells_of(results)[0]
    counts = {frozenset((c.better, c.other)): c.difference.n for c in first.comparisons}
    broken = RESULTS.runs["learner"][0]
    assert {n for pair, n in counts.items() if broken in pair} == {7}
    assert {n for pair, n in counts.items() if broken not in pair} == {8}
    assert results.counts() == {"finished": 71, "failed": 1}
    assert first.all_runs["status"].to_list().count("failed") == 1


def test_no_shared_replicate_no_comparison() -> None:
    results = made_up_results({"a": (1.0, 0.5), "b": (2.0, 0.5)}, [100], 2)
    results = changed(changed(results, 0, seed=5), 1, seed=5)
    (cell,) = cells_of(results)
    assert cell.comparisons == ()


def test_exponents_over_lengths() -> None:
    (family,) = families_of(cells_of(RESULTS))
    for rate in family.rates:
        assert rate.kind == ACROSS
        assert rate.law is not None
        assert rate.law.exponent.estimate == pytest.approx(LAWS[rate.learner][1], abs=0.02)
        assert rate.law.exponent.n == 8
        assert rate.n_episodes.tolist() == [1000, 4000, 16000]


def test_one_length_gives_the_slope_within_the_run() -> None:
    results = made_up_results({"bent": (5.0, 0.5)}, [10_000])
    curves = results.curves.with_columns(
        # Steep until a tenth of the run: the last decade alone counts.
        pl.when(pl.col("episodes") < 900)
        .then(pl.col("episodes") * 1.0)
        .otherwise("regret")
        .alias("regret")
    )
    (family,) = families_of(cells_of(Results(results.runs, curves)))
    (rate,) = family.rates
    assert rate.kind == WITHIN_RUN
    assert rate.law is not None
    assert rate.law.exponent.estimate == pytest.approx(0.5, abs=1e-9)


def test_no_exponent_where_the_regret_is_not_positive() -> None:
    (family,) = families_of(cells_of(made_up_results({"winner": (-1.0, 0.5)})))
    (rate,) = family.rates
    assert rate.law is None
    assert "not positive" in rate.reason


def test_exponents_need_replicates_of_every_length() -> None:
    results = made_up_results({"a": (1.0, 0.5)}, [100, 1000], 1)
    (family,) = families_of(cells_of(changed(results, 0, seed=7)))
    assert family.rates[0].law is None
    assert "no replicate" in family.rates[0].reason
    both = made_up_results({"a": (1.0, 0.5), "b": (1.0, 0.5)}, [100, 1000], 1)
    (family,) = families_of(cells_of(changed(both, 0, status="running")))
    assert "one length only" in family.rates[0].reason


def test_only_shared_checkpoints_are_averaged() -> None:
    name = RESULTS.runs["run"][0]
    kept = RESULTS.curves.filter((pl.col("run") != name) | (pl.col("episodes") % 2 == 0))
    cell = cells_of(Results(RESULTS.runs, kept))[0]
    group = next(g for g in cell.groups if g.learner == RESULTS.runs["learner"][0])
    assert (group.episodes % 2 == 0).all()
    assert group.curves["regret"].shape == (8, len(group.episodes))


def test_selecting_a_cell() -> None:
    cells = cells_of(made_up_results(mdps=("grid", "grid wide"), n_replicates=2))
    assert select_cell(cells, "grid", n_episodes=1000).mdp == "grid"
    assert select_cell(cells, "wide", n_episodes=1000).mdp == "grid wide"
    with pytest.raises(InvalidInput, match="cell: 3 fit, choose by MDP"):
        select_cell(cells, "grid")
    with pytest.raises(InvalidInput, match="cell: none fits, there are: grid"):
        select_cell(cells, "river")
    with pytest.raises(InvalidInput, match="none fits"):
        select_cell(cells, n_episodes=100)  # a part of a number is another number


def test_refusals() -> None:
    runs, curves = RESULTS.runs, RESULTS.curves
    first = runs["run"][0]
    with pytest.raises(InvalidInput, match="runs: column 'regret' is missing"):
        Results(runs.drop("regret"), curves)
    with pytest.raises(InvalidInput, match="curves: column 'bias2' is missing"):
        Results(runs, curves.drop("bias2"))
    with pytest.raises(InvalidInput, match="runs: column 'seed' holds String, expected Int64"):
        Results(runs.with_columns(seed=pl.lit("one")), curves)
    with pytest.raises(InvalidInput, match="runs: dict is not a polars DataFrame"):
        Results({}, curves)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="is listed twice"):
        Results(pl.concat([runs, runs[:1]]), curves)
    with pytest.raises(InvalidInput, match="is finished but has no curve"):
        Results(runs, curves.filter(pl.col("run") != first))
    with pytest.raises(InvalidInput, match="is not the only finished run of its learner"):
        changed(RESULTS, 1, replicate=0)
    with pytest.raises(InvalidInput, match=r"runs: .* not a finite number"):
        changed(RESULTS, 0, regret=float("nan"))
    with pytest.raises(InvalidInput, match=r"curves: .* not a finite number"):
        Results(runs, curves.with_columns(best_loss=pl.lit(None)))
    unfinished = Results(runs.with_columns(status=pl.lit("running")), curves)
    with pytest.raises(InvalidInput, match="none of 72 is finished"):
        cells_of(unfinished)
    nothing = curves.with_columns(episodes=pl.int_range(pl.len()) + 1)
    with pytest.raises(InvalidInput, match="share no evaluation point"):
        cells_of(Results(runs, nothing))
