"""The command: order, exit code, what it writes, what it refuses, and how it is cut."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from advmdp.claims import verify as verifying
from advmdp.claims.lab import Lab, MissingRuns
from advmdp.claims.output.findings_table import findings_table, summary_line
from advmdp.cli import main
from advmdp.errors import InvalidInput
from advmdp.store import Store
from tests.claims import fake_claims

VERDICTS = {"first": "holds", "second": "fails", "third": "vacuous", "fourth": "fails"}


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    made = {name: fake_claims.claim(verdict) for name, verdict in VERDICTS.items()}
    monkeypatch.setattr(verifying, "CLAIMS", made)
    monkeypatch.setattr(verifying.verify, "__defaults__", ((), made))
    monkeypatch.setattr(verifying.checked_names, "__defaults__", (made,))
    return made


def test_claims_are_measured_in_the_order_of_the_paper(tmp_path: Path, claims) -> None:  # type: ignore[no-untyped-def]
    said: list[str] = []
    lab = Lab(Store(tmp_path / "store", create=True), say=said.append)
    found = verifying.verify(lab, ["third", "first"])
    assert list(found) == ["first", "third"]
    assert said[0].startswith("[1/2] first: holds (")
    assert said[1].startswith("[2/2] third: vacuous (")
    assert list(verifying.verify(lab)) == list(VERDICTS)
    with pytest.raises(InvalidInput, match="claim: there is no 'frst'; did you mean 'first'"):
        verifying.verify(lab, ["frst"])
    assert summary_line(verifying.verify(lab)) == "4 claims: 1 hold, 2 fail, 1 vacuous"


def test_the_exit_code_counts_failures(tmp_path, claims, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--store", "s"]) == 2
    shown = capsys.readouterr().out
    assert "4 claims: 1 hold, 2 fail, 1 vacuous" in shown
    content = json.loads(Path("verify.json").read_text())
    assert [one["verdict"] for one in content.values()] == list(VERDICTS.values())
    assert content["first"]["data"]["slope"] == {"estimate": 0.5, "low": None, "high": 0.6, "n": 3}
    assert content["first"]["panels"][0]["series"][0]["y"] == [2, None]
    assert Path("verify.html").read_text().count("A claim") >= 4
    assert main(["verify", "--store", "s", "--claim", "first", "--claim", "third", "-q"]) == 0
    assert main(["verify", "--store", "s", "--claim", "second", "--figures", "f", "-q"]) == 1
    assert Path("f/second.svg").read_text().startswith("<?xml")


def test_a_claim_without_its_runs_is_left_out(tmp_path, claims, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    def incomplete(lab: Lab, effort: str) -> str:
        raise MissingRuns("verify: run-7 could not be played: no certified projection")

    claims["second"] = fake_claims.claim(measure=incomplete)
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--store", "s"]) == 2  # the fourth fails, the second has no verdict
    shown = capsys.readouterr()
    assert "second: not measured: verify: run-7 could not be played" in shown.out
    assert "3 claims: 1 hold, 1 fail, 1 vacuous" in shown.out
    assert shown.err == "not measured: second; the reasons are in s/log.txt\n"


def broken_solver(lab: Lab, effort: str) -> str:
    raise ArithmeticError("the solver\ngave up")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_error_inside_a_claim_leaves_the_others(
    tmp_path, claims, monkeypatch, capsys, workers
) -> None:  # type: ignore[no-untyped-def]
    claims["second"] = fake_claims.claim(measure=broken_solver, stored=False)
    claims["third"] = fake_claims.claim("holds", stored=False)
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--store", "s", "--workers", workers]) == 2  # second and fourth
    shown = capsys.readouterr()
    assert "second: not measured: ArithmeticError: the solver gave up" in shown.out
    assert "3 claims: 2 hold, 1 fail, 0 vacuous" in shown.out
    assert "broken_solver" in Path("s/log.txt").read_text()  # where it was raised


def test_json_lines(tmp_path, claims, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--store", "s", "--claim", "first", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    assert (said["event"], said["name"], said["verdict"]) == ("finding", "first", "holds")


def test_refusals_come_before_anything_is_made(tmp_path, claims, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--claim", "nothing"]) == 2
    assert "there is no 'nothing'" in capsys.readouterr().err
    assert main(["verify", "--output", "page.pdf"]) == 2
    assert "should end in .html" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_cut_says_how_to_go_on(tmp_path, claims, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    def cut(lab: Lab, effort: str) -> str:
        raise KeyboardInterrupt

    claims["second"] = fake_claims.claim(measure=cut)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["advmdp", "verify", "--store", "a folder"])
    assert main(["verify", "--store", "a folder"]) == 130
    message = capsys.readouterr().err
    assert message == (
        "interrupted: checkpoints are written; to go on: advmdp verify --store 'a folder'\n"
    )
    assert not Path("verify.html").exists()


def test_texts_are_no_markup_on_a_terminal() -> None:
    from rich.console import Console

    console = Console(width=120, file=io.StringIO())
    console.print(findings_table({"x": fake_claims.finding(statement="[red]not red[/red]")}))
    assert "[red]not red[/red]" in console.file.getvalue()  # type: ignore[attr-defined]
