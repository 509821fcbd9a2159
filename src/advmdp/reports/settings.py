"""What a learner knows and sees: learners are ranked beside others, never without saying it.

A learner that knows the transition P, or sees the losses of all pairs, solves an easier problem;
one that sees only the sum of the losses of its path solves a harder one.  The catalogue says it for
the learners of the package; of all others nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from advmdp.learners.catalogue import BUILT_IN


class Knowledge(NamedTuple):
    """What a learner is told beside the losses of its path: in a column, and in words."""

    told: str
    words: str


class Setting(Enum):
    """What a learner is told, in the order in which groups are listed."""

    SUM = Knowledge("sum", "unknown P, sees sums")
    PATH = Knowledge("-", "unknown P, sees its path")
    FULL = Knowledge("all", "unknown P, sees all losses")
    KNOWN_SUM = Knowledge("P, sum", "known P, sees sums")
    KNOWN_PATH = Knowledge("P", "known P, sees its path")
    KNOWN_FULL = Knowledge("P, all", "known P, sees all losses")
    UNSAID = Knowledge("?", "not in the catalogue")

    @property
    def words(self) -> str:
        """The setting in words."""
        return self.value.words

    @property
    def told(self) -> str:
        """In a column: P, the transition; all, all losses; sum, only the sum of its path."""
        return self.value.told


def setting_of(label: str) -> Setting:
    """The setting of the learner with this label: a name, and perhaps parameters after it.

    >>> setting_of("uob-reps eta_scale=2").words, setting_of("o-reps").words
    ('unknown P, sees its path', 'known P, sees all losses')
    >>> setting_of("uob-ftrl-aggregate").told, setting_of("tsallis-ftrl-aggregate").told
    ('sum', 'P, sum')
    >>> setting_of("mymodule:Hedge@1f2e3d4c").words
    'not in the catalogue'
    """
    maker = BUILT_IN.get(label.partition(" ")[0])
    if maker is None:
        return Setting.UNSAID
    known = maker.knows_transition
    if "full information" in maker.setting:
        return Setting.KNOWN_FULL if known else Setting.FULL
    if "sum of losses" in maker.setting:
        return Setting.KNOWN_SUM if known else Setting.SUM
    return Setting.KNOWN_PATH if known else Setting.PATH


def by_setting(labels: Iterable[str]) -> dict[Setting, list[str]]:
    """The labels by their settings, without those that nobody has."""
    groups: dict[Setting, list[str]] = {setting: [] for setting in Setting}
    for label in labels:
        groups[setting_of(label)].append(label)
    return {setting: group for setting, group in groups.items() if group}
