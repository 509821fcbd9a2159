"""Errors carry the field they are about, also from one process to another."""

from __future__ import annotations

import pickle

import pytest

from advmdp import errors

FAMILY = [
    errors.InvalidInput,
    errors.UncertifiedStep,
    errors.DamagedFile,
    errors.StorageFailure,
    errors.MissingExtra,
    errors.NoGPU,
]


@pytest.mark.parametrize("kind", FAMILY)
@pytest.mark.parametrize("field", ["delta", None])
def test_the_field_survives_a_change_of_process(
    kind: type[errors.AdvMDPError], field: str | None
) -> None:
    again = pickle.loads(pickle.dumps(kind("2 is too large", field=field)))
    assert type(again) is kind
    assert (again.field, again.detail) == (field, "2 is too large")
    assert str(again) == ("2 is too large" if field is None else "delta: 2 is too large")


def test_an_error_about_a_part() -> None:
    inner = errors.InvalidInput("0 is too few", field="layer_sizes[1]")
    assert inner.within("mdp").field == "mdp.layer_sizes[1]"
    assert str(inner.within("mdp")) == "mdp.layer_sizes[1]: 0 is too few"
    plain = errors.InvalidInput("gap: 2 is too large")
    assert (plain.within("losses").field, str(plain.within("losses"))) == (
        None,
        "losses.gap: 2 is too large",
    )
