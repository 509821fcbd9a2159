"""Wrong data by structure: documents and arrays that parse, with one to three things changed."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 17, 10**9, 2**31, 2**63, -(2**63), 10**400),
    *(0.5, -1.5, 1e30, 1e308, 1e-308, "", "x", "x" * 5000, "\x1b[31m\u202e", "../..", "/dev/zero"),
    *([], {}, [1], [[1]], {"a": 1}, [None] * 50, {"seed": {}}, {"class": "Uniform"}, [10**9] * 3),
]
DTYPES = ["<f8", "<f4", "<i8", "<i4", "|u1", "|b1", "<c16", "<u8"]


def mutated(tree: Any, rng: random.Random) -> Any:
    """A copy of a document with one place changed."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places:
        return rng.choice(VALUES)
    parent, key = rng.choice(places)
    change = rng.randrange(6)
    if change == 0:
        del parent[key]
    elif change == 1 and isinstance(parent, dict):
        parent[rng.choice(["", "x", str(key) + "s", "class", "seed"])] = parent.pop(key)
    elif change == 2:  # what stands elsewhere in the document
        other, place = rng.choice(places)
        parent[key] = copy.deepcopy(other[place])
    elif change == 3 and type(parent[key]) in (int, float):
        old = parent[key]
        half = old / 2 if abs(old) < 1e300 else old
        parent[key] = rng.choice([old + 1, old - 1, -old, old * 10**9, half, str(old)])
    elif change == 4 and isinstance(parent[key], list):
        parent[key] = rng.choice([parent[key] * 2, parent[key][:-1], parent[key][::-1]])
    else:
        parent[key] = copy.deepcopy(rng.choice(VALUES))
    return tree


def _places(tree: Any) -> Any:
    """Every container of a document with every key or index in it."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(items):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _one_value(array: NDArray[Any], rng: random.Random) -> NDArray[Any]:
    wrong = array.copy()
    if not wrong.size:
        return wrong
    if wrong.dtype.kind == "f":
        values: list[Any] = [np.nan, np.inf, -np.inf, -1.0, 0.0, 2.0, 1e300, -1e-300]
    elif wrong.dtype.kind in "iu":
        limits = np.iinfo(wrong.dtype)
        near = int(wrong.flat[0])
        values = [-1, 0, 1, 17, near + 1, near - 1, 10**7, 2**31 - 1, limits.max, limits.min]
        values = [value for value in values if limits.min <= value <= limits.max]
    else:
        values = [True, False]
    with np.errstate(all="ignore"):  # half precision has no 1e300
        wrong.flat[rng.randrange(wrong.size)] = rng.choice(values)
    return wrong


CHANGES: list[Callable[[NDArray[Any], random.Random], NDArray[Any]]] = [
    *[_one_value] * 6,
    lambda array, rng: np.zeros_like(array),
    lambda array, rng: np.flip(array).copy(),
    lambda array, rng: array[None],
    lambda array, rng: array.ravel()[:-1],
    lambda array, rng: np.concatenate([array.ravel()] * 2),
    lambda array, rng: array.reshape(0, 5) if not array.size else array.ravel()[:0],
    lambda array, rng: _as_type(array, rng.choice(DTYPES)),
]


def _as_type(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        return array.real.astype(dtype)


def mutated_arrays(arrays: Arrays, rng: random.Random) -> Arrays:
    """A copy with one array changed, renamed, exchanged or left out."""
    arrays = dict(arrays)
    if not arrays:
        return {"x": np.zeros(3)}
    name = rng.choice(sorted(arrays))
    change = rng.randrange(10)
    if change == 0:
        del arrays[name]
    elif change == 1:
        arrays[rng.choice(["x", name + "x", name.partition(".")[0]])] = arrays.pop(name)
    elif change == 2:
        other = rng.choice(sorted(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        arrays[name] = rng.choice(CHANGES)(arrays[name], rng)
    return arrays


def altered(state: Arrays, rng: np.random.Generator) -> Iterator[tuple[str, Arrays]]:
    """Every array of a state in turn, with one wrong value or several.

    Of parts that differ in a number alone, as experts of a mixture do, the first stands for all.
    """
    seen: set[str] = set()
    for name, array in state.items():
        alike = re.sub(r"\d+", "#", name)
        if array.size == 0 or alike in seen:
            continue
        seen.add(alike)
        place = tuple(int(rng.integers(n)) for n in array.shape)
        if array.dtype.kind == "f":
            values: list[Any] = [np.nan, np.inf, -np.inf, -1.0, 2.0, 1e300, -1e300]
        else:
            limits = np.iinfo(array.dtype)
            values = [-1, 1, 3, 17, 10**7, 2**31 - 1, limits.max, limits.min]
            values = [value for value in values if limits.min <= value <= limits.max]
        for value in values:
            wrong = array.copy()
            wrong[place] = value
            yield f"{name}{list(place)} = {value}", {**state, name: wrong}
        for what, wrong in (("zero", array * 0), ("reversed", np.flip(array).copy())):
            yield f"{name} {what}", {**state, name: wrong}
