from __future__ import annotations

import pytest
import torch

from unmask.batches import AT_ONCE, POOL, by_length, in_turn, out_of_memory, shuffled, together, words
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
    assert together(torch.zeros(5, 3, 224, 224), 512) == 16  # weights are read once for all of them
    assert together(torch.zeros(5, 3, 224, 224), 4) == 4
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


@pytest.mark.parametrize("n", [1, 5, 16, 23])
@pytest.mark.parametrize("room", [1, 3, 16])
def test_what_does_not_fit_is_halved_from_what_was_tried(n: int, room: int) -> None:
    tried: list[int] = []

    def work(part: slice) -> list[int]:
        rows = list(range(n))[part]
        tried.append(len(rows))
        if len(rows) > room:
            raise MemoryError
        return rows

    found, size = in_turn(work, n, 512)
    assert [row for part in found for row in part] == list(range(n))
    assert max(map(len, found)) <= room
    assert size == 512 or size <= room
    assert tried[0] == n  # never more than there are
    assert sum(rows > room for rows in tried) <= 5  # each failure halves


@pytest.mark.parametrize(
    ("said", "full"),
    [
        ("CUDA out of memory. Tried to allocate 2 GiB", True),
        ("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Failed to allocate memory for requested buffer", True),
        ("std::bad_alloc", True),
        ("cuDNN error: CUDNN_STATUS_ALLOC_FAILED", True),
        ("RESOURCE_EXHAUSTED: XLA", True),
        ("required rank 4 tensor to use channels_last memory format", False),
        ("an illegal memory access was encountered", False),
    ],
)
def test_only_want_of_room_counts_as_such(said: str, full: bool) -> None:
    class OtherError(Exception):
        """Of a library that does not know RuntimeError, as onnxruntime's."""

    assert out_of_memory(OtherError(said)) is full
    seen: list[int] = []

    def work(part: slice) -> None:
        seen.append(part.stop - part.start)
        raise OtherError(said)

    with pytest.raises(OtherError):
        in_turn(work, 4, 4)
    assert seen == ([4, 2, 1] if full else [4])


def test_networks_read_fewer_rows_where_there_is_no_room() -> None:
    class Narrow(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if len(x) > 3:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().forward(x)

    torch.manual_seed(0)
    net, x = Narrow(4, 2), torch.randn(23, 4, generator=generator(0))
    torch.testing.assert_close(evaluate(net, x), torch.nn.functional.linear(x, net.weight, net.bias))
    assert evaluate(net, x[:0]).shape == (0, 2)
