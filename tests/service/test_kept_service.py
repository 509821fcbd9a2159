"""What a folder keeps: every acknowledged episode, byte by byte, whatever kills the process."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import advmdp as am
from advmdp.files.archive import read_archive, write_archive
from advmdp.service.journal import Journal
from tests.reference.contract import DENSE, assert_same_state, doubling, made
from tests.service.test_service import played, serve


def run_ahead(service: am.Service, start: int, stop: int) -> None:
    """Three open at any time; the middle one is finished, every fifth is given up."""
    for t in range(start, stop):
        while len(service.open) < 3:
            service.begin()
        ticket = service.open[1]
        if t % 5 == 4:
            service.abandon(ticket)
        else:
            service.finish(ticket, played(service.learner, ticket, t))


@pytest.mark.parametrize("every", [1, 4, 1000])
@pytest.mark.parametrize("name", ["uob-reps", "doubling"])
def test_a_restart_continues_with_the_same_bits(name: str, every: int, tmp_path: Path) -> None:
    """A service that is thrown away and loaded at every stop, beside one that lives on."""

    def new() -> am.Learner:
        made_so: am.Learner = (
            doubling("uob-reps", DENSE) if name == "doubling" else made(name, DENSE)
        )
        return made_so

    path = tmp_path / "service"
    lasting, service = am.Service(new()), am.Service(new(), path, every)
    for start in range(0, 24, 6):
        for each in (lasting, service):
            run_ahead(each, start, start + 6)
        service.close()
        service = am.open_service(path, new())
        assert (service.finished, service.abandoned) == (lasting.finished, lasting.abandoned)
        assert [t.to_dict() for t in service.open] == [t.to_dict() for t in lasting.open]
        assert (service.every, service.path) == (every, path)
        assert_same_state(service.learner, lasting.learner)
    assert len(list(path.glob("journal-*.log"))) == 1


def test_nothing_is_erased(tmp_path: Path) -> None:
    path = tmp_path / "service"
    service = am.open_service(path, made("uob-reps", DENSE))
    serve(service, 0, 5)
    with pytest.raises(am.InvalidInput, match="another process serves it"):
        am.open_service(path, made("uob-reps", DENSE))
    service.close()
    with pytest.raises(am.InvalidInput, match=r"go on with it by am\.open_service"):
        am.Service(made("uob-reps", DENSE), path)
    with pytest.raises(am.InvalidInput, match="holds the service of another one"):
        am.open_service(path, am.UOBREPS(DENSE.layout, 40, eta_scale=2.0))
    with pytest.raises(am.InvalidInput, match="holds no service"):
        am.Service.load(tmp_path)
    (tmp_path / "mine.txt").write_text("data")
    with pytest.raises(am.InvalidInput, match="is there already"):
        am.Service(made("uob-reps", DENSE), tmp_path)
    assert am.open_service(path, made("uob-reps", DENSE)).finished == 5


SERVING = """
import sys
import advmdp as am
from tests.reference.contract import DENSE
from tests.service.test_kept_service import run_ahead

service = am.open_service(sys.argv[1], am.UOBREPS(DENSE.layout, 100_000), every=7)
done = service.finished + service.abandoned
while True:
    run_ahead(service, done, done + 1)
    done += 1
    print(done, flush=True)
"""


def test_every_acknowledged_episode_survives_kill_9(tmp_path: Path) -> None:
    path, rng, closed = tmp_path / "service", np.random.default_rng(0), 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", SERVING, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert int(process.stdout.readline()) == closed + 1
        acknowledged = [int(process.stdout.readline()) for _ in range(rng.integers(4, 40))]
        os.kill(process.pid, signal.SIGKILL)  # wherever it is after so many
        acknowledged += [int(line) for line in process.stdout]
        process.wait()
        process.stdout.close()
        service = am.Service.load(path)
        closed = service.finished + service.abandoned
        assert closed >= max(acknowledged)
        service.close()
    twin = am.Service(am.UOBREPS(DENSE.layout, 100_000))
    run_ahead(twin, 0, closed)
    again = am.Service.load(path)
    assert_same_state(again.learner, twin.learner)
    assert closed > 10


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "service"
    service = am.Service(made("uob-reps", DENSE), path)
    serve(service, 0, 2)
    ticket = service.begin()
    feedback = played(service.learner, ticket, 2)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(am.StorageFailure, match="written with the next one"):
            service.finish(ticket, feedback)
        with pytest.raises(am.StorageFailure):
            service.begin()  # no step further than the folder can follow
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert (service.finished, service.open) == (3, [])
    serve(service, 3, 4)
    service.close()
    again = am.Service.load(path)
    assert again.finished == 4
    assert_same_state(again.learner, service.learner)


def test_events_are_cut_at_the_last_whole_one_and_damage_is_told(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    journal = Journal(file)
    for i in range(3):
        journal.sync(journal.append({"event": i}))
    journal.close()
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        journal = Journal(file)
        assert [event["event"] for event in journal.events] == list(range(len(journal.events)))
        journal.append({"event": len(journal.events)})
        journal.close()
        assert Journal(file).events[-1]["event"] == len(journal.events)
    file.write_bytes(whole[:20] + bytes([whole[20] ^ 1]) + whole[21:])
    with pytest.raises(am.DamagedFile, match="damaged at byte 8"):
        Journal(file)


def test_what_does_not_make_a_service_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "service"
    made("uob-reps", DENSE).save(path)
    with pytest.raises(am.InvalidInput, match="holds a learner, not a service"):
        am.Service.load(path)
    service = am.Service(made("uob-reps", DENSE))
    run_ahead(service, 0, 4)
    service.save(path)
    assert [t.number for t in am.Service.load(path).open] == [t.number for t in service.open]
    header, arrays = read_archive(path, "service")
    for part in set(header) - {"draw_key"}:  # files of earlier versions have none
        broken = {key: value for key, value in header.items() if key != part}
        write_archive(path, "service", broken, arrays)
        with pytest.raises(am.DamagedFile, match=f"do not make a service .'{part}'."):
            am.Service.load(path)
    for name, array in arrays.items():
        if name.startswith("open."):
            value = 200 if array.dtype.kind == "u" else np.nan if array.dtype.kind == "f" else None
            wrong = np.full_like(array, value) if value is not None else array.reshape(1)
            write_archive(path, "service", header, {**arrays, name: wrong})
            with pytest.raises(am.AdvMDPError):
                am.Service.load(path)
