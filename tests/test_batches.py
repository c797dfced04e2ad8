from __future__ import annotations

import pytest
import torch

from unmask.batches import AT_ONCE, POOL, by_length, shuffled, together, words
from unmask.seeds import generator
from unmask.training import Recipe, evaluate


@pytest.mark.parametrize("rows", [1, 7, 8, 400, 403])
def test_batches_hold_every_row_once_and_only_the_last_is_smaller(rows: int) -> None:
    ids = torch.randint(0, 5, (rows, 6), generator=generator(1))
    found = shuffled(ids, 8, generator(0))
    assert sorted(torch.cat(found).tolist()) == list(range(rows))
    assert all(len(index) == 8 for index in found[:-1])
    assert len(found) == Recipe(batch=8).steps(rows) + (rows % 8 == 1 < min(8, rows))


def test_texts_of_a_batch_are_of_about_one_length() -> None:
    lengths = torch.randint(1, 101, (POOL * 8,), generator=generator(1))
    ids = (torch.arange(100) < lengths[:, None]).long()
    spread = [float(lengths[index].max() - lengths[index].min()) for index in shuffled(ids, 8, generator(0))]
    assert max(spread) < 25  # by chance it would be about 78
    firsts = [float(lengths[index].float().mean()) for index in shuffled(ids, 8, generator(0))]
    assert firsts != sorted(firsts)  # short and long come mixed


def test_other_rows_come_in_any_order() -> None:
    x = torch.arange(32.0)[:, None]
    order = torch.cat(shuffled(x, 8, generator(0)))
    assert torch.equal(order, torch.randperm(32, generator=generator(0)))


def test_fewer_long_rows_are_read_at_once() -> None:
    assert together(torch.zeros(5, 14), 512) == 512
    assert together(torch.zeros(5, 1, 28, 28), 512) == AT_ONCE // 784
    assert together(torch.zeros(5, 10**6).long(), 512) == 1
    assert together(torch.zeros(5, 10**6), 512) == 512  # columns
    assert together(torch.zeros(0, 14), 512) == 512
    assert together(torch.zeros(5, 100).long(), 512, values=1000) == 10


def test_short_texts_come_first_and_other_rows_as_they_stand() -> None:
    ids = torch.tensor([[3, 4, 5], [6, 0, 0], [7, 8, 0], [0, 0, 0]])
    assert by_length(ids).tolist() == [3, 1, 2, 0]
    assert by_length(ids[..., None]).tolist() == [3, 1, 2, 0]  # sentences
    assert by_length(ids.float()).tolist() == [0, 1, 2, 3]
    assert by_length(ids[:0]).tolist() == []


class _Echo(torch.nn.Module):
    """Says the first id, the number of the row's text beside it, and how many rows it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.widths: list[int] = []

    def forward(self, ids: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        self.widths.append(int((ids != 0).sum(1).max() - (ids != 0).sum(1).min()))
        return torch.stack([ids[:, 0].float(), other], 1)


def test_answers_come_back_in_the_order_of_the_rows_and_every_input_goes_along() -> None:
    lengths = torch.randint(1, 50, (300,), generator=generator(2))
    ids = torch.where(torch.arange(50) < lengths[:, None], torch.arange(1, 301)[:, None], 0)
    net = _Echo()
    found = evaluate(net, ids, torch.arange(300.0), batch=16)
    assert torch.equal(found[:, 0], torch.arange(1.0, 301.0))
    assert torch.equal(found[:, 1], torch.arange(300.0))
    assert max(net.widths) < 10  # by chance it would be about 45


def test_steady_batches_are_the_same_whatever_stands_in_the_rows() -> None:
    seen: list[list[float]] = []

    class Noting(_Echo):
        def forward(self, ids: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
            seen.append(other.tolist())
            return super().forward(ids, other)

    for width in (3, 3000):  # long rows are read a few at a time where batches need not be steady
        lengths = torch.randint(1, width + 1, (20,), generator=generator(width))
        ids = (torch.arange(width) < lengths[:, None]).long()
        evaluate(Noting(), ids, torch.arange(20.0), batch=15, steady=True)
    assert seen[:2] == seen[2:] == [list(range(15)), list(range(15, 20))]


def test_words_are_counted_alone_and_in_sentences():
    assert [words(row) for row in ([], ["a", "b"], [["a"], [], ["b", "c"]])] == [0, 2, 3]
