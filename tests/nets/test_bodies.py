"""Bodies: states of units, and vectors of what is kept as if nothing else were there."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from nets.samples import REVIEWS, SETS, TEXTS
from unmask.errors import InputError
from unmask.nets import read
from unmask.nets.bodies import Nets, PretrainedBody, WordBody, body
from unmask.nets.pieces import PACKAGE, pieced
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


def test_a_value_that_is_no_number_has_no_part_where_it_is_left_out() -> None:
    net, x, valid = made("table")
    kept = torch.zeros_like(valid).float()
    kept[:, 1] = 1.0
    wild = x.clone()
    wild[:, net.owner == 0] = torch.inf
    assert torch.equal(net.read(wild, kept), net.read(x, kept))


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
    for wrong in (
        {"hidden": 7},
        {"window": 0},
        {"vectors": "fasttext"},
        {"smooth": 2},
        {"spans": 0},
        {"encoder": "bert"},
    ):
        with pytest.raises(InputError):
            Nets(**wrong)
    with pytest.raises(InputError, match="brings its own vectors"):
        Nets(encoder="transformer", vectors="glove")


# --- the pretrained transformer ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pretrained() -> PretrainedBody:
    """One for all tests; its reader is that of the rows asked about."""
    pytest.importorskip("transformers", reason="transformers, of the extra hf, is not installed")
    pytest.importorskip(PACKAGE.replace("-", "_"), reason=f"{PACKAGE}, of the extra hf, is not installed")
    return body(read(SETS["words"]()), Nets(encoder="transformer")).eval()


def of(net: PretrainedBody, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    data = SETS[kind]()
    net.reader = pieced(read(data))
    x = net.reader.prepare(data.train.x)
    return x, net.reader.valid(x)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_a_transformer_has_states_of_units_and_slopes_reach_what_is_kept(pretrained: PretrainedBody, kind: str) -> None:
    x, valid = of(pretrained, kind)
    assert pretrained.states(x).shape == (*valid.shape, 384)
    assert not pretrained.states(x)[~valid].any()
    kept = valid.float().requires_grad_()
    (grad,) = torch.autograd.grad(pretrained.read(x, kept).square().sum(), kept)
    assert (grad.abs().sum(1) > 0)[valid.sum(1) > 1].all()
    nothing = pretrained.read(x, torch.zeros_like(valid).float())
    assert torch.equal(nothing, torch.zeros(len(x), 384))


@pytest.mark.slow
def test_a_transformer_reads_kept_words_as_a_text_of_their_own(pretrained: PretrainedBody) -> None:
    x, valid = of(pretrained, "words")
    kept = torch.zeros_like(valid)
    kept[2, [1, 4, 6]] = True
    alone = pretrained.reader.prepare([[TEXTS[2][i] for i in (1, 4, 6)]])
    assert_close(pretrained.read(x, kept.float())[2], pretrained.states(alone)[0].mean(0), atol=1e-5, rtol=0)


@pytest.mark.slow
def test_a_transformer_reads_each_sentence_on_its_own(pretrained: PretrainedBody) -> None:
    x, valid = of(pretrained, "sentences")
    alone = pretrained.reader.prepare([[REVIEWS[2][2]]])
    assert_close(pretrained.states(x)[2, 2], pretrained.states(alone)[0, 0], atol=1e-5, rtol=0)
    kept = (valid & (torch.arange(valid.shape[1]) % 2 == 0)).float()
    want = torch.stack([pretrained.states(x)[2, 0], pretrained.states(x)[2, 2]]).mean(0)
    assert_close(pretrained.read(x, kept)[2], want, atol=1e-5, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_a_transformer_never_sees_what_is_not_kept(pretrained: PretrainedBody, kind: str) -> None:
    """Bit for bit: words of any length in place of others, and rows that grow, change nothing."""
    x, valid = of(pretrained, kind)
    kept = valid & (torch.arange(valid.shape[1]) % 3 == 1)
    others = ["terrible", "antidisestablishmentarianism", "http://example.org/unbelievable", "x", "soup"]
    with torch.no_grad():
        want = pretrained.read(x, kept.float())
        for turn in range(4):
            rows = [list(row) for row in SETS[kind]().train.x]
            for i, row in enumerate(rows):
                for j in range(len(row)):
                    new = others[(i + j + turn) % len(others)]
                    row[j] = row[j] if kept[i, j] else new if kind == "words" else [new] * (turn + 1)
            changed = [[*row, row[0]] for row in rows]
            got = pretrained.read(pretrained.reader.prepare(changed), torch.nn.functional.pad(kept, (0, 1)).float())
            assert torch.equal(got, want)
