"""Learners inside of a learner, in files and in services: mixtures and corrals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.files.archive import read_archive, write_archive
from tests.reference.contract import DENSE, assert_same_state, follow

LAYOUT, P = DENSE.layout, DENSE.transitions
TABLE = [np.eye(2)[np.zeros(n, dtype=int)] for n in LAYOUT.layer_sizes[:-1]]


def experts() -> dict[str, Any]:
    """Tables of their own, contexts, a policy, and a mixture of bandits' betters."""
    hint = np.linspace(-3.0, 5.0, LAYOUT.n_rows)
    return {
        "hinted": am.AdaFTRL(LAYOUT, P, 0.9, hint=hint),
        "by context": am.PerContext(am.planners.WindowPlanner, LAYOUT, 1, window=3),
        "always": TABLE,
        "inner": am.Mixture(LAYOUT, [am.AdaOREPS(LAYOUT, P), TABLE], P, "squint"),
    }


def bandits() -> list[Any]:
    return [am.UOBREPS(LAYOUT, 60, eta_scale=scale) for scale in (1.0, 4.0)]


MADE: dict[str, Callable[[], Any]] = {
    "mixture": lambda: am.Mixture(LAYOUT, experts(), P, votes={"inner": 3}, warm_up=4),
    "estimated": lambda: am.Mixture(LAYOUT, list(experts().values()), rule="fixed-share"),
    "corral": lambda: am.Corral(LAYOUT, bandits(), 60, seed=7),
    "named corral": lambda: am.Corral(LAYOUT, dict(zip("ab", bandits(), strict=True)), 60),
}

every_kind = pytest.mark.parametrize("kind", MADE)


@every_kind
def test_a_loaded_one_continues_with_the_same_bits(kind: str, tmp_path: Path) -> None:
    learner = MADE[kind]()
    follow(learner, DENSE, 0, 20)
    learner.save(tmp_path / "learner.am")
    again = am.load(tmp_path / "learner.am")
    assert repr(again) == repr(learner)
    names = "chances" if kind.endswith("corral") else "weights"
    assert getattr(again, names) == getattr(learner, names)
    assert np.array_equal(follow(again, DENSE, 20, 35), follow(learner, DENSE, 20, 35))
    assert_same_state(again, learner)


@every_kind
def test_a_kept_service_goes_on_with_it(kind: str, tmp_path: Path) -> None:
    rng, learner = np.random.default_rng(0), MADE[kind]()
    service = am.Service(learner, tmp_path / "kept")
    for _ in range(5):
        table = LAYOUT.pairs(rng.random(LAYOUT.n_rows))
        own = [float(layer[0, 1]) for layer in table]
        seen = own if learner.feedback == "bandit" else [layer.tolist() for layer in table]
        path = {"states": [0] * 5, "actions": [1] * 4}
        service.finish(service.begin(), {**path, "losses": seen})
    service.close()
    assert_same_state(am.Service.load(tmp_path / "kept").learner, learner)


def test_what_no_file_can_hold_is_named(tmp_path: Path) -> None:
    class Own:
        feedback = "full"
        layout = LAYOUT

        def policy(self) -> Any:
            return TABLE

        def update(self, feedback: Any) -> None: ...
        def state(self) -> Any:
            return {}

        def restore(self, saved: Any) -> None: ...

    for part, what in ((lambda episode, context: TABLE, "function"), (Own(), "Own")):
        mixture = am.Mixture(LAYOUT, {"odd": part, "plain": TABLE}, P)
        with pytest.raises(am.InvalidInput, match=f"save: odd of experts is a {what}"):
            mixture.save(tmp_path / "learner.am")
    assert not list(tmp_path.iterdir())


def nested(depth: int) -> dict[str, Any]:
    part: dict[str, Any] = {}
    for _ in range(depth):
        part = {"class": "Mixture", "arguments": {"experts": {"parts": [part]}}}
    return part


BAD_PARTS: dict[str, tuple[Any, type[Exception]]] = {
    "a class of nobody": ([{"class": "os", "arguments": {}}], am.InvalidInput),
    "no list": (7, am.DamagedFile),
    "no descriptions": (["class"], am.DamagedFile),
    "no arguments": ([{"class": "AdaFTRL"}], am.DamagedFile),
    "odd names": ([{"name": [1]}], am.DamagedFile),
    "odd arguments": ([{"class": "UOBREPS", "arguments": {"eta": {}}}], am.DamagedFile),
    "too few": ([{}], am.AdvMDPError),
    "none": ([], am.InvalidInput),
    "too deep": ([nested(40)], am.InvalidInput),
}


@pytest.mark.parametrize("case", BAD_PARTS)
def test_files_whose_parts_make_no_learner_are_refused(case: str, tmp_path: Path) -> None:
    parts, error = BAD_PARTS[case]
    path = tmp_path / "learner.am"
    MADE["mixture"]().save(path)
    header, arrays = read_archive(path, "learner")
    arguments: Any = header["arguments"]
    spoilt = {**header, "arguments": {**arguments, "experts": {"parts": parts}}}
    write_archive(path, "learner", spoilt, arrays)
    with pytest.raises(error) as caught:
        am.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, 3, LAYOUT.n_rows + 1])
def test_a_policy_of_another_size_is_refused(size: int, tmp_path: Path) -> None:
    path = tmp_path / "learner.am"
    MADE["mixture"]().save(path)
    header, arrays = read_archive(path, "learner")
    write_archive(path, "learner", header, {**arrays, "experts.2.policy": np.ones(size)})
    with pytest.raises(am.AdvMDPError):
        am.load(path)
