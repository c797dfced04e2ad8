"""The network with tokens that say nothing: where it may look, what it may read, what never learns."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from nets.samples import SETS, TEXTS
from unmask.errors import InputError
from unmask.models.attending import attentive
from unmask.nets import read
from unmask.nets.reader import Reader
from unmask.nets.shortcut import CONSTANTS, WORDS, ShortcutNet
from unmask.seeds import generator

E = 6


def reader() -> Reader:
    return read(SETS["words"]())


def vectors() -> Tensor:
    vocabulary = reader().vocabulary
    assert vocabulary is not None
    return torch.randn(len(vocabulary), E, generator=generator(1))


def net(downstream: Any = "pooling", attention: bool = True, query: Any = "mean-max-min", seed: int = 0) -> ShortcutNet:
    return ShortcutNet(reader(), 3, downstream, attention, vectors=vectors(), query=query, seed=seed).eval()


FORMS = [(d, a, q) for d in ("pooling", "rcnn") for a in (True, False) for q in ("mean", "mean-max-min")]


@pytest.mark.parametrize(("downstream", "attention", "query"), FORMS)
def test_it_keeps_the_attention_protocol(downstream: str, attention: bool, query: str) -> None:
    made = net(downstream, attention, query)
    x = made.reader.prepare(TEXTS)
    weights, states = attentive(made, x).attend(x)
    assert weights.shape == (len(TEXTS), CONSTANTS + WORDS)
    torch.testing.assert_close(weights.sum(1), torch.ones(len(TEXTS)))
    torch.testing.assert_close(made.answer(states, weights), made(x))
    assert made(x).shape == (len(TEXTS), 3)


@pytest.mark.parametrize("attention", [True, False])
def test_missing_words_get_exactly_no_weight(attention: bool) -> None:
    made = net(attention=attention)
    x = made.reader.prepare(TEXTS)
    weights, _ = made.attend(x)
    assert made.positions(x).sum(1).tolist() == [4 + min(5, len(text)) for text in TEXTS]
    assert torch.equal(weights > 0, made.positions(x))


@pytest.mark.parametrize("downstream", ["pooling", "rcnn"])
def test_a_row_does_not_depend_on_the_rows_beside_it(downstream: str) -> None:
    """Alone, a text of one word is a tensor of one column; among others it is padded."""
    made = net(downstream)
    together = made(made.reader.prepare(TEXTS))
    alone = torch.cat([made(made.reader.prepare([text])) for text in TEXTS])
    torch.testing.assert_close(together, alone)
    assert made(made.reader.prepare([])).shape == (0, 3)


def test_attention_asks_with_the_whole_review_but_reads_five_words() -> None:
    made = net()
    long = ["the", "waiter", "was", "kind", "and", "the", "soup", "good"]
    x = made.reader.prepare([long, [*long[:-1], "bad"]])
    weights, (values, _) = made.attend(x)
    assert torch.equal(values[0], values[1])
    assert not torch.allclose(weights[0], weights[1])
    torch.testing.assert_close(values[0, :CONSTANTS], made.constant)
    torch.testing.assert_close(values[0, CONSTANTS:], vectors()[x[0, :WORDS]])


def test_the_summary_is_that_of_the_words_there_are() -> None:
    made = net()
    x = made.reader.prepare(TEXTS)
    for row, got in zip(x, made.summary(x), strict=True):
        words = vectors()[row[row != 0]]
        torch.testing.assert_close(got, torch.cat([words.mean(0), words.amax(0), words.amin(0)]))
    torch.testing.assert_close(net(query="mean").summary(x), made.summary(x)[:, :E])


def test_the_mass_on_the_constants() -> None:
    made = net(attention=False)
    long = made.reader.prepare(TEXTS)[[2]]
    torch.testing.assert_close(made.constants(made.attend(long)[0]), torch.tensor([4 / 9]))
    assert made.constants(torch.eye(9)).tolist() == [1.0] * 4 + [0.0] * 5


def test_vectors_and_constants_never_learn() -> None:
    made = net()
    learning = {name for name, p in made.named_parameters() if p.requires_grad}
    assert all(name.startswith(("attention.", "downstream.")) for name in learning)
    assert "constant" in dict(made.named_buffers())
    torch.testing.assert_close(made.embedding.table.weight[2:], vectors()[2:])


def test_the_seed_decides() -> None:
    first, again, other = net(seed=1), net(seed=1), net(seed=2)
    assert all(torch.equal(a, b) for a, b in zip(first.state_dict().values(), again.state_dict().values(), strict=True))
    assert not torch.equal(first.constant, other.constant)


def test_without_attention_the_values_are_read_as_they_are() -> None:
    """The mean of the nine, or the recurrent convolution over them."""
    x = net().reader.prepare([TEXTS[2]])
    pooled, recurrent = (net(downstream, attention=False) for downstream in ("pooling", "rcnn"))
    values, valid = pooled.attend(x)[1]
    torch.testing.assert_close(pooled(x), pooled.downstream.head(values.mean(1)))
    states = recurrent.downstream.encoder(values, valid)
    torch.testing.assert_close(recurrent(x), recurrent.downstream.head(states.amax(1)))


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="unknown downstream 'pool'"):
        net("pool")
    with pytest.raises(InputError, match="unknown query 'max'"):
        net(query="max")
    with pytest.raises(InputError, match="one row for each word of the vocabulary, got 2 rows"):
        ShortcutNet(reader(), 2, vectors=torch.zeros(2, E))
