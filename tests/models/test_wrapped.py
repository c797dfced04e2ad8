"""One call around any model: batches that split, answers that are checked, hidden units averaged over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nets.samples import PLAIN, SETS, dataset, values
from unmask.errors import InputError
from unmask.masking.removals import MASK, make_removal
from unmask.models import Wrapped, counted, shown, wrap
from unmask.seeds import generator

BOTH = "; for two classes return both columns, 1 - p and p"
X = torch.randn(23, 4, generator=generator(0))


def linear(x: Tensor) -> Tensor:
    """Probabilities of two classes from the sum of a row."""
    p = torch.as_tensor(x).sum(1).sigmoid()
    return torch.stack([1 - p, p], 1)


def answering(answer: Any, **options: Any) -> Wrapped:
    return Wrapped("made", lambda rows: answer(rows) if callable(answer) else answer, lambda rows: rows, **options)


def probabilities(answer: Any) -> Wrapped:
    return answering(answer, outputs="probabilities")


def limited(
    most: int, error: Callable[[], Exception], seen: list[int], answer: Callable[[Tensor], Tensor] = linear
) -> Callable[[Tensor], Tensor]:
    def call(rows: Tensor) -> Tensor:
        seen.append(len(rows))
        if len(rows) > most:
            raise error()
        return answer(rows)

    return call


@pytest.mark.parametrize(
    "error",
    [
        MemoryError,
        lambda: RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        lambda: RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        lambda: torch.OutOfMemoryError("no room"),
    ],
)
@pytest.mark.parametrize("most", [1, 3, 22])
def test_a_batch_that_does_not_fit_is_halved(most: int, error: Callable[[], Exception]) -> None:
    seen: list[int] = []
    model = answering(limited(most, error, seen), outputs="probabilities", batch=16)
    torch.testing.assert_close(model(X), linear(X))
    assert sum(n for n in seen if n <= most) == len(X)
    seen.clear()
    model(X)
    assert max(seen) <= most  # what did not fit once is not tried again


def test_one_row_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(MemoryError):
        probabilities(limited(0, MemoryError, []))(X)


def test_other_errors_come_through() -> None:
    seen: list[int] = []
    model = probabilities(limited(2, lambda: RuntimeError("shapes cannot be multiplied"), seen))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        model(X)
    assert seen == [23]


def test_batches_come_back_in_order() -> None:
    model = answering(linear, outputs="probabilities", batch=5)
    torch.testing.assert_close(model(X), linear(X))
    order = torch.randperm(23, generator=generator(1))
    torch.testing.assert_close(model(X[order]), linear(X)[order])


def test_no_rows_need_no_call() -> None:
    def refuse(rows: Tensor) -> Tensor:
        raise AssertionError

    assert answering(refuse, outputs="logits", classes=3)(X[:0]).shape == (0, 3)


def test_logits_become_probabilities() -> None:
    logits = torch.randn(23, 3, generator=generator(2))
    torch.testing.assert_close(answering(logits, outputs="logits")(X), logits.softmax(1))


def test_rows_that_nearly_sum_to_one_are_made_to() -> None:
    raw = torch.tensor([[0.301, 0.702], [-5e-5, 1.0], [0.5, 0.495]])
    got = probabilities(raw.double().numpy())(X[:3])
    assert got.dtype == torch.float32
    torch.testing.assert_close(got.sum(1), torch.ones(3))
    assert got[1].tolist() == [0.0, 1.0]
    torch.testing.assert_close(got[0], raw[0] / raw[0].sum())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            torch.full((3,), 0.5),
            f"made must answer 3 rows with shape (3, classes), got (3,){BOTH}",
        ),
        (
            torch.full((3, 1), 0.5),
            f"made must answer 3 rows with shape (3, classes), got (3, 1){BOTH}",
        ),
        (torch.full((2, 2), 0.5), "made must answer 3 rows with shape (3, classes), got (2, 2)"),
        (torch.full((3, 2, 2), 0.5), "made must answer 3 rows with shape (3, classes), got (3, 2, 2)"),
        (
            torch.tensor([[0.5, 0.5], [torch.nan, 0.5], [0.5, 0.5]]),
            "made answered row 1 of a batch with a value that is not finite; does it take missing values?",
        ),
        (
            torch.tensor([[0.5, 0.5], [0.2, 0.2], [0.5, 0.5]]),
            "made should return probabilities, but a row sums to 0.4 or holds negative values; "
            "if these are logits, say wrap(model, outputs='logits')",
        ),
        (
            torch.tensor([[0.5, 0.5], [1.25, -0.25], [0.5, 0.5]]),
            "made should return probabilities, but a row sums to 1 or holds negative values; "
            "if these are logits, say wrap(model, outputs='logits')",
        ),
        (
            {"logits": 1},
            "made must answer with an array or tensor (rows, classes) of numbers, got dict; "
            "wrap a callable that takes the numbers out",
        ),
        (
            None,
            "made must answer with an array or tensor (rows, classes) of numbers, got NoneType; "
            "wrap a callable that takes the numbers out",
        ),
    ],
)
def test_a_wrong_answer_is_one_sentence(answer: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        probabilities(answer)(X[:3])
    assert str(caught.value) == said


def test_a_wrong_number_of_classes_is_said() -> None:
    with pytest.raises(InputError, match=r"made must answer 23 rows with shape \(23, 3\), got \(23, 2\)"):
        answering(linear, outputs="probabilities", classes=3)(X)


def test_log_probabilities_carry_gradients() -> None:
    torch.manual_seed(0)
    module = nn.Linear(4, 3)
    for outputs, net in (("logits", module), ("probabilities", nn.Sequential(module, nn.Softmax(1)))):
        model = wrap(net, outputs=outputs, device="cpu")
        x = X.clone().requires_grad_()
        log_p = model.log_probabilities(x)
        torch.testing.assert_close(log_p.exp(), model(X))
        (grad,) = torch.autograd.grad(log_p[:, 1].sum(), x)
        p = model(X)
        torch.testing.assert_close(grad, module.weight[1].detach() - p @ module.weight.detach())


def test_a_model_without_gradients_says_so() -> None:
    with pytest.raises(
        InputError, match="made gives no gradients: use a method that only calls the model, such as occ"
    ):
        probabilities(linear).log_probabilities(X)


def test_what_the_report_says() -> None:
    model = answering(linear, outputs="logits", takes="frame", details={"framework": "mine"})
    assert model.describe() == {"name": "made", "takes": "frame", "outputs": "logits", "framework": "mine"}


def test_hidden_units_are_averaged_over_the_background() -> None:
    data = dataset(PLAIN, values(PLAIN, 30))
    removal, model = make_removal("marginal", data, draws=4), probabilities(linear)
    kept = torch.rand(23, 4, generator=generator(3)) < 0.5
    by_hand = torch.zeros(23, 2)
    for fill in removal.fills:
        for i in range(23):
            by_hand[i] += linear(torch.where(kept[i], X[i], fill)[None])[0] / 4
    torch.testing.assert_close(shown(model, removal, X, kept), by_hand)


def test_a_fixed_removal_asks_once() -> None:
    calls: list[Tensor] = []

    def call(rows: Tensor) -> Tensor:
        calls.append(rows)
        return linear(rows)

    removal = make_removal("zero", SETS["table"]())
    kept = torch.rand(23, 4, generator=generator(3)) < 0.5
    torch.testing.assert_close(shown(probabilities(call), removal, X, kept), linear(X * kept))
    assert len(calls) == 1


def test_missing_values_a_model_does_not_take_are_one_sentence() -> None:
    def picky(x: np.ndarray) -> np.ndarray:
        if np.isnan(x).any():
            raise ValueError("Input X contains NaN.\nLinearThing does not accept missing values encoded as NaN")
        return np.full((len(x), 2), 0.5)

    rows = torch.tensor([[1.0, torch.nan], [1.0, 2.0]])
    with pytest.raises(InputError, match="picky does not take missing values, and these rows hold some; fill them in"):
        wrap(picky)(rows)


def test_a_text_model_without_a_mask_token_cannot_hide_with_one() -> None:
    model = wrap(lambda texts: np.full((len(texts), 2), 0.5), takes="text")
    with pytest.raises(InputError, match="has no mask token"):
        model.token("mask-token")
    assert model.token("pad") == MASK


def test_rows_are_counted_whoever_asks_and_through_whichever_copy() -> None:
    module = nn.Linear(4, 2)
    one, other = wrap(module, outputs="logits"), wrap(module, outputs="logits", removal="zero")
    one(X)
    with counted() as outer:
        one(X)
        with counted() as inner:
            other(X[:5])
            other.log_probabilities(X[:3])
        one(X[:0])
    one(X)
    assert (outer.rows, inner.rows) == (len(X) + 8, 8)


def test_a_batch_that_is_tried_again_counts_once() -> None:
    model = answering(limited(3, MemoryError, []), outputs="probabilities", batch=16)
    with counted() as tally:
        model(X)
    assert tally.rows == len(X)


def _lengths(asked: list[list[int]]) -> Callable[[Any], Tensor]:
    """Answers with the number of words over a hundred, and writes down what it was asked about."""

    def call(rows: Any) -> Tensor:
        asked.append([len(row) for row in rows])
        p = torch.tensor([len(row) / 100 for row in rows])
        return torch.stack([1 - p, p], 1)

    return call


def test_texts_that_are_padded_are_asked_about_by_length_and_answered_in_order() -> None:
    rows = [["w"] * int(n) for n in torch.randint(1, 90, (40,), generator=generator(0))]
    want = torch.tensor([len(row) / 100 for row in rows])
    for pads in (False, True):
        asked: list[list[int]] = []
        model = answering(_lengths(asked), outputs="probabilities", batch=8, pads=pads)
        torch.testing.assert_close(model(rows)[:, 1], want)
        assert [len(part) for part in asked] == [8] * 5
        assert ([n for part in asked for n in part] == sorted(len(row) for row in rows)) == pads


def test_fewer_rows_are_asked_about_at_once_where_they_are_long() -> None:
    def calls(rows: Any, **options: Any) -> list[int]:
        seen: list[int] = []

        def call(part: Any) -> Tensor:
            seen.append(len(part))
            return torch.full((len(part), 2), 0.5)

        answering(call, outputs="probabilities", **options)(rows)
        return seen

    assert calls(torch.zeros(10, 3, 4), values=48) == [4, 4, 2]
    assert calls(torch.zeros(10, 3, 4), values=48, batch=3) == [3, 3, 3, 1]
    assert calls(torch.zeros(3, 10, 10), values=48) == [1, 1, 1]
    assert calls(torch.zeros(40, 1, 10, 10), values=48) == [16, 16, 8]  # images
    assert calls(torch.zeros(3, 100), values=48) == [3]  # columns
    assert calls([["a"] * 20, ["a"], ["b"], []], values=40) == [2, 2]  # words, of the longest
    assert calls([[["a"] * 15, ["b"] * 5], [["a"]], [[]]], values=40) == [2, 1]  # sentences of words
    assert calls(torch.zeros(10, 3, 4)) == [10]


def test_a_module_that_was_trained_on_answers_without_dropout() -> None:
    net = nn.Sequential(nn.Linear(3, 50), nn.Dropout(0.5), nn.Linear(50, 2))
    model, x = wrap(net, outputs="logits"), torch.randn(4, 3)
    before = model(x)
    net.train()
    assert torch.equal(model(x), before)
    assert not net.training
