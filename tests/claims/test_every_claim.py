"""The contract of a claim, for every claim of the catalogue.

The test module of a claim (``tests.claims.lemmas.test_hedge`` for ``advmdp.claims.lemmas.hedge``)
holds its per-claim tests, ``TINY``, an effort of a moment, and ``MADE_UP``, measurements by the
verdict that they must lead to.
"""

from __future__ import annotations

import copy
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from pydantic import TypeAdapter

from advmdp.claims import lemmas, regret
from advmdp.claims.catalogue import CLAIMS, AnyClaim
from advmdp.claims.finding import Finding, Verdict
from advmdp.claims.output.findings_json import as_data, plain
from advmdp.reports.figures.panels import vertical_range
from advmdp.store import Store
from advmdp.world.mdp import LayeredMDP
from tests.claims.made_up import InlineLab

VERDICTS = get_args(Verdict)
TEXTS = ("claim", "reference", "checked", "instances", "measured", "bound", "margin", "error_rate")
WATCHED_EVENTS = ("open", "os.", "socket.", "subprocess.", "shutil.")


def module_of(claim: AnyClaim) -> Any:
    """The test module of a claim."""
    folder, _, name = claim.judge.__module__.rpartition(".")
    return importlib.import_module(f"{folder.replace('advmdp', 'tests')}.test_{name}")


def measurement_type(claim: AnyClaim) -> type:
    """The class of its measurements."""
    found: type = get_type_hints(claim.judge)["measurement"]
    return found


def through_json(claim: AnyClaim, measurement: Any) -> Any:
    """The measurement after a round trip through a JSON text."""
    text = json.dumps(plain(measurement), allow_nan=False)
    return TypeAdapter(measurement_type(claim)).validate_json(text)


@pytest.fixture(params=CLAIMS)
def claim(request: pytest.FixtureRequest) -> AnyClaim:
    return CLAIMS[request.param]


@pytest.fixture(params=VERDICTS)
def verdict(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# ------------------------------------------------------------------ the catalogue


def test_every_module_with_a_claim_is_in_the_catalogue() -> None:
    def claims_in(package: ModuleType) -> Iterator[str]:
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            found = getattr(importlib.import_module(module.name), "CLAIM", None)
            if found is not None:
                assert module.name.endswith("." + found.name.replace("-", "_"))
                yield found.name

    assert sorted([*claims_in(lemmas), *claims_in(regret)]) == sorted(CLAIMS)


# ------------------------------------------------------------------ judges on made-up measurements


def test_a_judge_can_reach_every_verdict(claim: AnyClaim, verdict: str) -> None:
    assert claim.judge(module_of(claim).MADE_UP[verdict]()).verdict == verdict


_events: list[str] | None = None


def _note(event: str, arguments: Any) -> None:
    if _events is not None and event.startswith(WATCHED_EVENTS):
        _events.append(f"{event} {arguments}")


sys.addaudithook(_note)


@contextmanager
def system_events() -> Iterator[list[str]]:
    """Files, sockets and processes that are opened meanwhile."""
    global _events
    _events = events = []
    yield events
    _events = None


def test_the_watch_over_judges_notices_a_file(tmp_path: Path) -> None:
    with system_events() as events:
        (tmp_path / "file").write_text("x")
    assert events


def test_a_judge_plays_nothing_and_touches_no_file(
    claim: AnyClaim, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measurement = module_of(claim).MADE_UP[verdict]()
    before = copy.deepcopy(plain(measurement))
    first = as_data(claim.conclude(measurement))  # imports whatever is imported on first use
    monkeypatch.setattr(
        LayeredMDP, "__init__", lambda *_, **__: pytest.fail("a judge makes no MDP to play in")
    )
    with system_events() as events:
        judgement = claim.judge(measurement)
    assert events == []
    assert judgement.verdict == verdict
    assert as_data(claim.conclude(measurement)) == first  # a function of the measurement alone
    assert plain(measurement) == before  # which it leaves alone


def test_a_stored_measurement_can_be_judged_again(claim: AnyClaim, verdict: str) -> None:
    measurement = module_of(claim).MADE_UP[verdict]()
    assert isinstance(measurement, measurement_type(claim))
    again = claim.conclude(through_json(claim, measurement))
    assert as_data(again) == as_data(claim.conclude(measurement))


def test_the_description_is_complete(claim: AnyClaim, verdict: str) -> None:
    finding = claim.conclude(module_of(claim).MADE_UP[verdict]())
    for text in TEXTS:
        assert getattr(finding, text), text
    templates = (claim.description.instances, claim.description.measured)
    fields = [field for text in templates for _, field, _, _ in Formatter().parse(text) if field]
    assert fields  # the numbers in the sentences are the judge's
    json.dumps(as_data(finding), allow_nan=False)


# ------------------------------------------------------------------ small measurements


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> InlineLab:
    return InlineLab(Store(tmp_path_factory.mktemp("claims") / "store", create=True))


def tiny(claim: AnyClaim) -> AnyClaim:
    return replace(claim, quick=module_of(claim).TINY)


def test_a_small_measurement_is_plain_data(claim: AnyClaim, lab: InlineLab) -> None:
    measurement = tiny(claim).measure(lab)
    assert isinstance(measurement, measurement_type(claim))
    finding = claim.conclude(measurement)
    assert as_data(claim.conclude(through_json(claim, measurement))) == as_data(finding)
    assert plain(tiny(claim).measure(lab)) == plain(measurement)  # the same seed, the same numbers
    check_finding(finding)


def test_a_small_finding_names_its_runs_or_its_seed(claim: AnyClaim, lab: InlineLab) -> None:
    finding = tiny(claim).finding(lab)
    if claim.is_stored:
        stored = lab.store.runs()
        assert set(finding.runs) <= set(stored["run"])  # every figure has its runs
        assert list(finding.runs) == [spec.id for spec in tiny(claim).runs(quick=True)]
        lab.prepare(tiny(claim).runs(quick=True))
        assert lab.store.runs().equals(stored)  # nothing is played twice
    else:
        assert not finding.runs
        assert finding.instances.endswith("; seed 0")


def check_finding(finding: Finding) -> None:
    """A verdict, JSON data, and panels that can be drawn."""
    assert finding.verdict in VERDICTS
    assert as_data(finding)["data"]
    assert (
        "none" not in finding.error_rate
        or "must hold" in finding.error_rate
        or ("visited" in finding.error_rate)
    )
    for panel in finding.panels:
        low, high = vertical_range(panel)
        assert low < high
        for series in panel.series:
            assert series.x.shape == series.y.shape
            assert len(series.x) > 0
            assert np.isfinite(series.y).all()
            assert (series.x > 0).all() or not panel.x_log
