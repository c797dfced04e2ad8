"""Checks on attention and on rationales are marked as such."""

from __future__ import annotations

import pytest

from audit.cases import small_case, subject
from unmask.audit import CHECKS, DECIDING, function_of
from unmask.audit.inside import INSIDE


def test_what_looks_inside_says_so() -> None:
    assert all(check.attention or check.rationale for check in INSIDE.values())
    assert {name for name, check in CHECKS.items() if check.attention or check.rationale} == set(INSIDE)
    assert not set(DECIDING) & set(INSIDE)  # every audit has those


@pytest.mark.parametrize("name", sorted(INSIDE))
def test_a_model_that_lets_nobody_see_inside_has_no_value_but_a_reason(name: str) -> None:
    case = small_case()
    found = function_of(name)(case, subject(case, case.valid))
    assert len(found.values) == len(case.target)
    if name == "first-unit":
        assert float(found.values.mean()) == 1  # everything is kept
    else:
        assert bool(found.values.isnan().all())
        assert found.note
