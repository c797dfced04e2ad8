from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import torch
from torch.testing import assert_close

from audit.cases import W, small_case, subject
from unmask import seeds
from unmask.audit import enough
from unmask.masking import subsets


def chosen(case, k=2, seed=1):
    return subsets.uniform(case.valid, k, seeds.generator(seed))


def probability(case, kept):
    """p(target) of the linear model with hidden columns at 0, by hand."""
    odds = (case.x * kept) @ W
    p = torch.sigmoid(odds)
    return torch.where(case.target == 1, p, 1 - p)


def test_fs_m_and_fu_m_are_the_models_own_answers_on_what_is_shown():
    case = small_case()
    kept = chosen(case)
    same = ((case.x * kept) @ W > 0).long() == case.target
    left = ((case.x * ~kept) @ W > 0).long() == case.target
    assert_close(enough.fs_m(case, subject(case, kept)).values, same.float())
    assert_close(enough.fu_m(case, subject(case, kept)).values, left.float())


def test_sufficiency_and_comprehensiveness_are_what_the_answer_loses():
    case = small_case()
    kept = chosen(case)
    full = probability(case, torch.ones_like(kept))
    assert_close(enough.sufficiency(case, subject(case, kept)).values, full - probability(case, kept))
    assert_close(enough.comprehensiveness(case, subject(case, kept)).values, full - probability(case, ~kept))


def test_keeping_everything_loses_nothing_and_keeping_nothing_loses_all_that_removal_takes():
    case = small_case()
    everything, nothing = subject(case, case.valid), subject(case, torch.zeros_like(case.valid))
    assert_close(enough.sufficiency(case, everything).values, torch.zeros(len(case.target)))
    assert_close(enough.comprehensiveness(case, nothing).values, torch.zeros(len(case.target)))
    assert enough.fs_m(case, everything).values.mean() == 1.0


def test_the_weights_that_matter_score_above_those_that_do_not():
    case = small_case()
    best = subsets.topk((case.x * W).abs(), 2, case.valid)
    idle = torch.zeros_like(case.valid)
    idle[:, 4:] = True  # these columns have weight 0
    assert enough.fs_m(case, subject(case, best)).values.mean() > 0.9
    assert_close(enough.comprehensiveness(case, subject(case, idle)).values, torch.zeros(len(case.target)))


def test_changing_one_row_changes_no_other():
    case = small_case()
    kept = chosen(case)
    before = enough.comprehensiveness(case, subject(case, kept)).values
    other = kept.clone()
    other[0] = ~other[0]
    after = enough.comprehensiveness(case, subject(case, other)).values
    assert_close(before[1:], after[1:])
    assert before[0] != after[0]


def test_the_approximator_gap_is_its_accuracy_less_the_models():
    case = small_case(k=2)
    kept = subsets.uniform(case.valid, 2, seeds.generator(0))
    it = subject(case, kept)
    read = torch.where(torch.arange(len(case.target)) % 2 == 0, case.target, 1 - case.target)
    it = replace(it, explainer=SimpleNamespace(approximated=lambda x, shown: read[: len(x)] * shown.any(1)))
    gap = enough.approximator_gap(case, it).values
    model = (case.shown(kept).argmax(1) == case.target).float()
    assert torch.equal(gap, (read == case.target).float() - model)
    level = enough.approximator_gap(replace(case, subjects=(it,)), subject(case, kept, "random")).values
    assert not bool(level.any())
    none = enough.approximator_gap(case, subject(case, kept))
    assert bool(none.values.isnan().all())
    assert none.note
