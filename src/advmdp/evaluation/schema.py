"""The results of a run, column by column: what is stored, exported and reported.

``COLUMNS`` declares every column once: its name, type, level, source and label, and how a loss
becomes a reward.  The files of a store, its frames, the exports and the reports derive their
columns from it, in this order.  A new quantity needs one line here and, if ``Run`` does not hold it
yet, an attribute there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advmdp.evaluation.run import Run

FINISHED, RUNNING, CUT, FAILED = "finished", "running", "cut", "failed"
"""The status of a run in a store."""
DAMAGED, LEFT_OUT = "damaged", "left out"
"""The status of finished runs that no report shows."""

UNITS = ("reward_low", "reward_high", "reward_unit")
"""The range and the unit of the rewards that the losses of a run stand for, or null."""
STEPS = "reward_steps"
"""The number of steps of an episode that earn a reward, or null."""
CELL = ("mdp", "losses", "n_episodes", *UNITS)
"""Runs that agree in these columns can be compared."""
REPLICATE = ("seed", "replicate")
"""Runs of a cell that agree in these columns met the same random numbers."""
IDENTITY = ("run", "learner", "mdp", "losses", "n_episodes", *REPLICATE, *UNITS)
"""What identifies a run in every row of an export."""


class Level(Flag):
    """What a value belongs to."""

    RUN = auto()
    """A run: the final value of a curve, or a fact about the run as a whole."""
    POINT = auto()
    """An evaluation point of a run: the value after a number of episodes."""


class Kind(Enum):
    """How a quantity is expressed in rewards, see ``evaluation.rewards.in_rewards``."""

    PLAIN = auto()
    """Not a loss: it stays as it is."""
    TOTAL_LOSS = auto()
    """The losses of all episodes so far, summed over their steps."""
    LOSS_DIFFERENCE = auto()
    """A difference of two total losses."""


@dataclass(frozen=True)
class Column:
    """One column of the results."""

    name: str
    dtype: type[str] | type[int] | type[float]
    level: Level
    source: str | None = None
    """The attribute of ``Run``, with dots for nested ones; None for what the store adds."""
    kind: Kind = Kind.PLAIN
    reward_of: str | None = None
    """The column in losses that this one expresses in rewards."""
    label: str = ""
    """The text in tables and figures."""
    in_units: str = ""
    """The name in reports, where values are in losses or in rewards; ``name`` by default."""
    optional: bool = False
    """Whether a report accepts frames without it; true for columns that older runs lack."""

    @property
    def quantity(self) -> str:
        """The name in reports."""
        return self.in_units or self.name


RUN, POINT = Level.RUN, Level.POINT
KEYS = ("run", "episodes")
"""A row of the curves belongs to a run and a number of episodes."""
SOLVER = "solver."
"""The beginning of the sources that a manifest stores together, see ``SolverStatistics``."""
TERM = "decomposition."

COLUMNS: tuple[Column, ...] = (
    Column("run", str, RUN | POINT),
    Column("hash", str, RUN),
    Column("status", str, RUN),
    Column("learner", str, RUN),
    Column("mdp", str, RUN),
    Column("losses", str, RUN),
    Column("n_episodes", int, RUN),
    Column("seed", int, RUN),
    Column("replicate", int, RUN),
    Column("episodes", int, RUN | POINT, "episodes", label="episodes"),
    Column("regret", float, RUN | POINT, "regret", Kind.LOSS_DIFFERENCE, label="regret"),
    Column(
        "expected_loss",
        float,
        RUN | POINT,
        "expected_loss",
        Kind.TOTAL_LOSS,
        label="expected",
        in_units="expected",
    ),
    Column(
        "realised_loss",
        float,
        RUN | POINT,
        "realised_loss",
        Kind.TOTAL_LOSS,
        label="realised",
        in_units="realised",
    ),
    Column(
        "best_loss",
        float,
        RUN | POINT,
        "best_loss",
        Kind.TOTAL_LOSS,
        label="best fixed policy",
        in_units="best",
    ),
    Column("error", float, POINT, f"{TERM}error", Kind.LOSS_DIFFERENCE, label="ERROR"),
    Column("bias1", float, POINT, f"{TERM}bias1", Kind.LOSS_DIFFERENCE, label="BIAS1"),
    Column("reg", float, POINT, f"{TERM}reg", Kind.LOSS_DIFFERENCE, label="REG"),
    Column("bias2", float, POINT, f"{TERM}bias2", Kind.LOSS_DIFFERENCE, label="BIAS2"),
    Column("epoch", int, POINT, "epoch", label="epoch"),
    Column("mean_width", float, POINT, "mean_width", label="mean width of the intervals"),
    Column(
        "regret_bound",
        float,
        RUN | POINT,
        "regret_bound",
        label="regret at most, in losses",
        optional=True,
    ),
    Column("reward_low", float, RUN, optional=True),
    Column("reward_high", float, RUN, optional=True),
    Column("reward_unit", str, RUN, optional=True),
    Column(STEPS, int, RUN, optional=True),
    Column("reward_regret", float, RUN | POINT, reward_of="regret"),
    Column("expected_reward", float, RUN | POINT, reward_of="expected_loss"),
    Column("realised_reward", float, RUN | POINT, reward_of="realised_loss"),
    Column("best_reward", float, RUN | POINT, reward_of="best_loss"),
    Column("seconds", float, RUN),
    Column("episodes_per_second", float, RUN),
    Column("sittings", int, RUN, optional=True),
    Column("projections", int, RUN, f"{SOLVER}projections", label="projections"),
    Column("safe_paths", int, RUN, f"{SOLVER}safe_paths", label="on the safe path"),
    Column("worst_residual", float, RUN, f"{SOLVER}worst_residual", label="worst flow residual"),
    Column("worst_gap", float, RUN, f"{SOLVER}worst_gap", label="worst gap"),
    Column("started", str, RUN),
    Column("finished", str, RUN, optional=True),
    Column("version", str, RUN),
    Column("machine", str, RUN),
    Column("reason", str, RUN, optional=True),
    Column("spec", str, RUN),
)


def columns(level: Level, *, rewards: bool = True) -> tuple[Column, ...]:
    """The columns of a level, with or without those that repeat losses as rewards.

    >>> [column.name for column in columns(Level.POINT, rewards=False)][:4]
    ['run', 'episodes', 'regret', 'expected_loss']
    """
    return tuple(c for c in COLUMNS if level in c.level and (rewards or c.reward_of is None))


def column(name: str) -> Column:
    """The column of that name."""
    (found,) = (c for c in COLUMNS if c.name == name)
    return found


def loss_columns(level: Level) -> tuple[Column, ...]:
    """The columns of a level in losses: totals and differences of totals."""
    return tuple(c for c in columns(level) if c.kind is not Kind.PLAIN)


def reward_columns(level: Level) -> tuple[tuple[Column, Column], ...]:
    """Pairs of a column in rewards and the column in losses that it repeats."""
    return tuple((c, column(c.reward_of)) for c in columns(level) if c.reward_of is not None)


def term_columns() -> tuple[Column, ...]:
    """The four terms of the regret.

    >>> [term.label for term in term_columns()]
    ['ERROR', 'BIAS1', 'REG', 'BIAS2']
    """
    return tuple(c for c in COLUMNS if c.source is not None and c.source.startswith(TERM))


def solver_columns() -> tuple[Column, ...]:
    """The effort and the certificates of the projections; null for learners without them."""
    return tuple(c for c in COLUMNS if c.source is not None and c.source.startswith(SOLVER))


def value_of(run: Run, column: Column) -> Any:
    """What a run holds for a column with a source: an array or a number; None if it has none."""
    value: Any = run
    for name in (column.source or "").split("."):
        value = None if value is None else getattr(value, name)
    return value


def curves_of(run: Run) -> dict[str, Any]:
    """The curves of a run by column, in the order of the schema; None where it has none."""
    return {c.name: value_of(run, c) for c in columns(Level.POINT) if c.source is not None}


def final_value_of(run: Run, column: Column) -> Any:
    """The value for the run as a whole: the last one of a curve."""
    value = value_of(run, column)
    if value is None:
        return None
    return column.dtype(value[-1] if Level.POINT in column.level else value)
