from __future__ import annotations

import torch
from torch.testing import assert_close

from audit.cases import small_case
from unmask.audit.case import digest, placed, some


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
    assert digest([["a", "b"]]) == digest([["a", "b"]]) != digest([["a"], ["b"]])
    assert len({digest(None), digest(a, None), digest([])}) == 3


def test_some_rows_at_even_distances_and_values_in_their_places():
    case = small_case()
    index = some(case, 5)
    assert len(index) == 5
    assert index[[0, -1]].tolist() == [0, len(case.target) - 1]
    assert torch.equal(some(case, 10**6), torch.arange(len(case.target)))
    found = placed(case, index, torch.arange(5))
    assert found[index].tolist() == [0, 1, 2, 3, 4]
    assert int(found.isnan().sum()) == len(case.target) - 5
