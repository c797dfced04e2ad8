from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from explainers.samples import fitted, task, unfitted, with_start
from unmask.errors import InputError
from unmask.explainers.attribution import ROWS, batches
from unmask.models import wrap

pytestmark = pytest.mark.slow


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = ("gradient", "gradient-x-input", "integrated-gradients")
    whole = [fitted(m, "words").explain(task("words").test.x).scores for m in methods]
    monkeypatch.setattr("unmask.explainers.attribution.ROWS", 2)
    for method, scores in zip(methods, whole, strict=True):
        torch.testing.assert_close(
            fitted(method, "words").explain(task("words").test.x).scores, scores, atol=1e-5, rtol=1e-5
        )


def test_words_without_vectors_are_refused() -> None:
    class Counts(nn.Module):
        def forward(self, ids: Tensor) -> Tensor:
            return torch.stack([(ids == c).sum(1).float() for c in range(3)], 1)

    net = wrap(Counts(), takes="ids", tokenizer=lambda rows: torch.zeros(len(rows), 2).long(), outputs="logits")
    with pytest.raises(InputError, match=r"Counts has no nn\.Embedding to take gradients at; use occlusion"):
        unfitted("gradient").fit(net, task("words"))


def test_a_tokenizer_with_more_ids_than_words_is_refused() -> None:
    explainer = unfitted("gradient").fit(with_start(), task("words"))
    with pytest.raises(InputError, match="one id for each word"):
        explainer.explain(task("words").test.x)


def test_the_longest_row_says_how_many_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.explainers.attribution.VALUES", 40)
    explainer = fitted("gradient", "words")
    rows = [["a"], *(["a"] * 10 for _ in range(9))]
    sizes = [len(part) for part, *_ in batches(explainer.task_, rows, torch.zeros(10, dtype=torch.long), ROWS)]
    assert sizes == [4, 4, 2]
