"""Who learns from what: nobody is judged on rows that were learned from."""

from __future__ import annotations

import pytest
import torch

from audit.cases import small_case, subject, table
from unmask import seeds
from unmask.audit.case import Subject
from unmask.audit.folds import FOLDS, by_lot, folds, masks, order
from unmask.judge import Rows
from unmask.types import Explanation


def test_ready_made_explanations_are_cross_fitted_and_no_row_is_judged_that_was_learned_from():
    case = small_case(table(300), k=1)
    parts = folds(case, subject(case, case.valid))
    assert len(parts) == FOLDS
    assert torch.cat([f.index for f in parts]).sort().values.tolist() == list(range(len(case.target)))
    for fold in parts:
        rows = [{tuple(r) for r in part.x.tolist()} for part in (fold.train, fold.validation, fold.test)]
        assert not rows[0] & rows[2]
        assert not rows[1] & rows[2]


def test_judges_of_an_explainer_that_can_be_asked_learn_from_the_training_rows():
    case = small_case(table(300), k=1)

    def on(rows):
        return Explanation(rows.valid.float(), rows.valid, rows.valid, rows.target)

    asked = Subject("it", on(case), on(case.train), on(case.validation))
    (fold,) = folds(case, asked)
    assert torch.equal(fold.train.x, case.train.x)
    assert torch.equal(fold.validation.x, case.validation.x)
    assert fold.index.tolist() == list(range(len(case.target)))


def test_places_in_the_order_of_the_kept_units():
    kept = torch.tensor([[True, False, True, True], [False, True, False, False], [False] * 4])
    scores = torch.tensor([[0.1, 9.0, -3.0, 0.5], [1.0, -1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
    e = Explanation(scores, kept, torch.ones_like(kept), torch.zeros(3, dtype=torch.long))
    want = torch.tensor([[2 / 3, 0, 1 / 3, 1.0], [0, 1.0, 0, 0], [0, 0, 0, 0]])
    torch.testing.assert_close(order(e), want)
    lot = by_lot(Rows(scores, e.target, e.valid, want), seeds.generator(0))
    assert torch.equal(lot > 0, kept)
    assert torch.equal(lot.sort(1).values, want.sort(1).values)


def test_rows_without_masks_are_refused():
    with pytest.raises(TypeError, match="carry no masks"):
        masks(Rows(torch.ones(1, 2), torch.zeros(1), torch.ones(1, 2)))
