"""Encoders: a word's state depends on the words of its own text, on no other row and on nothing beyond its end."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from unmask.nets.encoders import ENCODERS, WINDOWS, Convolutions, Pooling, RecurrentConvolution, _waves, encoder
from unmask.seeds import generator

pytestmark = pytest.mark.slow

E, WIDTH, WORDS = 5, 8, 9
LENGTHS = (4, 1, 9, 0, 3)
EVERY = pytest.mark.parametrize("name", ENCODERS)


def made(name: str, width: int = WIDTH) -> nn.Module:
    torch.manual_seed(0)
    return encoder(name, E, width).eval()


def rows(words: int = WORDS) -> tuple[Tensor, Tensor]:
    """Vectors of texts of LENGTHS words; beyond the end stand large numbers that nobody may look at."""
    vectors = torch.full((len(LENGTHS), words, E), 77.0)
    for i, length in enumerate(LENGTHS):
        vectors[i, :length] = torch.randn(length, E, generator=generator(i))
    return vectors, torch.arange(words) < torch.tensor(LENGTHS)[:, None]


def close(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, atol=1e-6, rtol=0)


@EVERY
@pytest.mark.parametrize("width", [8, 7, 6])
def test_one_state_for_each_word_of_the_width_it_names(name: str, width: int) -> None:
    net, (vectors, valid) = made(name, width), rows()
    states = net(vectors, valid)
    assert states.shape == (len(LENGTHS), WORDS, net.width)
    assert width - 1 <= net.width <= width
    assert float(states[valid].detach().abs().sum(1).min()) > 0
    assert torch.equal(states[~valid], torch.zeros_like(states[~valid]))


@EVERY
@pytest.mark.parametrize("learning", [True, False])
def test_a_row_stands_alone_and_padding_does_not_count(name: str, learning: bool) -> None:
    net, (vectors, valid) = made(name), rows()
    wide, where = rows(WORDS + 6)
    with torch.set_grad_enabled(learning):
        states = net(vectors, valid)
        close(net(wide, where)[:, :WORDS], states)
        for i, length in enumerate(LENGTHS):
            close(net(vectors[i : i + 1, :length], valid[i : i + 1, :length])[0], states[i, :length])


@EVERY
def test_a_state_knows_the_other_words_of_its_text_but_not_those_of_other_rows(name: str) -> None:
    net, (vectors, valid) = made(name), rows()
    vectors.requires_grad_()
    asked = torch.randn(WIDTH, generator=generator(7))
    (slope,) = torch.autograd.grad((net(vectors, valid)[2] @ asked).sum(), vectors)
    assert float(slope[[0, 1, 3, 4]].abs().sum()) == 0
    assert float(slope[2].abs().sum(1).min()) > 1e-4
    (of_one,) = torch.autograd.grad(net(vectors, valid)[2, 4] @ asked, vectors)
    seen = of_one[2].abs().sum(1) > 1e-5
    want = {"pooling": [4], "rnn": range(5), "gru": range(5), "cnn": range(1, 8)}.get(name, range(WORDS))
    assert seen.nonzero()[:, 0].tolist() == list(want)


@EVERY
def test_no_words_and_no_rows_are_no_trouble(name: str) -> None:
    net = made(name)
    for n, words in ((3, 0), (0, 4), (0, 0)):
        assert net(torch.zeros(n, words, E), torch.zeros(n, words, dtype=torch.bool)).shape == (n, words, WIDTH)
    empty = net(torch.full((2, 3, E), 5.0), torch.zeros(2, 3, dtype=torch.bool))
    assert torch.equal(empty, torch.zeros(2, 3, WIDTH))


@EVERY
def test_gradients_reach_every_parameter(name: str) -> None:
    net, (vectors, valid) = made(name), rows()
    target = torch.randn(*valid.shape, WIDTH, generator=generator(9))
    ((net.train()(vectors, valid) - target) ** 2).sum().backward()
    unreached = [p for p, value in net.named_parameters() if not float(value.grad.abs().sum()) > 0]
    assert unreached == []
    assert all(bool(value.grad.isfinite().all()) for value in net.parameters())


def test_pooling_looks_at_each_word_alone() -> None:
    vectors, valid = rows()
    net = made("pooling")
    dense = net.project[0]
    for i, length in enumerate(LENGTHS):
        for t in range(length):
            close(net(vectors, valid)[i, t], torch.tanh(dense.weight @ vectors[i, t] + dense.bias))
    plain = Pooling(E, 0)
    assert plain.width == E
    assert torch.equal(plain(vectors, valid), torch.where(valid[..., None], vectors, 0.0))


def walked(cell: nn.Module, words: Tensor, tail: str = "l0") -> Tensor:
    """The states of a plain recurrent layer, word by word."""
    inner, outer, bias, more = (getattr(cell, f"{n}_{tail}") for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    state, states = torch.zeros(outer.shape[1]), []
    for word in words:
        state = torch.tanh(inner @ word + bias + outer @ state + more)
        states.append(state)
    return torch.stack(states)


def test_a_recurrent_state_is_that_of_the_words_so_far() -> None:
    net, (vectors, valid) = made("rnn"), rows()
    close(net(vectors, valid)[2], walked(net.cell, vectors[2]))


def test_both_directions_share_the_width() -> None:
    net, (vectors, valid) = made("bilstm"), rows()
    forth, back = net(vectors, valid)[0, :4].chunk(2, -1)
    close(forth, net.cell(vectors[:1, :4])[0][0, :, : WIDTH // 2])
    turned = net(vectors[:1, :4].flip(1), valid[:1, :4])[0, :, WIDTH // 2 :].flip(0)
    assert forth.shape == back.shape == (4, WIDTH // 2)
    assert not torch.allclose(back, turned, atol=1e-4)  # one reads from the left, the other from the right


def contexts(vectors: Tensor, valid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What an RCNN mixes at each word: left context, word, right context."""
    torch.manual_seed(0)
    net = RecurrentConvolution(E, WIDTH)
    net.mix = nn.Sequential(nn.Identity())
    left, word, right = net(vectors, valid).split([WIDTH // 2, E, WIDTH // 2], -1)
    return left, word, right


def test_the_contexts_of_an_rcnn_are_those_of_the_neighbours() -> None:
    vectors, valid = rows()
    left, word, right = contexts(vectors, valid)
    assert torch.equal(word[valid], vectors[valid])
    torch.manual_seed(0)
    cell = RecurrentConvolution(E, WIDTH).context.cell
    for i, length in enumerate(LENGTHS):
        none = torch.zeros(1, WIDTH // 2)
        if length:
            close(left[i, :length], torch.cat([none, walked(cell, vectors[i, :length])[:-1]]))
            back = walked(cell, vectors[i, :length].flip(0), "l0_reverse").flip(0)
            close(right[i, :length], torch.cat([back[1:], none]))


@pytest.mark.parametrize("t", range(LENGTHS[0]))
def test_the_contexts_of_an_rcnn_do_not_hold_the_word_itself(t: int) -> None:
    vectors, valid = rows()
    other = vectors.clone()
    other[0, t] += 1.0
    (left, _, right), (moved_left, _, moved_right) = contexts(vectors, valid), contexts(other, valid)
    changed_left = (left != moved_left).any(-1)[0].nonzero()[:, 0].tolist()
    changed_right = (right != moved_right).any(-1)[0].nonzero()[:, 0].tolist()
    assert changed_left == list(range(t + 1, LENGTHS[0]))
    assert changed_right == list(range(t))


def test_convolutions_slide_windows_over_the_text() -> None:
    net, (vectors, valid) = made("cnn"), rows()
    assert isinstance(net, Convolutions)
    want = torch.zeros(LENGTHS[0], WIDTH)
    for t in range(LENGTHS[0]):
        found = []
        for layer, window in zip(net.layers, WINDOWS, strict=True):
            value = layer.bias.clone()
            for j in range(window):
                at = t + j - window // 2
                if 0 <= at < LENGTHS[0]:
                    value = value + layer.weight[:, :, j] @ vectors[0, at]
            found.append(value.relu())
        want[t] = torch.cat(found)
    close(net(vectors, valid)[0, : LENGTHS[0]], want)


def test_waves_tell_the_place() -> None:
    waves = _waves(4, 6)
    for t in range(4):
        for i in range(3):
            angle = t / 10_000 ** (2 * i / 6)
            assert math.isclose(float(waves[t, 2 * i]), math.sin(angle), abs_tol=1e-6)
            assert math.isclose(float(waves[t, 2 * i + 1]), math.cos(angle), abs_tol=1e-6)
    assert _waves(4, 5).shape == (4, 5)


def test_self_attention_knows_the_order_of_words() -> None:
    net = made("self-attention")
    vectors, valid = rows()[0][2:3], torch.ones(1, WORDS, dtype=torch.bool)
    assert not torch.allclose(net(vectors.flip(1), valid).flip(1), net(vectors, valid), atol=1e-3)
