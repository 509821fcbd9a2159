"""The commands in the documentation run, in their order; README says what was measured."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from advmdp.cli import main
from advmdp.learners.catalogue import LEARNERS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(sh|toml|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_COMMANDS = [page for page in PAGES if "```sh\n" in page.read_text()]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_commands_run(page, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """``sh`` blocks hold ``advmdp`` commands; others are the files that their first lines name."""
    monkeypatch.chdir(tmp_path)
    ran = 0
    for language, text in BLOCK.findall(page.read_text()):
        if language != "sh":
            name, _, content = text.partition("\n")
            Path(name.removeprefix("# ")).write_text(content)
            continue
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words:
                assert words[0] == "advmdp", line
                assert main(words[1:]) == 0, line
                ran += 1
    assert ran


def test_other_blocks_are_tested_elsewhere() -> None:
    """A block is Python (a doctest), commands or a file (above), a formula, or plain text."""
    for page in PAGES:
        languages = set(re.findall(r"^```(\w+)$", page.read_text(), re.MULTILINE))
        assert languages <= {"python", "sh", "toml", "py", "math"}, page
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S):
            assert block.startswith(">>> "), f"{page}: {block[:60]}"


def test_the_readme_says_what_every_learner_knows_and_sees() -> None:
    rows = re.findall(r"^\| (no|yes) \| ([a-z, ]+) \| (.+) \|$", README, re.MULTILINE)
    told = {name: row[:2] for row in rows for name in re.findall(r"`([^`]+)`", row[2])}
    assert set(told) == set(LEARNERS)
    for name, (knows, sees) in told.items():
        feedback = getattr(LEARNERS[name].make, "feedback", "bandit")
        assert (knows == "yes") == LEARNERS[name].knows_transition, name
        seen = {"full": "all losses", "aggregate": "sum of path", "bandit": "own path"}[feedback]
        assert sees.removesuffix(", late") == seen, name


def test_the_readme_links_to_files_and_is_short() -> None:
    for target in re.findall(r"(?:\]\(|src=\")([^)#\"]+)", README):
        assert (ROOT / target).exists(), target
    assert len(README.splitlines()) <= 116


def test_the_speeds_of_the_readme_are_those_that_were_measured() -> None:
    """Easy: the theorem's widths, earliest; hard: the log term times 0.01."""
    measured = json.loads((ROOT / "benchmarks/results.json").read_text())["sections"]["episodes"]
    cores: dict[tuple[str, bool], float] = {}
    for figure in measured["figures"]:
        name = re.fullmatch(
            r"compiled episodes, (.+), (theory|log_scale 0\.01), .+", figure["what"]
        )
        if name is not None:
            cores.setdefault((name[1], name[2] != "theory"), figure["value"])
    cards: dict[tuple[str, bool], float] = {}
    for one in json.loads((ROOT / "benchmarks/gpu.json").read_text())["speed"]:
        cards.setdefault((one["world"], one["log_scale"] != 1.0), one["episodes_per_second"])
    rows = re.findall(r"^\| (\S+ x\d+) \(.*? triples\) \|(.+)\|$", README, re.MULTILINE)
    assert len(rows) == 3
    for world, cells in rows:
        told = [number_in(cell) for cell in cells.split("|")]
        keys = [(world, False), (world, True)]
        for value, found in zip(told, [*map(cores.get, keys), *map(cards.get, keys)], strict=True):
            assert (value is None) == (found is None), world
            assert value is None or abs(value - found) <= 0.06 * found, (world, value, found)


def test_the_regrets_of_the_readme_are_those_that_were_measured() -> None:
    found = {
        name: json.loads((ROOT / f"benchmarks/{name}.json").read_text())
        for name in ("presets", "baselines", "short_presets")
    }
    cases = ("gap 0.4", "gap 0.05", "majority")
    runs = found["presets"]["judge"]["runs"]
    baselines = {row["case"]: row["baseline"] for row in found["baselines"]["judge"]["means"]}

    def mean(label: str, case: str) -> float:
        values = runs[case][label][case]["regret"]
        return float(sum(values) / len(values))

    measured = {
        "UOB-REPS, theory": [mean("theory", case) for case in cases],
        "UOB-REPS, preset": [mean("practical", case) for case in cases],
        "UOB-REPS with a [baseline]": [baselines[case] for case in cases],
        "known transition: O-REPS": [mean("known P", case) for case in cases],
    }
    for name, means in found["short_presets"]["long"].items():
        measured[f"`{name}`, preset"] = [means[case] for case in cases]
    for row, values in measured.items():
        line = next(line for line in README.splitlines() if row in line and line.startswith("|"))
        told = [number_in(cell) for cell in line.split("|")[2:5]]
        assert told == [float(round(value)) for value in values], row


