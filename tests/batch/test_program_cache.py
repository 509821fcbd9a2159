"""Compiled GPU programs on disk: found by another process, and only where they belong.

There is no card here, so what the compiler would return is a stand-in; everything else is real.
"""

from __future__ import annotations

from pathlib import Path

from tests.batch.simulator import simulate

PROCESS = """
import sys
from advmdp.batch import program_cache, programs
from advmdp.batch.columns import Block
from advmdp.batch.runs import casts
from numba import types
from numba.core import config

config.CACHE_DIR = sys.argv[1]  # of GPU programs: the kernels of the CPU are in the cache they have


class Codegen:
    def magic_tuple(self):
        return (13, 0), (9, 0)


class Target:
    def refresh(self):
        pass

    def codegen(self):
        return Codegen()


class Compiled:
    codegen = Codegen()
    _codelibrary = type("Library", (), {"_llvm_strs": ["megabytes"]})()

    def __init__(self, name):
        self.name = name

    def _reduce_states(self):
        return {"name": self.name, "text": self._codelibrary._llvm_strs}


program_cache._ProgramFiles.rebuild = lambda self, target, payload: payload
KINDS = (types.int64, types.float64[::1])


def programs_of(n_episodes, width, learner="uob-reps"):
    losses = am.losses.Stochastic(TABLES[0])
    runs = [BatchRun(MDPS[0], losses, make(learner, n_episodes, MDPS[0]), i) for i in range(3)]
    plan = Block(casts(runs, n_episodes), width).plan
    return programs.programs_for(plan, None)


def cache(program):
    return program._kernel._cache


def found(program):
    return cache(program).load_overload(KINDS, Target())


def keep(program, name):
    cache(program).save_overload(KINDS, Compiled(name))
"""

FIRST = """
ours = programs_of(100, 2)
assert found(ours.play) is None
keep(ours.play, "play")
keep(ours.rescue, "rescue")
assert found(ours.play) == {"name": "play", "text": []}, "the text is not needed again"
print("kept")
"""

SECOND = """
ours = programs_of(100, 2)
assert found(ours.play)["name"] == "play"
assert found(ours.rescue)["name"] == "rescue"
assert found(ours.evaluate) is None
assert found(programs_of(120, 2).play)["name"] == "play", "rates are not compiled in"
for other in (programs_of(100, 4), programs_of(100, 2, "o-reps")):
    assert found(other.play) is None, "compiled from another plan"
assert cache(ours.play).load_overload(KINDS[:1], Target()) is None, "other arguments"
Codegen.magic_tuple = lambda self: ((13, 0), (8, 0))
assert found(ours.play) is None, "compiled for another card"
print("found")
"""

BROKEN = """
from pathlib import Path

ours = programs_of(100, 2)
for path in Path(cache(ours.play).cache_path).glob("*play*.nb*"):
    path.write_bytes(path.read_bytes()[:-20])
assert found(ours.play) is None
assert found(ours.rescue)["name"] == "rescue"
keep(ours.play, "once more")
print("missed")
"""

AGAIN = """
print(found(programs_of(100, 2).play)["name"])
"""

FULL_DISK = """
def full(*_):
    raise OSError(28, "No space left on device")


ours = programs_of(100, 8)
cache(ours.play)._cache_file.save = full
keep(ours.play, "play")
assert found(ours.play) is None
print("not kept")
"""


def play_processes(folder: Path, *scripts: str) -> list[str]:
    """What the scripts print, one process after the other; each has assertions of its own."""
    return [simulate(PROCESS + script, str(folder), simulator=False).strip() for script in scripts]


def test_another_process_finds_the_same_program(tmp_path: Path) -> None:
    assert play_processes(tmp_path, FIRST, SECOND) == ["kept", "found"]
    assert list(tmp_path.rglob("*programs_for.locals.play*.nbc"))


def test_what_cannot_be_read_is_compiled_anew(tmp_path: Path) -> None:
    assert play_processes(tmp_path, FIRST, BROKEN, AGAIN) == ["kept", "missed", "once more"]


def test_a_full_disk_does_not_stop_a_batch(tmp_path: Path) -> None:
    assert play_processes(tmp_path, FULL_DISK) == ["not kept"]


def test_an_edited_source_gives_another_stamp(tmp_path: Path) -> None:
    simulate(
        """
import sys
from pathlib import Path
from advmdp.batch import programs
from advmdp.batch.columns import BatchPlan, SharedValue

PLAN = BatchPlan(SharedValue(1), 1, 1, 8, 8)


def stamp():
    return programs.stamp_of(PLAN, None)

before = stamp()
assert stamp() == before
assert programs.stamp_of(PLAN, 64) != before
copies = Path(sys.argv[1])
for path in Path(programs.__file__).parent.glob("*.py"):
    (copies / path.name).write_bytes(path.read_bytes())
programs.__file__ = str(copies / "programs.py")
assert stamp() == before
with open(copies / "steps.py", "a") as file:
    file.write("# edited")
edited = stamp()
assert edited != before
programs.SOURCE_STAMP = "kernels edited"
assert stamp() not in (before, edited)
""",
        str(tmp_path),
        simulator=False,
    )
