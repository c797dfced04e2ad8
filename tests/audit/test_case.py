from __future__ import annotations

import torch
from torch.testing import assert_close

from audit.cases import small_case
from unmask.audit.case import digest


def test_the_model_is_asked_once_for_each_distinct_mask():
    case = small_case()
    asked = []

    def counted(x):
        asked.append(len(x))
        return case.full[: len(x)]

    case.model.call = counted
    for _ in range(3):
        case.shown(case.valid)
    case.shown(~case.valid)
    assert asked == [len(case.target)] * 2


def test_pick_takes_the_probability_of_the_target():
    case = small_case()
    assert_close(case.pick(case.full), case.full.max(1).values)


def test_a_digest_knows_values_shapes_and_types():
    a = torch.tensor([[True, False], [True, True]])
    assert digest(a) == digest(a.clone())
    assert len({digest(a), digest(~a), digest(a.view(4)), digest(a, a)}) == 4
