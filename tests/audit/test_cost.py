from __future__ import annotations

from dataclasses import replace

from audit.cases import small_case, subject
from unmask.audit.cost import seconds


def test_seconds_are_the_same_for_every_row_and_missing_for_ready_made_ones():
    case = small_case()
    timed = replace(subject(case, case.valid), seconds=0.25)
    assert set(seconds(case, timed).values.tolist()) == {0.25}
    ready = seconds(case, subject(case, case.valid))
    assert bool(ready.values.isnan().all())
    assert ready.note == "came ready-made"
