"""Bodies: states of units, and vectors of what is kept as if nothing else were there."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from nets.samples import SETS
from unmask.errors import InputError
from unmask.nets import read
from unmask.nets.bodies import Nets, WordBody, body
from unmask.seeds import seeded

SMALL = Nets(hidden=6, window=3)
KINDS = pytest.mark.parametrize("kind", sorted(SETS))


def made(kind: str) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    data = SETS[kind]()
    reader = read(data)
    with seeded(4):
        net = body(reader, SMALL)
    x = reader.prepare(data.train.x)
    return net, x, reader.valid(x)


@KINDS
def test_shapes_and_units_that_do_not_exist(kind: str) -> None:
    net, x, valid = made(kind)
    states = net.states(x)
    assert states.shape == (*valid.shape, 6)
    assert not states[~valid].any()
    assert net.read(x, valid.float()).shape == (len(x), 6)
    assert torch.isfinite(net.read(x, torch.zeros_like(valid).float())).all()


@KINDS
def test_slopes_reach_what_is_kept(kind: str) -> None:
    net, x, valid = made(kind)
    kept = valid.float().requires_grad_()
    net.read(x, kept).sum().backward()
    assert kept.grad is not None
    assert (kept.grad.abs().sum(1) > 0)[valid.sum(1) > 1].all()  # of one alone the mean is itself, whatever its weight


@pytest.mark.parametrize("kind", sorted(set(SETS) - {"words"}))  # words with slopes are zeroed, not dropped
def test_with_slopes_and_without_the_same_is_read(kind: str) -> None:
    net, x, valid = made(kind)
    kept = (valid & (torch.arange(valid.shape[1]) % 2 == 0)).float()
    assert_close(net.read(x, kept), net.read(x, kept.clone().requires_grad_()).detach())


def test_kept_words_are_read_as_a_text_of_their_own() -> None:
    net, x, valid = made("words")
    kept = torch.zeros_like(valid)
    kept[2, [1, 4, 6]] = True
    alone = x[2, [1, 4, 6]][None]
    assert_close(net.read(x, kept.float())[2], net.read(alone, torch.ones(1, 3))[0])


def test_words_with_slopes_are_zero_vectors_where_not_kept() -> None:
    net, x, _ = made("words")
    assert isinstance(net, WordBody)
    kept = torch.zeros(x.shape)
    kept[2, [1, 4, 6]] = 1
    vectors = net.embedding(x[2:3]) * kept[2][None, :, None]
    parts = [net.encode(vectors[:, i : i + 3], (x[2:3] != 0)[:, i : i + 3])[0] for i in (0, 3, 6)]
    want = torch.cat(parts)[[1, 4, 6]].amax(0)
    assert_close(net.read(x, kept.requires_grad_())[2], want)


def test_kept_sentences_are_averaged() -> None:
    net, x, _ = made("sentences")
    states = net.states(x)
    kept = torch.zeros(x.shape[:2])
    kept[0, [0, 2]] = 1
    assert_close(net.read(x, kept)[0], (states[0, 0] + states[0, 2]) / 2)


def test_windows_are_read_on_their_own() -> None:
    net, x, _ = made("words")
    assert_close(net.states(x[2:3])[:, 3:6], net.states(x[2:3, 3:6]))


def test_settings_are_checked() -> None:
    for wrong in ({"hidden": 7}, {"window": 0}, {"vectors": "fasttext"}, {"smooth": 2}, {"spans": 0}):
        with pytest.raises(InputError):
            Nets(**wrong)