def number_in(cell: str) -> float | None:
    """The first number of a cell: 33,700 or 132 million."""
    found = re.match(r"\s*([\d,.]+)( million)?", cell)
    return float(found[1].replace(",", "")) * (1e6 if found[2] else 1.0) if found else None


def rows_of_leaders(heading: str) -> list[tuple[str, str]]:
    """The learners and the other cells of the first table below a heading of the page."""
    page = (ROOT / "docs/both_worlds.md").read_text().partition(heading)[2]
    table = re.search(r"(^\|.+\n)+", page, re.MULTILINE)
    assert table
    return re.findall(r"^\| [^|`]*`([\w-]+)`[^|]* \|(.+)\|$", table[0], re.MULTILINE)


def test_the_table_of_the_last_decade_is_what_was_measured() -> None:
    measured = json.loads((ROOT / "benchmarks/steady_decades.json").read_text())
    regrets = {what: one for what, one in measured.items() if ", regret, " in what}
    rows = rows_of_leaders("## The last decade")
    for (name, cells), (what, one) in zip(rows, regrets.items(), strict=True):
        assert what.startswith(f"{name}, ")
        worlds, *told, last, fitted, added = (cell.strip() for cell in cells.split("|"))
        means = [number_in(cell) for cell in told]
        assert [number_in(worlds), *means[: len(one["means"])]] == [
            one["worlds"],
            *(float(round(mean)) for mean in one["means"]),
        ]
        assert means[len(one["means"]) :] == [None] * (len(told) - len(one["means"]))
        for text, figure, places in (
            (last, "last_exponent", 4),
            (fitted, "fitted_exponent", 4),
            (added, "added", 2),
        ):
            estimate, low, high = (f"{value:.{places}f}" for value in one[figure])
            assert text == f"{estimate} [{low}, {high}]", (name, figure)


def test_the_worst_case_to_ten_million_is_what_was_measured() -> None:
    page = (ROOT / "docs/both_worlds.md").read_text()
    told = " ".join(page.partition("`benchmarks/worst_gaps.json`")[2].split())
    for name, one in json.loads((ROOT / "benchmarks/worst_gaps.json").read_text()).items():
        *means, last = (f"{mean:,.0f}" for mean in one["largest mean regret"])
        whole, decade = (
            f"{found['estimate']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
            for found in (one["exponent"], one["exponent of the last decade"])
        )
        mine = told.partition(f"`{name}`")[2]
        for text in (f"{', '.join(means)} and {last}", whole, decade):
            before, found, mine = mine.partition(text)
            assert found, (name, text)
            assert len(before) < 60


def test_the_table_of_both_worlds_is_what_was_measured() -> None:
    claims = json.loads((ROOT / "benchmarks/verify_worlds.json").read_text())
    data = {**claims["both-worlds"]["data"], **claims["both-worlds-unknown"]["data"]}
    rows = rows_of_leaders("## Tuned for each T")
    assert sorted(f"{name}, steady" for name, _ in rows) == sorted(k for k in data if "steady" in k)
    for name, cells in rows:
        *told, slope, largest, worst = cells.split("|")
        steady, at_worst = data[f"{name}, steady"], data[f"{name}, worst"]
        regrets = [*steady["largest mean regret"], at_worst["largest mean regret"][-1]]
        assert [number_in(cell) for cell in (*told, largest)] == [float(round(r)) for r in regrets]
        for text, one in ((slope, steady["exponent"]), (worst, at_worst["exponent"])):
            low_and_high = f"[{one['low']:.2f}, {one['high']:.2f}]"
            assert text.strip() == f"{one['estimate']:.2f} {low_and_high}", name
