"""Scores of moved rows: closed forms, and the two traps of the published code."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

import unmask
from audit.cases import planted, small_case, subject, table
from unmask import seeds
from unmask.audit import stability
from unmask.audit.case import Subject
from unmask.types import Explanation


class Weighted:
    """Scores w * x: a linear explainer."""

    def __init__(self, weight):
        self.weight, self.asked = weight, []

    def fit(self, model, data):
        return self

    def clone(self):
        return self

    def explain(self, x, target=None):
        self.asked.append(target)
        scores = x.flatten(1) * self.weight
        kept = torch.zeros(scores.shape, dtype=torch.bool)
        kept[:, :1] = True
        return Explanation(scores, kept, torch.ones_like(kept), target)


def asked(case, weight):
    explainer = Weighted(weight)
    explanation = explainer.explain(case.x, case.target)
    explainer.asked.clear()
    return Subject("it", explanation, explainer=explainer), explainer


def draws(n, rows=40, d=5):
    rng = seeds.generator(0)
    return torch.randn(rows, d, generator=rng), [torch.randn(rows, d, generator=rng) for _ in range(n)]


def test_the_maximum_never_falls_with_more_draws():
    clean, moved = draws(12)
    grown = torch.stack([stability.changes(clean, moved[:n])[0] for n in range(1, 13)])
    assert bool((grown.diff(dim=0) >= 0).all())
    assert bool((grown[-1] > grown[0]).any())


def test_the_maximum_is_over_all_draws_the_legacy_form_sees_the_last_one_only():
    clean, moved = draws(7)
    distance = torch.stack([(m - clean).norm(dim=1) for m in moved]) / clean.norm(dim=1)
    largest, last = stability.changes(clean, iter(moved))
    assert_close(largest, distance.amax(0))
    assert_close(last, distance[-1])
    assert bool((largest > last).any())


@pytest.mark.parametrize("factor", [1e-3, 7.0])
def test_scores_on_another_scale_change_nothing(factor):
    clean, moved = draws(4)
    scaled = stability.changes(factor * clean, [factor * m for m in moved])
    assert_close(scaled, stability.changes(clean, moved))


def test_rows_without_any_score_have_no_value():
    clean, moved = draws(3)
    clean[:2] = 0.0
    largest, last = stability.changes(clean, moved)
    assert largest.isnan().tolist() == last.isnan().tolist() == [True] * 2 + [False] * 38


def test_a_linear_explainer_in_closed_form():
    """Scores w x in one column: |w n| / |w x| = |n| / |x|; the largest of 50 uniform |n| is 50/51 of the reach."""
    case = small_case(table(3000))
    it, explainer = asked(case, torch.tensor([0.0, -3.0, 0.0, 0.0, 0.0, 0.0]))
    unit = stability.reach(case.data)[1] / case.x[:, 1].abs()
    found = stability.sen(case, it).values / unit
    assert float(found.max()) <= 1.0 + 1e-4
    n = stability.DRAWS
    assert float(found.mean()) == pytest.approx(n / (n + 1), abs=4 * (1 / (n + 1)) / len(found) ** 0.5)
    legacy = stability.sen_legacy(case, it).values / unit
    assert float(legacy.mean()) == pytest.approx(0.5, abs=4 * 12**-0.5 / len(found) ** 0.5)
    assert len(explainer.asked) == n  # both checks share the draws
    assert all(torch.equal(target, case.target) for target in explainer.asked)


def test_scores_that_do_not_look_at_the_row_never_move():
    case = small_case(table(300))
    it, _ = asked(case, torch.ones(6))
    it.explainer.explain = lambda x, target=None: it.explanation
    assert float(stability.sen(case, it).values.abs().max()) == 0.0


def test_how_far_rows_move():
    rng = seeds.generator(1)
    x = torch.randn(90, 3, generator=rng) * torch.tensor([1.0, 50.0, 0.0])
    x[::9, 0] = torch.nan
    data = unmask.dataset(x, torch.arange(90) % 2, kind="table")
    far = stability.reach(data)
    known = data.train.x[:, 0][~data.train.x[:, 0].isnan()]
    assert_close(far[0], 0.2 * known.std(correction=0))
    assert_close(far[1], 0.2 * data.train.x[:, 1].std(correction=0))
    assert far[2] == 0.0
    image = planted("image")
    assert_close(stability.reach(image), 0.2 * (image.train.x.max() - image.train.x.min()))


def test_rows_of_zeros_are_counted_in_the_note():
    case = small_case(table(300))
    it, _ = asked(case, torch.ones(6))
    scores = it.explanation.scores.clone()
    scores[:3] = 0.0
    found = stability.sen(case, replace(it, explanation=replace(it.explanation, scores=scores)))
    assert found.note == "3 rows left out, their scores are all 0"
    assert int(found.values.isnan().sum()) == 3


def test_texts_and_ready_made_explanations_have_no_value():
    case = small_case(table(300))
    ready = stability.sen(case, subject(case, case.valid))
    assert bool(ready.values.isnan().all())
    assert "came ready-made" in ready.note
    data = planted("words")
    words = stability.sen(replace(case, data=data), asked(case, torch.ones(6))[0])
    assert bool(words.values.isnan().all())
    assert words.note == "words cannot be moved a little"
