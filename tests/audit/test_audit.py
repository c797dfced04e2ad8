from __future__ import annotations

import pytest

from unmask.audit import CHECKS, QUESTIONS, function_of


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_resolves_to_a_documented_function_and_belongs_to_a_question(name):
    function = function_of(name)
    assert callable(function)
    assert function.__doc__
    assert CHECKS[name].question in QUESTIONS
    assert CHECKS[name].line.endswith(".")
