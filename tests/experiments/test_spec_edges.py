"""Specs at the edges of what a parser, an integer or Gymnasium takes: one line, no traceback."""

from __future__ import annotations

from typing import Any

import pytest

from advmdp.errors import InvalidInput
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec
from tests.experiments.sweeps import one_run

DEEP = 100_000


def test_deep_documents() -> None:
    with pytest.raises(InvalidInput, match="nested too deeply"):
        RunSpec.from_json('{"a":' * DEEP + "1" + "}" * DEEP)
    with pytest.raises(InvalidInput, match="nested too deeply"):
        RunSpec.from_toml("a = " + "[" * DEEP + "]" * DEEP)
    with pytest.raises(InvalidInput, match="nested too deeply"):
        SweepSpec.from_toml("a = " + "[" * DEEP + "]" * DEEP)


@pytest.mark.parametrize("points", [2**63, 10**400, [2**63], [1, 10**400]])
def test_evaluation_points_that_are_too_large(points: Any) -> None:
    with pytest.raises(InvalidInput, match="checkpoints"):
        build(one_run(checkpoints=points))


@pytest.mark.parametrize(
    "world",
    [
        {"id": "no_such_module:FrozenLake-v1"},
        {"id": "FrozenLake-v1", "map_name": "no such map"},
    ],
)
def test_unknown_gymnasium_worlds(world: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"mdp\.id"):
        build(one_run(mdp={"name": "gymnasium", "horizon": 4, **world}))
