"""The further checks on what cannot be asked again: a value or a reason."""

from __future__ import annotations

import pytest

from audit.cases import small_case, subject
from unmask.audit import CHECKS, DECIDING, function_of
from unmask.audit.further import FURTHER

AGAIN = {  # need an explainer that can be fitted or asked again
    "roar-recursive",
    "topk-overlap",
    "seed-stability",
    "seed-correlation",
    "stability",
    "cascading-randomization",
    "independent-randomization",
    "removal-sensitivity",
    "fragility",
}


def test_they_are_part_of_the_table() -> None:
    assert set(FURTHER) <= set(CHECKS)
    assert not set(FURTHER) & set(DECIDING)
    assert all(check.null for check in FURTHER.values())


@pytest.mark.parametrize("name", sorted(AGAIN | {name for name, check in FURTHER.items() if check.several}))
def test_a_ready_made_explanation_alone_has_no_value_but_a_reason(name: str) -> None:
    case = small_case()
    found = function_of(name)(case, subject(case, case.valid))
    assert bool(found.values.isnan().all())
    assert found.note
