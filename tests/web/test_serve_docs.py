"""The commands of docs/serve.md, as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import advmdp as am
from advmdp.cli import serving as command
from advmdp.web.exchange import VERBS
from advmdp.web.limits import Limits
from tests.web.running import serving

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serve.md").read_text()


def test_the_answers_to_curl_are_those_of_a_new_server() -> None:
    exchanges = re.findall(r"^(curl .+)\n(\{.+\})$", PAGE, re.MULTILINE)
    assert len(exchanges) == 6
    layout = am.Layout((1, 3, 3, 1), 2)
    with serving({"pump": am.Service(am.Doubling(am.UOBREPS, layout))}) as ask:
        for line, answer in exchanges:
            words = shlex.split(line)
            path = words[1].removeprefix("http://127.0.0.1:8000")
            sent = words[words.index("--json") + 1].encode() if "--json" in words else None
            status, found = ask("GET" if sent is None else "POST", path, sent)
            assert status == 200
            told = json.loads(answer)
            assert found.keys() == told.keys()
            if "action" not in told:  # a draw
                assert found == told


def test_the_page_tells_every_call_and_the_limits() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", PAGE, re.MULTILINE)
    assert rows == list(VERBS)
    for option, value in (("max-open", Limits.max_open), ("max-body", Limits.max_body)):
        assert f"| `--{option}` | {value:,} " in PAGE
    assert f"| `--rate` | {Limits.rate:,.0f} requests" in PAGE
    assert command.serve.__defaults__ is not None
    assert {Limits.max_open, Limits.max_body, Limits.rate} <= set(command.serve.__defaults__)


def test_the_figures_of_the_page_are_those_that_were_measured() -> None:
    measured = json.loads((ROOT / "benchmarks" / "serve.json").read_text())["sections"]["serve"]
    table, kills = measured["tables"]
    told = re.findall(r"^\| .+ connections \| ([\d,]+) \| (.+ ms) \| (.+ ms) \|$", PAGE, re.M)
    assert told == [(row[2], row[5], row[6]) for row in table["rows"]]
    costs = [row[7].removesuffix(" us") for row in table["rows"]]
    assert "{}, {} and {} microseconds".format(*costs) in PAGE
    counted = dict(kills["rows"])
    assert counted["lost, doubled"] == "0, 0"
    assert f"of {counted['episodes acknowledged']} acknowledged" in PAGE
    assert f"In {counted['kills']} kills" in PAGE
