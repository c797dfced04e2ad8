from __future__ import annotations

from dataclasses import replace

from audit.cases import small_case, subject
from unmask.audit.cost import calls, seconds


def test_seconds_are_the_same_for_every_row_and_missing_for_ready_made_ones():
    case = small_case()
    timed = replace(subject(case, case.valid), seconds=0.25)
    assert set(seconds(case, timed).values.tolist()) == {0.25}
    ready = seconds(case, subject(case, case.valid))
    assert bool(ready.values.isnan().all())
    assert ready.note == "came ready-made"


def test_calls_are_the_same_for_every_row_and_missing_for_ready_made_ones():
    case = small_case()
    assert set(calls(case, replace(subject(case, case.valid), calls=7.0)).values.tolist()) == {7.0}
    nothing = calls(case, replace(subject(case, case.valid), calls=0.0))
    assert set(nothing.values.tolist()) == {0.0}
    assert nothing.note == "asks nothing of the wrapped model"
    ready = calls(case, subject(case, case.valid))
    assert bool(ready.values.isnan().all())
    assert ready.note == "came ready-made"
