"""Agreement with people, against scikit-learn and slow loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn import metrics

from audit.cases import planted, small_case, subject
from unmask.audit import function_of, people
from unmask.models import wrap
from unmask.seeds import generator

N, D = 40, 17
RNG = generator(5)
VALID = torch.arange(D) < torch.randint(3, D + 1, (N, 1), generator=RNG)
KEPT = (torch.rand(N, D, generator=RNG) < 0.4) & VALID
RELEVANT = (torch.rand(N, D, generator=RNG) < 0.3) & VALID
SCORES = torch.rand(N, D, generator=RNG)
MARKED = RELEVANT.any(1)
SAYS = wrap(lambda x: torch.tensor([[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in x]), takes="text")


@pytest.mark.parametrize("weighted", [False, True])
def test_precision_recall_and_f1_are_scikit_learns(weighted: bool) -> None:
    weight = torch.randint(1, 9, (N, D), generator=generator(1)).float() if weighted else None
    found = people.token_scores(KEPT, RELEVANT, weight)
    for i in MARKED.nonzero()[:, 0].tolist():
        live = VALID[i]
        w = None if weight is None else weight[i][live].numpy()
        p, r, f, _ = metrics.precision_recall_fscore_support(
            RELEVANT[i][live], KEPT[i][live], average="binary", zero_division=0, sample_weight=w
        )
        assert [float(v[i]) for v in found] == pytest.approx([p, r, f], abs=1e-6)
    assert all(bool(v[~MARKED].isnan().all()) for v in found)
    assert (~MARKED).any()


def test_areas_are_scikit_learns() -> None:
    found = people.auprc(SCORES, RELEVANT, VALID)
    for i in MARKED.nonzero()[:, 0].tolist():
        truth, scores = RELEVANT[i][VALID[i]].int().numpy(), SCORES[i][VALID[i]].double().numpy()
        precision, recall, _ = metrics.precision_recall_curve(truth, scores)
        assert float(found[i]) == pytest.approx(metrics.auc(recall, precision))
    assert bool(found[~MARKED].isnan().all())


def test_spans() -> None:
    marked = torch.tensor([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]], dtype=torch.bool)
    assert people.spans(marked) == [[(0, 2), (3, 4)], [], [(1, 5)]]


def slow_iou(kept: list[bool], relevant: list[bool]) -> float:
    def runs(marks: list[bool]) -> list[set[int]]:
        cuts = [i for i in range(len(marks)) if marks[i] and (i == 0 or not marks[i - 1])]
        return [set(range(i, next((j for j in range(i, len(marks)) if not marks[j]), len(marks)))) for i in cuts]

    ours, theirs = runs(kept), runs(relevant)
    hits = sum(any(len(a & b) / len(a | b) >= 0.5 for b in theirs) for a in ours)
    precision, recall = hits / max(1, len(ours)), hits / len(theirs)
    return 0.0 if hits == 0 else 2 * precision * recall / (precision + recall)


def test_spans_that_share_half_of_their_union_are_found() -> None:
    found = people.iou_f1(KEPT, RELEVANT)
    want = [slow_iou(KEPT[i].tolist(), RELEVANT[i].tolist()) for i in MARKED.nonzero()[:, 0].tolist()]
    np.testing.assert_allclose(found[MARKED].numpy(), want, atol=1e-6)
    assert max(want) > 0


@pytest.fixture(scope="module")
def case():
    made = small_case(planted("words"), "pad", model=SAYS)
    return replace(made, relevant=(torch.rand(made.valid.shape, generator=generator(3)) < 0.4) & made.valid)


def test_micro_values_are_scikit_learns_over_all_units(case) -> None:
    kept = (torch.rand(case.valid.shape, generator=generator(4)) < 0.5) & case.valid
    want = metrics.precision_recall_fscore_support(case.relevant[case.valid], kept[case.valid], average="binary")
    for name, value in zip(("human-precision-micro", "human-recall-micro", "human-f1-micro"), want, strict=False):
        found = function_of(name)(case, subject(case, kept))
        assert float(found.values.mean() / found.over.mean()) == pytest.approx(value, abs=1e-6)


def test_checks_are_their_functions(case) -> None:
    it = subject(case, (torch.rand(case.valid.shape, generator=generator(4)) < 0.5) & case.valid)
    three = people.token_scores(it.kept, case.relevant)
    for check, want in zip((people.human_precision, people.human_recall, people.human_f1), three, strict=True):
        torch.testing.assert_close(check(case, it).values, want, equal_nan=True)
    torch.testing.assert_close(people.human_iou(case, it).values, people.iou_f1(it.kept, case.relevant), equal_nan=True)
    area = people.auprc(it.explanation.scores, case.relevant, case.valid)
    torch.testing.assert_close(people.human_auprc(case, it).values, area, equal_nan=True)


def test_sentences_count_by_their_words() -> None:
    made = small_case(planted("sentences"), "delete", model=SAYS)
    x = [[["a"] * (1 + j) for j in range(len(row))] for row in made.x]
    relevant = torch.zeros_like(made.valid)
    relevant[:, 0] = True
    case = replace(made, x=x, relevant=relevant)
    kept = torch.zeros_like(made.valid)
    kept[:, :2] = True
    assert people.human_precision(case, subject(case, kept)).values.tolist() == pytest.approx([1 / 3] * len(x))


def test_where_nobody_marked_anything_there_is_no_value(case) -> None:
    bare = replace(case, relevant=None)
    micro = (people.human_precision_micro, people.human_recall_micro, people.human_f1_micro)
    for check in (people.human_f1, *micro, people.human_iou, people.human_auprc):
        assert bool(check(bare, subject(bare, bare.valid)).values.isnan().all())
