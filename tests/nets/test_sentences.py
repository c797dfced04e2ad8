"""Sentences: each is read on its own, and hiding one is cutting it out."""

from __future__ import annotations

import torch
from torch import Tensor

from nets.samples import REVIEWS, SETS
from unmask.masking.removals import make_removal
from unmask.nets import SentenceNet, SentenceSelector, read
from unmask.seeds import generator

DATA = SETS["sentences"]()
READER = read(DATA)


def made(sees_mask: bool = False) -> SentenceNet:
    torch.manual_seed(0)
    return SentenceNet(READER, 2, 8, 12, sees_mask=sees_mask).eval()


def random_kept(seed: int = 0) -> Tensor:
    return (torch.rand(DATA.train.valid.shape, generator=generator(seed)) < 0.5) & DATA.train.valid


def test_cutting_outside_is_hiding_inside() -> None:
    net = made()
    for seed in range(5):
        kept = random_kept(seed)
        (cut,) = make_removal("delete", DATA).versions(REVIEWS, kept)
        inside, outside = net(READER.prepare(REVIEWS), kept.float()), net(READER.prepare(cut))
        torch.testing.assert_close(outside, inside, atol=1e-6, rtol=1e-5)


def test_all_cut_out_is_nothing_kept() -> None:
    net, nothing = made(), torch.zeros(1, 3, dtype=torch.bool)
    (cut,) = make_removal("delete", DATA).versions(REVIEWS[:1], nothing)
    assert cut == [[]]
    torch.testing.assert_close(net(READER.prepare(cut)), net(READER.prepare(REVIEWS[:1]), nothing.float()))


def test_the_answer_is_that_of_the_mean_sentence() -> None:
    net, x, kept = made(), READER.prepare(REVIEWS), random_kept()
    for i, row in enumerate(REVIEWS):
        alone = [net.read(READER.prepare([[sentence]]))[0, 0] for j, sentence in enumerate(row) if kept[i, j]]
        mean = torch.stack(alone).mean(0) if alone else torch.zeros(12)
        torch.testing.assert_close(net(x, kept.float())[i], net.head(mean), atol=1e-6, rtol=1e-5)


def test_the_order_of_sentences_does_not_matter_but_that_of_words_does() -> None:
    net = made()
    with torch.no_grad():
        net.read.embedding.table.weight.mul_(20)
    row = REVIEWS[2]
    torch.testing.assert_close(net(READER.prepare([row])), net(READER.prepare([row[::-1]])))
    turned = [sentence[::-1] for sentence in row]
    assert not torch.allclose(net(READER.prepare([row])), net(READER.prepare([turned])), atol=1e-5)


def test_a_hidden_sentence_that_is_seen_adds_its_vector() -> None:
    net, x = made(sees_mask=True), READER.prepare(REVIEWS[:1])
    kept = torch.tensor([[1.0, 0.0, 0.0]])
    blind = net(x, kept)
    with torch.no_grad():
        net.hidden.fill_(0.5)
    vector = net.read(x)[0, 0] + 2 * 0.5
    torch.testing.assert_close(net(x, kept)[0], net.head(vector))
    assert not torch.allclose(net(x, kept), blind)


def test_a_selector_reads_each_sentence_and_its_neighbours() -> None:
    torch.manual_seed(0)
    net = SentenceSelector(READER, 8, 12).eval()
    with torch.no_grad():
        net.read.embedding.table.weight.mul_(20)
    x = READER.prepare(REVIEWS[2:3])
    assert net(x).shape == (1, 4)
    assert not torch.allclose(net(x), net(x.flip(1)).flip(1), atol=1e-5)
