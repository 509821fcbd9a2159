"""The routing scenario: its congestion, its delays, its picture."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advmdp.errors import InvalidInput
from tests.examples.scripts import assert_a_picture, script

routing = script("routing")
PACKETS = 400


@cache
def network() -> Any:
    return routing.network(seed=0)


@cache
def sent(name: str) -> Any:
    sender = routing.senders(network(), PACKETS)[name]
    return routing.send(network(), sender, PACKETS, routing.REACTION, seed=0)


def test_the_script_writes_a_picture_and_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "REACTIONS", (5, 50))
    target = tmp_path / "routing.png"
    outcome = routing.main(["--packets", "90", "--output", str(target)])
    assert_a_picture(target)
    printed = capsys.readouterr().out
    for name, run in outcome.runs.items():
        line = next(line for line in printed.splitlines() if line.startswith(f"  {name} "))
        figures = [float(word) for word in line.removeprefix(f"  {name}").split()]
        assert figures == pytest.approx([run.total / 90, *outcome.by_reaction[name]], abs=0.051)


@pytest.mark.parametrize("name", ["UOB-REPS", "shortest on recent averages"])
def test_delays_are_those_of_the_links_taken(name: str) -> None:
    """Every delay again from the paths alone: each past packet counts with its age."""
    run = sent(name)
    rows = np.array(run.diary.rows)
    quiet = routing.Congestion(network(), PACKETS, routing.REACTION)
    total = 0.0
    for packet in range(PACKETS):
        age = packet - 1 - np.arange(packet)
        weight = (1 - 1 / routing.REACTION) ** age / routing.REACTION
        for link in rows[packet]:
            own = routing.OWN * weight[(rows[:packet] == link).any(axis=1)].sum()
            queue = quiet.others(packet)[link] + own
            total += routing.MILLISECONDS * min(network().empty[link] + queue, 1.0)
    assert run.realised == pytest.approx(total, rel=1e-12)
    assert run.total == pytest.approx(run.realised, rel=0.1)
    lengths = np.diff(np.linspace(0, PACKETS, len(run.delay) + 1).astype(int))
    assert run.delay @ lengths == pytest.approx(run.total)


def test_others_change_sides_and_the_incident_hits_the_path_on_paper() -> None:
    congestion = routing.Congestion(network(), packets=1200, reaction=10)
    calm, rush = congestion.others(0), congestion.others(100)  # half a wave apart
    assert set(calm) == set(rush) == {0.0, routing.OTHERS}
    inner = calm + rush > 0
    np.testing.assert_allclose(calm[inner] + rush[inner], routing.OTHERS)
    assert not inner[:3].any()  # the source's own links carry no other traffic
    layout = network().truth.layout
    on_paper = routing.senders(network(), 10)["shortest on paper"].policy()[0][0].argmax()
    hit = congestion.others(660) > routing.OTHERS + 1e-9
    assert np.flatnonzero(hit).tolist() == [on_paper]
    assert layout.name_of_row(int(on_paper)).startswith("layer 0")


def test_spreading_beats_one_path_and_forgetting_beats_both() -> None:
    """Even so early; the picture needs more packets."""
    assert sent("UOB-REPS").total < 0.95 * sent("shortest on paper").total
    assert sent("shortest on recent averages").total < sent("UOB-REPS").total


def test_too_short_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--packets: 29 is too short"):
        routing.main(["--packets", "29", "--output", str(tmp_path / "a.png")])
