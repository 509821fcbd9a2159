"""Kernels below a program are linked into it, and are no machine code by themselves."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from numba import float64
from numba.core.caching import NullCache
from numba.core.codegen import JITCPUCodegen

import advmdp as am
from advmdp.kernels.runtime.targets import kernel, leaf


def half(x: float) -> float:
    return x / 2.0


def sum_of_halves(values: Any) -> float:
    total = 0.0
    for i in range(values.shape[0]):
        total += inner(values[i])
    return total


inner = leaf(half)
middle = kernel(sum_of_halves)


def twice_the_sum(values: Any) -> float:
    return 2.0 * middle(values)


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the functions in every module that is handed to the engine."""
    modules: list[list[str]] = []
    add = JITCPUCodegen._add_module

    def recorded(codegen: Any, module: Any) -> Any:
        modules.append([f.name for f in module.functions if not f.is_declaration])
        return add(codegen, module)

    monkeypatch.setattr(JITCPUCodegen, "_add_module", recorded)
    return modules


def test_a_program_is_translated_once_and_its_kernels_are_not(translated: Any) -> None:
    program: Any = kernel(twice_the_sum)
    program._cache = NullCache()
    assert program(np.arange(5.0)) == 10.0
    named = [[name for name in module if "test_linking" in name] for module in translated]
    programs = [names for names in named if names]
    assert len(programs) == 1
    assert not any("sum_of_halves" in name or "half" in name for name in programs[0])


def test_a_kernel_inside_a_program_is_a_program_of_its_own_when_python_calls_it() -> None:
    values = np.arange(5.0)
    assert kernel(twice_the_sum)(values) == 2.0 * middle(values) == 2.0 * sum_of_halves(values)


def test_python_may_call_a_leaf_before_and_after_it_is_linked_somewhere() -> None:
    fresh: Any = leaf(half)
    assert fresh(3.0) == 1.5
    fresh.get_call_template((float64,), {})
    assert fresh(3.0) == 1.5


def test_losses_in_any_memory_layout_give_the_same_update() -> None:
    layout = am.Layout((1, 3, 3, 1), 2)
    apart, together = am.UOBREPS(layout, 10), am.UOBREPS(layout, 10)
    for losses in np.random.default_rng(0).random((4, 3)):
        wide = np.full(9, np.nan)
        wide[::3] = losses
        together.update(am.Trajectory([0, 1, 2, 0], [0, 1, 0], losses))
        apart.update(am.Trajectory([0, 1, 2, 0], [0, 1, 0], wide[::3]))
    for ours, theirs in zip(apart.policy(), together.policy(), strict=True):
        assert np.array_equal(ours, theirs)


def test_a_copy_of_a_learner_goes_its_own_way() -> None:
    learner = am.UOBREPS(am.Layout((1, 3, 3, 1), 2), 10)
    learner.update(am.Trajectory([0, 1, 2, 0], [0, 1, 0], [0.5, 0.1, 0.9]))
    before = [table.copy() for table in learner.policy()]
    twin = copy.deepcopy(learner)
    twin.update(am.Trajectory([0, 1, 2, 0], [0, 1, 0], [0.5, 0.1, 0.9]))
    assert (learner.episodes, twin.episodes) == (1, 2)
    assert all(map(np.array_equal, learner.policy(), before))
