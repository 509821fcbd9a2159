"""The counter-based generator: published answers, one source for every target, uniformity."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from advmdp.kernels.runtime.random_numbers import (
    LOSSES,
    TRAJECTORY,
    philox,
    uniform_four,
    uniform_pair,
)

ONES = 0xFFFFFFFF

# Salmon et al. publish these with their library (key words, counter words, result).
KNOWN_ANSWERS = [
    ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES), (ONES,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0xA4093822, 0x299F31D0),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def plain(function: Callable[..., Any]) -> Any:
    """The uncompiled Python source of a kernel."""
    return cast(Any, function).py_func


@pytest.mark.parametrize(("key", "counter", "answer"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(
    key: tuple[int, ...], counter: tuple[int, ...], answer: tuple[int, ...]
) -> None:
    assert philox(*key, *counter) == answer
    assert plain(philox)(*key, *counter) == answer


@pytest.mark.filterwarnings("error")
def test_compiled_and_plain_source_agree_for_every_kind_of_integer() -> None:
    words = np.random.default_rng(0).integers(0, 2**32, size=(50, 6), dtype=np.int64)
    for row in words:
        expected = plain(philox)(*[int(word) for word in row])
        assert all(0 <= word <= ONES for word in expected)
        assert philox(*row) == expected
        assert philox(*row.astype(np.uint32)) == expected
        assert plain(philox)(*row) == expected
        assert plain(philox)(*row.astype(np.uint32)) == expected


def test_doubles_have_all_their_bits_and_stay_below_one() -> None:
    # the places are arbitrary; the largest words would give 1 - 2**-53 and 1 - 2**-32
    pairs = np.array([uniform_pair(1, 2, TRAJECTORY, t, 0) for t in range(2000)])
    fours = np.array([uniform_four(1, 2, LOSSES, t, 0) for t in range(2000)])
    for values, bits in ((pairs, 53), (fours, 32)):
        assert values.min() >= 0.0
        assert values.max() < 1.0
        scaled = values * 2.0**bits
        assert np.array_equal(scaled, np.floor(scaled))
        assert (np.mod(scaled, 2.0) == 1.0).any()


def test_doubles_are_made_of_the_words_of_their_place() -> None:
    episode = 2**35 + 9
    w0, w1, w2, w3 = philox(1, 2, episode % 2**32, episode // 2**32, 4, TRAJECTORY)
    expected = [((a >> 5) * 2**26 + (b >> 6)) / 2**53 for a, b in ((w0, w1), (w2, w3))]
    assert list(uniform_pair(1, 2, TRAJECTORY, episode, 4)) == expected
    assert uniform_four(1, 2, TRAJECTORY, episode, 4) == tuple(w / 2**32 for w in (w0, w1, w2, w3))


def test_every_part_of_the_place_changes_the_numbers() -> None:
    place = (3, 4, TRAJECTORY, 5, 6)
    others = [tuple(v + (i == part) for i, v in enumerate(place)) for part in range(5)]
    beyond_32_bits = (3, 4, TRAJECTORY, 5 + 2**32, 6)
    values = [uniform_pair(*p) for p in [place, *others, beyond_32_bits]]
    assert len({u for pair in values for u in pair}) == 14
    assert uniform_pair(*place) == values[0]


def test_numbers_are_uniform_and_uncorrelated() -> None:
    """Chi-square and correlation tests, each at level 1e-6 with a fixed seed; 10 tests in all."""
    n, level = 20_000, 1e-6
    pairs = np.array([uniform_pair(7, 8, TRAJECTORY, t // 5, t % 5) for t in range(n)])
    fours = np.array([uniform_four(7, 8, LOSSES, t, 0) for t in range(n)])
    columns = np.hstack([pairs, fours])
    for column in columns.T:
        counts = np.histogram(column, bins=64, range=(0.0, 1.0))[0]
        assert stats.chisquare(counts).pvalue > level
    shifted = [(columns[:, 0], columns[:, 1]), (columns[:, 2], columns[:, 5])]
    shifted += [(columns[1:, i], columns[:-1, i]) for i in (0, 2)]
    for first, second in shifted:
        assert stats.pearsonr(first, second).pvalue > level


SIMULATED = """
import numpy as np
from numba import cuda
from advmdp.kernels.runtime.targets import load_cuda_kernels
import importlib
load_cuda_kernels()
draws = importlib.import_module("advmdp._cuda_kernels.runtime.random_numbers")

@cuda.jit
def fill(seeds, out):
    out[0], out[1] = draws.uniform_pair(seeds[0], seeds[1], draws.LEARNER, seeds[2], seeds[3])

out = np.zeros(2)
fill[1, 1](np.array([2**32 - 1, 2**32 - 2, 2**40 + 3, 5]), out)
print(out[0].hex(), out[1].hex())
"""


def test_simulated_cuda_gives_the_same_numbers_without_a_warning() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", SIMULATED],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = uniform_pair(2**32 - 1, 2**32 - 2, 2, 2**40 + 3, 5)
    assert done.stdout.split() == [value.hex() for value in expected]
