from __future__ import annotations

import pytest

from unmask.audit import CHECKS, DECIDING, QUESTIONS, chosen, function_of
from unmask.errors import InputError


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_resolves_to_a_documented_function_and_belongs_to_a_question(name):
    function = function_of(name)
    assert callable(function)
    assert function.__doc__
    assert CHECKS[name].question in QUESTIONS
    assert CHECKS[name].line.endswith(".")


def test_the_costly_checks_are_run_on_demand_and_the_deciding_ones_always():
    default = chosen("default")
    assert chosen() == default
    assert set(CHECKS) - set(default) == {name for name, check in CHECKS.items() if check.costly and not check.light}
    assert {check.question for name, check in CHECKS.items() if name in default} == set(QUESTIONS)  # none is left out
    assert chosen("all") == tuple(CHECKS)
    assert chosen([]) == tuple(name for name in CHECKS if name in DECIDING)
    assert set(chosen("sen")) == {"sen", *DECIDING}
    assert chosen("sen", deciding=False) == ("sen",)
    assert chosen(["sen", "fs-a"]) == chosen(("fs-a", "sen"))
    assert set(chosen(["default", "fu-a"])) == {*default, "fu-a"}
    assert not any(CHECKS[name].costly for name in DECIDING)


@pytest.mark.parametrize(("wanted", "near"), [("fs-b", "fs-m"), (["fs-m", "senn"], "sen"), ("defult", "default")])
def test_an_unknown_check_is_refused_with_the_nearest_name(wanted, near):
    with pytest.raises(InputError, match=f"unknown check '.*'; did you mean '{near}'"):
        chosen(wanted)
