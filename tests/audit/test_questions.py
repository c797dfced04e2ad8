"""Questions and the checks that answer them."""

from __future__ import annotations

from unmask.audit import CHECKS
from unmask.audit.questions import QUESTIONS


def test_every_check_answers_a_question_and_every_question_has_a_check() -> None:
    assert {check.question for check in CHECKS.values()} == set(QUESTIONS)


def test_a_check_is_about_attention_or_rationales_or_neither() -> None:
    assert not any(check.attention and check.rationale for check in CHECKS.values())
