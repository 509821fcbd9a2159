"""Saved batches with right names, shapes and stamps and wrong values: refused, or harmless.

Under numba's simulator, whose kernels are plain Python: an index beyond an array is an error there.
"""

from __future__ import annotations

import pytest

from tests.batch.simulator import simulate

SAVED = """
import sys
from advmdp.batch import playing
from advmdp.batch.columns import cells

N, OPTIONS = 7, dict(width=2, checkpoints=[3, 6])
NAME = sys.argv[1]


def batch():
    losses = am.losses.Adaptive(TABLES[0], strength=0.3)
    return [BatchRun(MDPS[i % 2], losses, make(NAME, N, MDPS[0]), seed=i) for i in range(3)]


def blocks():
    seen = []
    plain = playing.Block
    playing.Block = lambda *arguments: seen.append(plain(*arguments)) or seen[-1]
    saved = []
    whole = play_batch(batch(), N, save=saved.append, save_seconds=0.0, **OPTIONS)
    playing.Block = plain
    return whole, saved, seen[0]


def values_of(array):
    if array.dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, -1.0, 1e300]
    limits = np.iinfo(array.dtype)
    values = [-1, 1, 17, 10**7, 2**31 - 1, limits.max, limits.min]
    return [value for value in values if limits.min <= value <= limits.max]


def outcome(state):
    try:
        runs = play_batch(batch(), N, resume=state, **OPTIONS)
    except am.InvalidInput as problem:
        assert "\\n" not in str(problem) and str(problem).startswith("resume: "), problem
        return "refused"
    except RefusedRuns:  # a step that could not be certified: loud as well
        return "harmless"
    assert all(np.isfinite(run.expected_loss).all() for run in runs)
    return "harmless"
"""

# Every column of the tiles, the shared graph's excepted: those are not saved.
COLUMNS = """
from advmdp.batch.resuming import SavedBatch

whole, saved, block = blocks()
state = saved[-2]  # one episode before the end
lasting = dict(block.lasting_arrays(state["tiles"], 3))
fresh = block.own(0, 3)
rng = np.random.default_rng(5)
counted = {"refused": 0, "harmless": 0}
for column in block.plan.columns().values():
    if column.common or column.size == 0:
        continue
    for value in values_of(np.empty(0, column.dtype)):
        tiles = state["tiles"].copy()
        cells(tiles, column)[0, int(rng.integers(column.size)), 0] = value
        wrong = {**state, "tiles": tiles}
        if column.name in lasting:
            counted[outcome(wrong)] += 1
        else:  # taken from the batch, not from the file
            given = SavedBatch(wrong, batch(), np.array([3, 6, N]), block).tiles()
            # scratch of a restored run may be no number
            pair, real = (cells(given, column), cells(fresh, column)), column.dtype.startswith("<f")
            assert np.array_equal(*pair, equal_nan=real), column.name
assert counted["refused"] >= 10 and counted["harmless"] >= 3, counted
again = play_batch(batch(), N, resume=state, **OPTIONS)
for run, other in zip(whole, again, strict=True):
    assert run.regret.tobytes() == other.regret.tobytes()
print("checked", counted)
"""

# What lies beside the tiles.
BESIDE = """
whole, saved, block = blocks()
state = saved[0]
wrong = []
for name in ("wave", "episodes", "per_wave", "stamp"):
    given = int(state[name])
    wrong += [(name, np.array(given + 1)), (name, np.array(-1)), (name, np.array(2**62))]
    wrong += [(name, np.array([given, given])), (name, np.array(float(given)))]
    wrong += [(name, np.array([], dtype=np.int64))]
for name in ("tiles", "done", "figures", "refused"):
    array = state[name]
    wrong += [(name, array[:-1]), (name, array.astype(np.float32)), (name, array[None])]
    wrong += [(name, np.zeros(0, array.dtype))]
wrong += [("done", state["done"] + 1), ("done", state["done"] * 0 - 2**40)]
wrong += [("done", state["done"] * 0), ("refused", state["refused"] - 1)]
wrong += [("refused", state["refused"] * 0 + 10**7)]
wrong += [("figures", np.full_like(state["figures"], np.inf))]
wrong += [("final.total", np.zeros((3, 7))), ("final.", np.zeros(3)), ("final.x", np.zeros(3))]
for name, array in wrong:
    assert outcome({**state, name: array}) == "refused", (name, array)
for name in state:
    assert outcome({k: a for k, a in state.items() if k != name}) == "refused", name
for nothing in ({}, {"stamp": state["stamp"]}, [1], "text"):
    assert outcome(nothing) == "refused", nothing
assert outcome(state) == "harmless"
print("beside")
"""

# The arrays of waves that had ended before the batch was cut.
WAVES = """
OPTIONS["memory"] = 9_000
whole, saved, block = blocks()
state = next(state for state in saved if int(state["wave"]) > 0)
finals = [name for name in state if name.startswith("final.")]
assert finals
for name in finals:
    for wrong in (state[name][:-1], state[name].astype(np.float32), state[name][..., :0]):
        assert outcome({**state, name: wrong}) == "refused", name
    assert outcome({k: a for k, a in state.items() if k != name}) == "refused", name
for value in (np.nan, -1.0, 1e18):
    assert outcome({**state, "figures": np.full_like(state["figures"], value)}) == "refused"
assert outcome(state) == "harmless"
print("waves")
"""


@pytest.mark.parametrize("learner", ["uob-reps"])
def test_a_wrong_value_in_a_tile(learner: str) -> None:
    assert "checked" in simulate(SAVED + COLUMNS, learner)


def test_wrong_arrays_beside_the_tiles() -> None:
    assert "beside" in simulate(SAVED + BESIDE, "exp3-ix")


def test_wrong_arrays_of_earlier_waves() -> None:
    assert "waves" in simulate(SAVED + WAVES, "uob-reps")
