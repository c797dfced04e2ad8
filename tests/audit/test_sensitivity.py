"""The smallest change that turns an answer, against its closed form for a linear bag of words."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from audit.cases import planted, small_case, subject
from unmask import nets, seeds
from unmask.audit import looking, sensitivity
from unmask.audit.case import Case, Subject
from unmask.audit.sensitivity import least, turned
from unmask.audit.subjects import Settings, assemble
from unmask.masking import subsets
from unmask.models import bind, wrap
from unmask.types import Explanation

pytestmark = pytest.mark.slow

WORDS, WIDE = 6, 4


def linear(seed: int = 0, n: int = 5):
    """Rows of word vectors and a model that adds up their products with w: everything is known in closed form."""
    rng = seeds.generator(seed)
    vectors, w = torch.randn(n, WORDS, WIDE, generator=rng), torch.randn(WIDE, 2, generator=rng)

    def answer(delta: Tensor) -> Tensor:
        return ((vectors + delta) @ w).sum(1)

    raw = answer(torch.zeros(vectors.shape))
    margin = (raw[:, 0] - raw[:, 1]).abs()
    return answer, vectors.shape, raw.argmax(1), margin / (w[:, 0] - w[:, 1]).norm()


@pytest.mark.parametrize("moving", [1, 3, WORDS])
def test_the_least_change_of_a_linear_model_is_its_margin_over_the_slope(moving: int) -> None:
    answer, shape, target, far = linear()
    where = torch.arange(WORDS).expand(shape[0], -1) < moving
    expected = far / moving**0.5  # the best change is the same for each word that may move
    found = least(answer, shape, where, target, 4 * expected)
    torch.testing.assert_close(found, expected, rtol=0.01, atol=1e-3)


def test_nothing_turns_within_less_and_words_that_may_not_move_do_not() -> None:
    answer, shape, target, far = linear()
    everywhere = torch.ones(shape[:2], dtype=torch.bool)
    assert not turned(answer, shape, everywhere, target, 0.98 * far / WORDS**0.5).any()
    assert turned(answer, shape, everywhere, target, 1.02 * far / WORDS**0.5).all()
    assert not turned(answer, shape, ~everywhere, target, 100 * far).any()


class Sum(nn.Module):
    """Two classes from the sum of word vectors, in which the first word counts tenfold."""

    def __init__(self, reader: nets.Reader) -> None:
        super().__init__()
        assert reader.vocabulary is not None
        self.reader, self.embedding = reader, nn.Embedding(len(reader.vocabulary), WIDE)
        self.out = nn.Linear(WIDE, 2)

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        weight = (x != 0).float() if kept is None else kept.float()
        weight = weight * torch.where(torch.arange(x.shape[1]) == 0, 10.0, 1.0)
        return self.out((self.embedding(x) * weight[..., None]).sum(1))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def words() -> Case:
    data = planted("words")
    torch.manual_seed(0)
    model = bind(wrap(Sum(nets.read(data))), data)
    return assemble(model, data, {}, Settings(k=1, n=20, removal="pad"))


def marked(case: Case, first: bool) -> Subject:
    """The first word is the most important one, or the least."""
    scores = torch.rand(case.valid.shape, generator=seeds.generator(1))
    scores[:, 0] = 2.0 if first else -1.0
    return Subject("it", Explanation(scores, subsets.topk(scores, 1, case.valid), case.valid, case.target))


def test_words_that_count_more_need_less_change(words: Case) -> None:
    first, last = (sensitivity.sensitivity(words, marked(words, first)).values for first in (True, False))
    there = ~first.isnan()
    assert there.sum() >= 10
    assert bool((first[there] < 0.5 * last[there]).all())


def test_columns_have_none() -> None:
    case = small_case()
    found = sensitivity.sensitivity(case, subject(case, case.valid))
    assert found.values.isnan().all()
    assert "words" in found.note


class Spelled:
    """Scores each word by its length, or by its place, or, `flighty`, by how the row is spelled."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.seen: list[list[list[str]]] = []

    def fit(self, model, data):
        return self

    def clone(self):
        return self

    def explain(self, x, target=None):
        self.seen.append(x)
        width = max(map(len, x))
        scores = torch.zeros(len(x), width)
        for i, row in enumerate(x):
            for j in range(len(row)):
                turned = self.how == "flighty" and len("".join(row)) % 2
                scores[i, j] = -j if turned else j
        valid = torch.arange(width) < torch.tensor([len(row) for row in x])[:, None]
        return Explanation(scores, valid, valid, target)


@pytest.fixture
def alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lexicon: any word may stand for any other."""
    monkeypatch.setattr(looking, "alike", lambda a, b: torch.ones(len(a), len(b), dtype=torch.bool))


def spelled(case: Case, how: str) -> Subject:
    explainer = Spelled(how)
    return Subject("it", explainer.explain(case.x, case.target), explainer=explainer)


def test_stability_is_the_worst_rank_correlation_over_swaps_that_leave_the_answer(words: Case, alike: None) -> None:
    case = replace(words, memory={})
    assert case.model.module is not None
    it = spelled(case, "flighty")
    found = sensitivity.stability(case, it)
    expected = torch.full((len(case.target),), torch.inf)
    for x in it.explainer.seen[1:]:
        said = case.model(x)
        same = (said.argmax(1) == case.target) & ((said - case.full).abs().sum(1) / 2 <= 0.05)
        for i, row in enumerate(x):
            changed = [a != b for a, b in zip(row, case.x[i], strict=True)]
            assert sum(changed) <= 1
            odd = (len("".join(row)) - len("".join(case.x[i]))) % 2
            if bool(same[i]) and any(changed):
                expected[i] = min(float(expected[i]), -1.0 if odd else 1.0)
    there = ~expected.isinf()
    assert there.any()
    torch.testing.assert_close(found.values[there], expected[there])
    assert bool(found.values[~there].isnan().all())
    assert f"{int((~there).sum())} without a synonym" in found.note


def test_scores_that_do_not_look_at_words_are_stable(words: Case, alike: None) -> None:
    case = replace(words, memory={})
    found = sensitivity.stability(case, spelled(case, "place")).values
    torch.testing.assert_close(found[~found.isnan()], torch.ones(int((~found.isnan()).sum())))


def test_stability_needs_words_and_somebody_to_ask(words: Case) -> None:
    case = small_case()
    assert "words" in sensitivity.stability(case, subject(case, case.valid)).note
    assert "ready-made" in sensitivity.stability(words, marked(words, first=True)).note
