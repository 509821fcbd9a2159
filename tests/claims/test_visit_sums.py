"""Visit sums: below their bounds, above them without epochs, vacuous for short runs."""

from __future__ import annotations

from advmdp.claims import visit_sums
from tests.claims.broken import NoEpochs, rng

TINY = visit_sums.Size(6, 1000, layers=(1, 2, 1))


def test_holds() -> None:
    finding = visit_sums.examine(TINY, rng())
    assert finding.verdict == "holds"
    assert 0.3 < finding.data["certain_share"] <= 1.0


def test_epochs_that_never_open_are_noticed() -> None:
    assert visit_sums.examine(TINY, rng(), NoEpochs).verdict == "fails"


def test_bounds_above_the_trivial_one_are_vacuous() -> None:
    assert visit_sums.examine(visit_sums.Size(2, 30), rng()).verdict == "vacuous"
