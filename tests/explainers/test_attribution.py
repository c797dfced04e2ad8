from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from explainers.samples import KINDS, fitted, model, task, unfitted, with_start
from unmask.errors import InputError
from unmask.explainers.attribution import ROWS, in_batches
from unmask.models import bind, wrap

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
    target = torch.zeros(10, dtype=torch.long)
    sizes = in_batches(explainer.task_, rows, target, ROWS, lambda part, _prepared, _goal: len(part))
    assert sizes == [4, 4, 2]


class Narrow(nn.Module):
    """A network that finds no room for more than three rows: at once, or when it has done all its work."""

    def __init__(self, net: nn.Module, late: bool) -> None:
        super().__init__()
        self.net, self.reader, self.late = net, net.reader, late

    def forward(self, x: Tensor) -> Tensor:
        said: Tensor | None = self.net(x) if self.late or len(x) <= 3 else None
        if said is None or len(x) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return said


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["gradient", "gradient-x-input", "integrated-gradients", "smoothgrad"])
def test_slopes_are_the_same_where_there_is_little_room(method: str, kind: str, late: bool) -> None:
    rows, settings = task(kind).test.x, {"steps": 7} if method == "integrated-gradients" else {}
    narrow = bind(wrap(Narrow(model(kind).module, late)), task(kind))
    found = [
        replace(unfitted(method), **settings).fit(asked, task(kind)).explain(rows) for asked in (model(kind), narrow)
    ]
    torch.testing.assert_close(found[1].scores, found[0].scores, atol=1e-5, rtol=1e-5)
    assert torch.equal(found[1].kept, found[0].kept)
