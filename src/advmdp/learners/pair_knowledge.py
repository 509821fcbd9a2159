"""What a learner knows about every pair: the columns of ``to_frame`` and of ``advmdp policy``.

=====================  =============================================================================
``policy``             pi(a | x) of the coming episode
``occupancy``          q(x, a): how often the learner itself expects to be there, in an episode
``visits``             N(x, a)
``width``              how much is left open of P(. | x, a): 1 everything, 0 nothing
``estimated_loss``     the mean loss at the pair, as the learner estimates it; NaN where it has none
``value``              losses to go: this action, then the policy, under the learner's own estimates
``value_low``,         the least and the largest value over its confidence set of transitions; the
``value_high``         estimated losses are taken as they are
``lower_value``        of optimistic learners: the lower bound of the best losses to go that they
                       play greedily
=====================  =============================================================================

A column that a learner does not have is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.learners.base import KnowsPairs, offers
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.policy_values import (
    largest_policy_values,
    least_policy_values,
    policy_values,
)


class PairKnowledge(NamedTuple):
    """What a learner holds, over rows (``chance``: over entries); None for what it does not."""

    occupancy: Floats | None = None
    visits: Floats | None = None
    estimated_loss: Floats | None = None
    chance: Floats | None = None
    """The transition that it believes in: known, empirical, or that of its iterate."""
    confidence: ConfidenceSet | None = None
    lower_value: Floats | None = None


def knowledge_of(learner: Any) -> PairKnowledge:
    """What a learner holds beside its policy; nothing, for one that does not say."""
    known: PairKnowledge = (
        learner.pair_knowledge() if offers(learner, KnowsPairs) else PairKnowledge()
    )
    return known


def pair_columns(layout: Layout, policy: Any, known: PairKnowledge) -> dict[str, Floats]:
    """The columns over rows, those that there are."""
    flat = layout.flat_pairs(policy)
    columns = {
        "policy": flat,
        "occupancy": known.occupancy,
        "visits": known.visits,
        "width": None if known.confidence is None else _open(layout, known.confidence),
        "estimated_loss": known.estimated_loss,
        "lower_value": known.lower_value,
    }
    losses = known.estimated_loss
    if losses is not None and not np.isfinite(losses).all():
        losses = None  # a pair of which nothing is known may lie on every way
    if losses is not None and known.chance is not None:
        columns["value"] = policy_values(layout, known.chance, flat, losses)
    if losses is not None and known.confidence is not None:
        columns["value_low"] = least_policy_values(known.confidence, flat, losses)
        columns["value_high"] = largest_policy_values(known.confidence, flat, losses)
    return {name: values for name, values in columns.items() if values is not None}


def _open(layout: Layout, confidence: ConfidenceSet) -> Floats:
    """The widths of rows; 0 with one successor, whose bounds may be 0 and 1 all the same."""
    return np.where(layout.row_sizes() > 1, confidence.row_widths(), 0.0)


def empirical_chance(
    layout: Layout, visits: Floats, triples: Floats, otherwise: Floats | None = None
) -> Floats | None:
    """M / N over entries; in rows that were never visited, ``otherwise``, or None without it."""
    row = layout.entry_rows()
    unseen = visits[row] == 0.0
    if otherwise is None:
        if unseen.any():
            return None
        otherwise = np.zeros(layout.n_entries)
    return np.where(unseen, otherwise, triples / np.where(unseen, 1.0, visits[row]))


def mean_estimates(layout: Layout, run: Any) -> Floats:
    """The loss estimates of a run, per episode; for learners that do not keep them."""
    estimates = getattr(run, "estimated_losses", None)
    if estimates is None or estimates.shape != (layout.n_rows,):
        raise InvalidInput(
            "give the run that this learner was played in: am.play(mdp, losses, learner, ...)",
            field="run",
        )
    means: Floats = estimates / run.episodes[-1]
    return means
