"""Words: what is hidden inside a network is what padding hides outside."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nets.samples import SETS, TEXTS
from unmask.errors import InputError
from unmask.masking.removals import MASK, PAD, make_removal
from unmask.nets import Reader, WordBag, WordNet, WordSelector, WordSet, read
from unmask.nets.words import WordEmbedding, convolve, crop, pool_max, spread
from unmask.seeds import generator
from unmask.training import Recipe, minimize, soft_cross_entropy

DATA = SETS["words"]()
READER = read(DATA)
NETS = {
    "net": lambda: WordNet(READER, 2, 8, 12),
    "seeing": lambda: WordNet(READER, 2, 8, 12, sees_mask=True),
    "bag": lambda: WordBag(READER, 2, 8, 12),
    "set": lambda: WordSet(READER, 2, 8, 12),
}


def random_kept(seed: int = 0) -> Tensor:
    return (torch.rand(DATA.train.valid.shape, generator=generator(seed)) < 0.5) & DATA.train.valid


def trained(name: str) -> nn.Module:
    """A network after a few steps, when the special rows of its embedding could have moved."""
    torch.manual_seed(0)
    net, x, y = NETS[name](), READER.prepare(TEXTS), DATA.train.y

    def loss(x: Tensor, y: Tensor, kept: Tensor, rng: torch.Generator) -> Tensor:
        return soft_cross_entropy(net(x, kept), y).mean()

    recipe = Recipe(epochs=5, batch=5, rate=0.05, decay=1e-3)
    minimize({"net": (net, loss)}, (x, y, random_kept(1).float()), recipe)
    return net.eval()


@pytest.mark.parametrize("name", NETS)
def test_padding_outside_is_hiding_inside(name: str) -> None:
    net, kept = trained(name), random_kept()
    (padded,) = make_removal("pad", DATA).versions(TEXTS, kept)
    inside, outside = net(READER.prepare(TEXTS), kept.float()), net(READER.prepare(padded))
    torch.testing.assert_close(outside, inside, atol=0, rtol=0)
    assert not torch.allclose(inside, net(READER.prepare(TEXTS)))


def test_a_mask_token_is_a_word_like_others() -> None:
    torch.manual_seed(0)
    net = WordNet(READER, 2, 8, 12).eval()
    hidden, masked = READER.prepare([["soup", PAD]]), READER.prepare([["soup", MASK]])
    assert not torch.allclose(net(hidden), net(masked))


def test_the_bag_is_the_mean_of_what_is_kept() -> None:
    torch.manual_seed(0)
    net, x, kept = WordBag(READER, 2, 8, 12).eval(), READER.prepare(TEXTS), random_kept()
    for i, row in enumerate(x):
        vectors = [net.embedding.table.weight[row[j]] for j in range(len(row)) if kept[i, j]]
        mean = torch.stack(vectors).mean(0) if vectors else torch.zeros(8)
        torch.testing.assert_close(net(x, kept.float())[i], net.head(mean))


def test_the_bag_is_blind_to_order_and_the_net_is_not() -> None:
    torch.manual_seed(0)
    x = READER.prepare([TEXTS[2]])
    bag, net = NETS["bag"]().eval(), NETS["net"]().eval()
    torch.testing.assert_close(bag(x), bag(x.flip(1)))
    assert not torch.allclose(net(x), net(x.flip(1)), atol=1e-6)


def test_the_end_and_hidden_words_are_zero_vectors() -> None:
    torch.manual_seed(0)
    embedding = WordEmbedding(READER, 6)
    assert torch.equal(embedding(torch.tensor([[0, 1]])), torch.zeros(1, 2, 6))
    assert float(embedding.table.weight.detach().abs().max()) <= 0.05
    with torch.no_grad():
        embedding.table.weight[:2] = 7.0  # even had they moved
    assert torch.equal(embedding(torch.tensor([[0, 1]])), torch.zeros(1, 2, 6))


def test_a_seen_hidden_word_is_a_vector_of_its_own() -> None:
    embedding = WordEmbedding(READER, 3, sees_mask=True)
    with torch.no_grad():
        embedding.hidden.copy_(torch.tensor([1.0, 2.0, 3.0]))
    ids, kept = torch.tensor([[4, 4, 1, 0]]), torch.tensor([[0.0, 0.25, 1.0, 0.0]])
    hidden, word = embedding.hidden, embedding.table.weight[4]
    want = torch.stack([hidden, 0.75 * hidden + 0.25 * word, hidden, torch.zeros(3)])[None]
    torch.testing.assert_close(embedding(ids, kept), want)


def test_hidden_words_give_their_vectors_no_gradient() -> None:
    torch.manual_seed(0)
    net = WordNet(READER, 2, 8, 12).eval()
    x, kept = READER.prepare([["kind", "waiter"]]), torch.tensor([[1.0, 0.0]])
    (grad,) = torch.autograd.grad(net(x, kept).sum(), net.embedding.table.weight)
    assert float(grad[x[0, 0]].abs().sum()) > 0
    assert float(grad[x[0, 1]].abs().sum()) == 0


def test_pooling_is_the_maximum_over_what_is_there() -> None:
    features = torch.tensor([[[1.0, 0.0], [3.0, 2.0], [9.0, 9.0]]])
    assert pool_max(features, torch.tensor([[True, True, False]])).tolist() == [[3.0, 2.0]]
    assert pool_max(torch.zeros(2, 0, 3), torch.zeros(2, 0, dtype=torch.bool)).tolist() == [[0.0] * 3] * 2


def test_a_convolution_slides_over_three_words() -> None:
    layer = nn.Conv1d(1, 1, 3, padding=1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[[1.0, 10.0, 100.0]]]))
    assert convolve(layer, torch.tensor([[[1.0], [2.0], [-3.0]]]))[0, :, 0].tolist() == [210.0, 0.0, 0.0]
    assert convolve(layer, torch.zeros(2, 0, 1)).shape == (2, 0, 1)


def test_a_reader_without_words_is_refused() -> None:
    with pytest.raises(TypeError, match="needs a reader with a vocabulary"):
        WordEmbedding(Reader(DATA.layout, torch.empty(0), torch.empty(0)), 3)


def test_the_set_knows_words_and_places_and_nothing_hidden() -> None:
    torch.manual_seed(0)
    net, words = WordSet(READER, 2, 8, 12).eval(), list(READER.vocabulary.words[:4])
    texts = [words, [words[1], words[0], *words[2:]], [words[0], words[3], words[2], words[1]]]
    kept = torch.tensor([[1.0, 1.0, 0.0, 0.0]] * 2 + [[1.0, 0.0, 0.0, 0.0]])
    said = net(READER.prepare(texts), kept)
    assert not torch.allclose(said[0], said[1])  # the same two words, exchanged
    alone = net(READER.prepare([words]), kept[2:])
    torch.testing.assert_close(said[2:], alone)  # only the first word is shown, whatever stands behind it


def test_vectors_fill_the_table_but_not_its_special_rows() -> None:
    torch.manual_seed(0)
    embedding = WordEmbedding(READER, 6)
    vectors = torch.randn(*embedding.table.weight.shape, generator=generator(0), dtype=torch.float64)
    embedding.set_vectors(vectors)
    assert torch.equal(embedding.table.weight[:2], torch.zeros(2, 6))
    assert torch.equal(embedding.table.weight[2:], vectors[2:].float())
    assert embedding.table.weight.requires_grad
    assert torch.equal(embedding(torch.tensor([[4, 0, 1]])).detach()[0, 0], vectors[4].float())


@pytest.mark.parametrize("shape", [(3, 6), (1, 6), (-1, 1), (-1, 7)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    embedding = WordEmbedding(READER, 6)
    words = len(READER.vocabulary)
    given = (words if shape[0] < 0 else shape[0], shape[1])
    before = embedding.table.weight.detach().clone()
    with pytest.raises(InputError) as refused:
        embedding.set_vectors(torch.ones(given))
    assert str(refused.value) == (f"vectors must be ({words}, 6), one row for each word of the vocabulary, got {given}")
    assert torch.equal(embedding.table.weight, before)


def test_what_is_the_same_everywhere_is_multiplied_once() -> None:
    layer, rng = nn.Linear(7, 3), generator(0)
    overall, local = torch.randn(2, 4, generator=rng), torch.randn(2, 5, 3, generator=rng)
    both = torch.cat([overall[:, None].expand(-1, 5, -1), local], -1)
    torch.testing.assert_close(spread(layer, overall, local), layer(both))


def test_only_positions_beyond_every_end_are_cut() -> None:
    ids = torch.tensor([[4, 5, 0, 0], [4, 5, 6, 0]])
    kept = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    short, shown = crop(ids, kept)
    assert short.tolist() == [[4, 5, 0], [4, 5, 6]]
    assert shown is not None
    assert shown.shape == short.shape
    assert crop(ids, None)[1] is None
    assert crop(ids[:0], None)[0].shape == (0, 0)
    assert crop(torch.tensor([[4, 0, 6, 0]]), None)[0].tolist() == [[4, 0, 6]]


def test_scores_differ_from_word_to_word_and_are_zero_beyond_the_end() -> None:
    torch.manual_seed(0)
    x = nn.functional.pad(READER.prepare(TEXTS), (0, 3))
    valid = x != 0
    usual, lively = (WordSelector(READER, lively=lively).eval()(x) for lively in (False, True))
    assert usual.shape == lively.shape == valid.shape
    assert not usual[~valid].any()
    assert not lively[~valid].any()
    assert usual[valid].std() < 0.05 < 0.2 < lively[valid].std()  # the draw's noise is about 1.3


@pytest.mark.parametrize(("words", "width"), [(1, 3), (7, 3), (7, 5), (0, 3)])
def test_a_convolution_is_torchs_with_its_slopes(words: int, width: int) -> None:
    layer = nn.Conv1d(6, 4, width, padding=width // 2)
    ours, theirs = (torch.randn(3, words, 6, generator=generator(0)).requires_grad_() for _ in range(2))
    found = convolve(layer, ours)
    assert found.shape == (3, words, 4)
    if not words:
        return
    wanted = layer(theirs.transpose(1, 2)).transpose(1, 2).relu()
    torch.testing.assert_close(found, wanted)
    weights = []
    for made, rows in ((found, ours), (wanted, theirs)):
        slopes = torch.autograd.grad(made.square().sum(), (rows, layer.weight), retain_graph=True)
        weights.append(slopes)
    torch.testing.assert_close(weights[0], weights[1], rtol=1e-4, atol=1e-5)
