"""Attention classifiers: no weight beyond the end of a text, rows that stand alone, weights by their formulas."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nets.samples import SETS, TEXTS
from unmask.errors import InputError
from unmask.masking.removals import make_removal
from unmask.nets import read
from unmask.nets.attention import ATTENTIONS, Additive, AttentionNet, ScaledDot, Uniform, attention_net, masked_softmax
from unmask.nets.encoders import ENCODERS
from unmask.nets.vocabulary import END, HIDDEN
from unmask.seeds import generator
from unmask.training import soft_cross_entropy

pytestmark = pytest.mark.slow

DATA = SETS["words"]()
READER = read(DATA)
KNOWN = READER.vocabulary
IDS = READER.prepare([*TEXTS, []])  # the last text is empty
LENGTHS = [*map(len, TEXTS), 0]
VALID = IDS != END
EVERY = pytest.mark.parametrize(("kind", "score"), [(kind, score) for kind in ENCODERS for score in ATTENTIONS])


def made(kind: str = "bilstm", score: Any = "additive", classes: int = 3) -> AttentionNet:
    """A small net whose vectors, and so whose weights, differ much."""
    vectors = torch.randn(len(KNOWN), 6, generator=generator(3))
    return attention_net(READER, classes, kind, hidden=8, score=score, vectors=vectors, seed=1).eval()


def close(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, atol=1e-6, rtol=0)


# --- every net --------------------------------------------------------------------------------------------------------


@EVERY
def test_weights_lie_on_the_words_and_sum_to_one(kind: str, score: str) -> None:
    weights, states = made(kind, score).attend(IDS)
    assert weights.shape == IDS.shape
    assert states.shape[:2] == IDS.shape
    assert torch.equal(weights[~VALID], torch.zeros(int((~VALID).sum())))  # exactly no weight on padding
    assert float(weights[VALID].detach().min()) > 0
    close(weights.sum(1), torch.tensor([1.0] * len(TEXTS) + [0.0]))
    uneven = float((weights[0, :4] - 0.25).detach().abs().max()) > 1e-3
    assert uneven == (score != "uniform")


@EVERY
@pytest.mark.parametrize("learning", [True, False])
def test_a_row_does_not_depend_on_the_batch(kind: str, score: str, learning: bool) -> None:
    net = made(kind, score)
    with torch.set_grad_enabled(learning):
        weights, states = net.attend(IDS)
        logits = net(IDS)
        wider = torch.cat([IDS, torch.full((len(IDS), 5), END)], 1)
        for got, want in zip(net.attend(wider), (weights, states), strict=True):
            close(got[:, : IDS.shape[1]], want)
        close(net(wider), logits)
        for i, length in enumerate(LENGTHS):
            alone = IDS[i : i + 1, :length]
            for got, want in zip(net.attend(alone), (weights, states), strict=True):
                close(got[0], want[i, :length])
            close(net(alone)[0], logits[i])


@EVERY
def test_answers_are_those_of_the_weighted_states(kind: str, score: str) -> None:
    net = made(kind, score)
    weights, states = net.attend(IDS)
    close(net(IDS), net.answer(states, weights))
    other = torch.rand(IDS.shape, generator=generator(5))
    for i in range(len(IDS)):
        mixed = sum(float(other[i, t]) * states[i, t] for t in range(IDS.shape[1]))
        close(net.answer(states, other)[i], net.decoder.weight @ mixed + net.decoder.bias)
    assert net(IDS).shape == (len(IDS), 3)
    close(net(IDS)[-1], net.decoder.bias)  # of an empty text nothing is known
    assert bool(net(IDS).isfinite().all())


@EVERY
def test_gradients_reach_every_parameter(kind: str, score: str) -> None:
    net = made(kind, score).train()
    soft_cross_entropy(net(IDS[:-1]), torch.tensor([0, 1, 2, 1, 0])).sum().backward()
    assert [name for name, p in net.named_parameters() if not float(p.grad.abs().sum()) > 0] == []
    used = net.embedding.table.weight.grad.abs().sum(1) > 0
    assert used.nonzero()[:, 0].tolist() == sorted(set(IDS[VALID].tolist()))
    assert (list(net.attention.parameters()) == []) == (score == "uniform")


@pytest.mark.parametrize("kind", ENCODERS)
def test_frozen_vectors_stay_and_the_rest_learns(kind: str) -> None:
    net = made(kind)
    net.embedding.table.requires_grad_(False)
    soft_cross_entropy(net(IDS), torch.tensor([0, 1, 2, 1, 0, 2])).sum().backward()
    unmoved = [name for name, p in net.named_parameters() if p.grad is None]
    assert unmoved == ["embedding.table.weight"]


@pytest.mark.parametrize("kind", ENCODERS)
def test_padding_outside_is_hiding_inside(kind: str) -> None:
    net = made(kind)
    kept = (torch.rand(DATA.train.valid.shape, generator=generator(0)) < 0.5) & DATA.train.valid
    (padded,) = make_removal("pad", DATA).versions(TEXTS, kept)
    inside, outside = net.attend(READER.prepare(TEXTS), kept.float()), net.attend(READER.prepare(padded))
    for got, want in zip(outside, inside, strict=True):
        close(got, want)
    close(net(READER.prepare(padded)), net(READER.prepare(TEXTS), kept.float()))
    assert float(inside[0][DATA.train.valid].detach().min()) > 0  # a hidden word has its place


# --- weights by their formulas ----------------------------------------------------------------------------------------


def slow_softmax(scores: list[float], valid: list[bool]) -> list[float]:
    most = max((s for s, there in zip(scores, valid, strict=True) if there), default=0.0)
    raised = [math.exp(s - most) if there else 0.0 for s, there in zip(scores, valid, strict=True)]
    return [value / (sum(raised) or 1.0) for value in raised]


@pytest.mark.parametrize("scale", [1.0, 50.0, 1e4])
def test_masked_softmax_is_the_softmax_of_what_is_valid(scale: float) -> None:
    scores = torch.randn(20, 7, generator=generator(0)) * scale
    valid = torch.rand(20, 7, generator=generator(1)) < 0.6
    valid[0], valid[1] = False, True
    scores = torch.where(valid, scores, 1e9)  # the highest score must not count where no word is
    want = [slow_softmax(s, v) for s, v in zip(scores.tolist(), valid.tolist(), strict=True)]
    close(masked_softmax(scores, valid), torch.tensor(want))
    assert float(masked_softmax(scores, valid)[~valid].abs().sum()) == 0
    assert masked_softmax(torch.zeros(3, 0), torch.zeros(3, 0, dtype=torch.bool)).shape == (3, 0)


def states_of(n: int = 4, words: int = 5, width: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    states = torch.randn(n, words, width, generator=generator(0))
    return states, torch.arange(words) < torch.tensor([5, 3, 1, 0])[:, None], torch.randn(n, 2, generator=generator(2))


@pytest.mark.parametrize("asked", [False, True])
def test_additive_attention(asked: bool) -> None:
    torch.manual_seed(0)
    states, valid, query = states_of()
    attention = Additive(6, 2 if asked else 0)
    got = attention(states, valid, query if asked else None)
    for i in range(4):
        scores = []
        for t in range(5):
            hidden = attention.key.weight @ states[i, t] + attention.key.bias
            if asked:
                hidden = hidden + attention.ask.weight @ query[i]
            scores.append((attention.score.weight[0] @ hidden.tanh()).item())
        close(got[i], torch.tensor(slow_softmax(scores, valid[i].tolist())))
    assert attention.key.out_features == 3


@pytest.mark.parametrize("asked", [False, True])
def test_scaled_dot_attention(asked: bool) -> None:
    torch.manual_seed(0)
    states, valid, query = states_of()
    attention = ScaledDot(6, 2 if asked else 0)
    got = attention(states, valid, query if asked else None)
    for i in range(4):
        wanted = attention.ask.weight @ query[i] if asked else attention.query
        scores = [((attention.key.weight @ states[i, t]) @ wanted).item() / math.sqrt(6) for t in range(5)]
        close(got[i], torch.tensor(slow_softmax(scores, valid[i].tolist())))


@pytest.mark.parametrize("attention", [Additive, ScaledDot])
def test_another_query_looks_elsewhere(attention: type[nn.Module]) -> None:
    torch.manual_seed(0)
    states, valid, query = states_of()
    net = attention(6, 2)
    first, second = net(states, valid, query), net(states, valid, query[[1, 0, 2, 3]])
    assert not torch.allclose(first[:2], second[:2], atol=1e-3)
    close(first[2:], second[2:])
    first[0].max().backward()
    assert float(net.ask.weight.grad.abs().sum()) > 0


def test_uniform_attention_has_nothing_to_say() -> None:
    states, valid, _ = states_of()
    close(Uniform(6)(states, valid), valid / valid.sum(1, keepdim=True).clamp(min=1))


# --- making one -------------------------------------------------------------------------------------------------------


def test_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = attention_net(READER, 2, "gru", hidden=8, seed=1).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    again, other = (attention_net(READER, 2, "gru", hidden=8, seed=seed).state_dict() for seed in (1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


def test_vectors_start_the_table() -> None:
    vectors = torch.randn(len(KNOWN), 7, generator=generator(0))
    net = attention_net(READER, 2, "pooling", hidden=4, vectors=vectors)
    assert torch.equal(net.embedding.table.weight[HIDDEN + 1 :], vectors[HIDDEN + 1 :])
    assert torch.equal(net.embedding.table.weight[: HIDDEN + 1], torch.zeros(2, 7))
    assert attention_net(READER, 2, "pooling", hidden=4).embedding.table.weight.shape == (len(KNOWN), 100)


def test_attention_over_the_vectors_themselves() -> None:
    vectors = torch.randn(len(KNOWN), 6, generator=generator(0))
    net = attention_net(READER, 2, "pooling", hidden=0, vectors=vectors)
    assert net(IDS).shape == (len(IDS), 2)
    close(net.attend(IDS)[1], net.embedding(IDS))


@pytest.mark.parametrize("kind", ENCODERS)
def test_any_width_will_do(kind: str) -> None:
    assert attention_net(READER, 2, kind, hidden=7)(IDS).shape == (len(IDS), 2)


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown encoder 'bilstn'; did you mean 'bilstm'"):
        attention_net(READER, 2, "bilstn")
    with pytest.raises(InputError, match="unknown attention 'aditive'; did you mean 'additive'"):
        attention_net(READER, 2, score="aditive")  # type: ignore[arg-type]
