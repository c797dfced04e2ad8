"""Checks on attention and on rationales are marked as such."""

from __future__ import annotations

from unmask.audit import CHECKS, DECIDING
from unmask.audit.inside import INSIDE


def test_what_looks_inside_says_so() -> None:
    assert all(check.attention or check.rationale for check in INSIDE.values())
    assert {name for name, check in CHECKS.items() if check.attention or check.rationale} == set(INSIDE)
    assert not set(DECIDING) & set(INSIDE)  # every audit has those
