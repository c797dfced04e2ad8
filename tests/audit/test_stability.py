"""Scores of moved rows: closed forms, and the two traps of the published code."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest
import torch
from captum.metrics import sensitivity_max
from scipy.stats import entropy, spearmanr
from torch.testing import assert_close

import unmask
from audit.cases import planted, small_case, subject, table
from unmask import seeds
from unmask.audit import stability
from unmask.audit.case import Subject
from unmask.audit.subjects import control
from unmask.errors import TrainingError
from unmask.masking import subsets
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


def test_a_selector_that_is_fed_the_answer_gets_that_of_the_row_that_was_not_moved():
    class Fed(Weighted):
        feedback = True

        def explain(self, x, target=None, answer=None):
            self.fed = answer
            return super().explain(x, target)

    case = small_case(table(60))
    explainer = Fed(torch.ones(6))
    it = Subject("it", explainer.explain(case.x, case.target), explainer=explainer)
    stability.sen(case, it)
    assert explainer.fed is case.full


def test_captum_finds_the_same_largest_change():
    """sensitivity_max divides by the norm of the clean scores too; it is given our own draws."""
    case = small_case(table(60))
    it, explainer = asked(case, torch.tensor([1.0, -2.0, 0.5, 3.0, 1.0, 1.0]))
    found = stability.sen(case, it).values
    rng, far = seeds.generator(seeds.derive(case.seed, "sen")), stability.reach(case.data)
    noise = [2 * torch.rand(case.x.shape, generator=rng) - 1 for _ in range(stability.DRAWS)]
    moved = torch.stack([case.x + far * n for n in noise], 1).flatten(0, 1)  # captum repeats each row
    said = sensitivity_max(
        lambda x: (x[0] * explainer.weight,) if isinstance(x, tuple) else x * explainer.weight,
        case.x,
        perturb_func=lambda inputs, radius: moved,
        n_perturb_samples=stability.DRAWS,
        max_examples_per_batch=stability.DRAWS * len(case.x),
    )
    assert_close(found, said, rtol=1e-5, atol=1e-5)


@dataclass
class Lottery:
    """Keeps two columns that its seed draws, whatever the row; with `steady`, always the first two."""

    seed: int = 0
    steady: bool = False

    def fit(self, model, data):
        return self

    def clone(self):
        return Lottery(self.seed, self.steady)

    def explain(self, x, target=None):
        rng = seeds.generator(self.seed)
        scores = -torch.arange(6.0) if self.steady else torch.rand(6, generator=rng)
        scores = scores.expand(x.shape).contiguous()
        kept = subsets.topk(scores, 2, torch.ones_like(x, dtype=torch.bool))
        return Explanation(scores, kept, torch.ones_like(kept), target)


def test_other_seeds_are_compared_with_the_own_one():
    case = small_case(table(60))
    own = Lottery(seed=3)
    it = Subject("it", own.explain(case.x, case.target), explainer=own)
    seeds_ = [seeds.derive(case.seed, "fitted again", i) for i in range(stability.REFITS)]
    others = [Lottery(seed=s).explain(case.x) for s in seeds_]
    share = sum(float((it.kept & e.kept)[0].sum()) / 2 for e in others) / len(others)
    assert_close(stability.seed_stability(case, it).values, torch.full((len(case.target),), share))
    rank = sum(spearmanr(it.explanation.scores[0], e.scores[0]).statistic for e in others) / len(others)
    assert_close(stability.seed_correlation(case, it).values, torch.full((len(case.target),), float(rank)))
    assert own.seed == 3  # the explainer stays as it is
    assert stability.seed_stability(case, it).note == ""


def test_what_draws_nothing_stays_and_random_units_stay_by_chance():
    case = small_case(table(300))
    same = Lottery(steady=True)
    it = Subject("it", same.explain(case.x, case.target), explainer=same)
    assert bool((stability.seed_stability(case, it).values == 1.0).all())
    assert bool((stability.seed_correlation(case, it).values == 1.0).all())
    for check in (stability.seed_stability, stability.seed_correlation):
        assert check(case, it).note == stability.DRAWS_NOTHING
    chance = control(case, "random", 2)
    rows = len(case.target) * stability.REFITS
    assert float(stability.seed_stability(case, chance).values.mean()) == pytest.approx(2 / 6, abs=4 * 0.27 / rows**0.5)
    assert float(stability.topk_overlap(case, chance).values.mean()) == pytest.approx(2 / 6, abs=0.03)
    assert abs(float(stability.seed_correlation(case, chance).values.mean())) < 4 * 0.45 / rows**0.5


def test_the_overlap_nearby_is_the_mean_over_the_draws_of_sen(monkeypatch):
    monkeypatch.setattr(stability, "DRAWS", 4)
    case = small_case(table(60))

    class Largest(Weighted):
        def explain(self, x, target=None):
            self.asked.append(x)
            kept = subsets.topk(x, 2, torch.ones_like(x, dtype=torch.bool))
            return Explanation(x, kept, torch.ones_like(kept), target)

    explainer = Largest(torch.ones(6))
    it = Subject("it", explainer.explain(case.x, case.target), explainer=explainer)
    found = stability.topk_overlap(case, it).values
    moved = explainer.asked[1:]
    assert len(moved) == 4
    by_hand = [(it.kept & explainer.explain(x).kept).sum(1) / 2 for x in moved]
    assert_close(found, torch.stack(by_hand).mean(0))
    assert 0.8 < float(found.mean()) < 1.0
    stability.sen(case, it)
    assert len(explainer.asked) == 1 + 4 + 4  # sen uses the same draws


def test_entropy_of_scores_is_scipys():
    case = small_case(table(60))
    scores = torch.randn(case.x.shape, generator=seeds.generator(0))
    scores[0], scores[1], scores[2] = 0.0, 1.0, torch.tensor([0.0, 0, 5, 0, 0, 0])
    it = Subject("it", replace(subject(case, case.valid).explanation, scores=scores))
    found = stability.score_entropy(case, it).values
    assert bool(found[0].isnan())
    assert_close(found[1:3], torch.tensor([1.0, 0.0]))
    assert float(found[5]) == pytest.approx(entropy(scores[5].abs().numpy()) / math.log(6), abs=1e-5)


def test_refits_that_fail_are_said():
    case = small_case(table(60))

    class Failing(Lottery):
        def clone(self):
            raise TrainingError("no luck")

    own = Failing()
    it = Subject("it", own.explain(case.x, case.target), explainer=own)
    assert stability.seed_stability(case, it).note == "could not be fitted again: no luck"
