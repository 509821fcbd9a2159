"""``advmdp serve`` as a process: how it begins, is refused, ends, and is killed."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.serve_kills import feedback, killed

import advmdp as am
from advmdp.cli import main
from tests.web.running import Process

TOKEN = "a-token-of-32-letters-0123456789"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """One server from nothing to its end, and what was seen meanwhile."""
    folder = tmp_path_factory.mktemp("serve") / "services"
    options = ("--create", "pump", "--episodes", "1000", "--port", "0")
    server = Process(folder, *options, ADVMDP_TOKEN=TOKEN)
    seen: dict[str, object] = {"folder": folder, "lines": server.lines}
    client = am.connect(f"{server.address}/pump", TOKEN)
    client.finish(client.begin(), feedback(1))
    seen["open"] = client.begin().number
    command = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    seen["command"] = command.decode()
    with pytest.raises(am.InvalidInput) as refused:
        am.Service.load(folder / "pump")
    seen["second"] = str(refused.value)
    seen["code"], seen["said"], seen["errors"] = server.end(signal.SIGTERM)
    return seen


def test_it_begins_from_nothing_and_ends_cleanly(ended: dict[str, object]) -> None:
    assert str(ended["lines"]).count("http://127.0.0.1:") == 1
    assert "0 episodes, 0 open" in str(ended["lines"])
    assert (ended["code"], ended["errors"]) == (0, "")
    assert ended["said"] == "ended; every acknowledged episode is on the disk\n"
    service = am.Service.load(Path(str(ended["folder"])) / "pump")
    assert (service.finished, [ticket.number for ticket in service.open]) == (1, [2])
    assert service._keeper is not None
    _, _, events = service._keeper.read()
    assert events == []  # a snapshot has everything
    service.close()


def test_the_token_is_nowhere_to_be_read(ended: dict[str, object]) -> None:
    for part in ("lines", "said", "errors", "command"):
        assert TOKEN not in str(ended[part])
    for file in Path(str(ended["folder"])).rglob("*"):
        assert file.is_dir() or TOKEN.encode() not in file.read_bytes()


def test_a_second_server_is_refused(ended: dict[str, object]) -> None:
    assert "another process serves it" in str(ended["second"])


def test_refusals_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "services")
    short, taken = tmp_path / "token", socket.create_server(("127.0.0.1", 0))
    short.write_text("hunter2")
    port = str(taken.getsockname()[1])
    new = ("--create", "pump")
    for options, said in (
        ((), "holds no service; begin one with --create NAME"),
        (("--host", "0.0.0.0", *new), "--host: 0.0.0.0 can be reached from elsewhere"),
        (("--token-file", str(short)), "needs at least 16 printable ASCII characters"),
        (("--token-file", str(tmp_path)), "cannot be read"),
        (("--layers", "1,2,1"), "--layers: is for a new service; add --create NAME"),
        (("--create", "a/b"), "'a/b' is no name of a service"),
        ((*new, "--learner", "nobody"), "--learner: 'nobody' is not in the catalogue"),
        ((*new, "--learner", "o-reps"), "has to be told the transition"),
        ((*new, "--layers", "1,x"), "--layers: '1,x' is not a list"),
        ((*new, "--set", "learner.colour=1"), "colour"),
        ((*new, "--set", "mdp.seed=1"), "a service has no world"),
    ):
        assert main(["serve", folder, *options]) == 2, options
        told = capsys.readouterr()
        assert said in told.err, told.err
        assert "hunter2" not in told.err
        assert told.err.count("\n") == 1
    assert not Path(folder).exists()
    assert main(["serve", folder, *new, "--port", port]) == 2
    assert "cannot be used (Address already in use)" in capsys.readouterr().err
    taken.close()
    assert main(["serve", folder, *new, "--episodes", "7"]) == 2  # made above, for any number
    assert "holds the service of another one" in capsys.readouterr().err
    monkeypatch.setattr("advmdp.cli.serving.LIBRARIES", ("no_such_library",))
    assert main(["serve", folder]) == 2
    told = capsys.readouterr().err
    assert told == (
        "error: serve: needs no_such_library; install it with pip install 'advmdp[web]'\n"
    )


def test_advmdp_does_not_import_the_libraries_of_the_server() -> None:
    code = (
        "import sys, advmdp, advmdp.cli; advmdp.connect('http://127.0.0.1:9/x');"
        "print([m for m in ('fastapi', 'uvicorn', 'starlette', 'prometheus_client')"
        " if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_kills_under_load_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """Three kills; the visits of the learner are those of the acknowledged episodes, once each."""
    account = killed(tmp_path, n_kills=3)
    assert account.acknowledged >= 12
    assert (account.learnt, account.still_open) == (account.acknowledged, 0)
    assert account.same_visits
