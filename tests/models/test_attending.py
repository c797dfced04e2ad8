"""The attention protocol: ours, anybody's through a named submodule, and the sentence where there is none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.theirs import SHAPES, Theirs, theirs
from nets.samples import SETS, TEXTS
from unmask.errors import InputError
from unmask.models.attending import (
    RADIUS,
    Attentive,
    Shift,
    attentive,
    embedding_of,
    looked,
    padding,
    reach,
    shaken,
    sloping,
)
from unmask.nets import read
from unmask.nets.attention import AttentionNet, attention_net
from unmask.seeds import generator

pytestmark = pytest.mark.slow

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0], [9, 3, 11, 0]])
NAME = "words.look"
ANY = pytest.mark.parametrize("shape", SHAPES)


def hooks(module: nn.Module) -> int:
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules())


def ours() -> tuple[AttentionNet, Tensor]:
    reader = read(SETS["words"]())
    vectors = torch.randn(len(reader.vocabulary), 6, generator=generator(0))
    return attention_net(reader, 3, "bilstm", hidden=8, vectors=vectors).eval(), reader.prepare(TEXTS)


def refused(module: nn.Module, name: str | None = None, x: Tensor = IDS) -> str:
    with pytest.raises(InputError) as caught:
        attentive(module, x, name)
    assert hooks(module) == 0
    return str(caught.value)


# --- weights out, weights in ------------------------------------------------------------------------------------------


@ANY
def test_weights_are_caught_whatever_their_shape(shape: str) -> None:
    net = theirs(shape)
    weights, states = attentive(net, IDS, NAME).attend(IDS)
    scores = (net.vectors(IDS) @ net.words["look"].score.weight[0]).masked_fill(IDS == 0, -1e9)
    torch.testing.assert_close(weights, scores.softmax(1))
    assert states is IDS
    assert hooks(net) == 0


@ANY
def test_the_answer_is_the_one_under_other_weights(shape: str) -> None:
    net = theirs(shape)
    model = attentive(net, IDS, NAME)
    own, states = model.attend(IDS)
    assert torch.equal(model.answer(states, own), net(IDS))
    other = torch.rand(IDS.shape, generator=generator(1))
    for i in range(len(IDS)):
        mixed = sum(float(other[i, t]) * net.vectors(IDS)[i, t] for t in range(IDS.shape[1]))
        torch.testing.assert_close(model.answer(states, other)[i], net.head(mixed))
    turned = other.T.contiguous().T  # not contiguous
    assert torch.equal(model.answer(states, turned), model.answer(states, other))
    assert hooks(net) == 0


@ANY
def test_gradients_flow_from_the_answer_to_the_weights(shape: str) -> None:
    net = theirs(shape)
    weights = torch.rand(IDS.shape, generator=generator(1)).requires_grad_()
    logits = attentive(net, IDS, NAME).answer(IDS, weights)
    (slope,) = torch.autograd.grad(logits[:, 1].sum(), weights)
    torch.testing.assert_close(slope, net.vectors(IDS) @ net.head.weight[1])


@ANY
def test_weights_and_answer_come_from_one_run(shape: str) -> None:
    net, runs = theirs(shape), []
    net.register_forward_hook(lambda *_: runs.append(1))
    model = Attentive(net, net.words["look"], hooked=True)
    raw, weights = model.look(IDS)
    assert len(runs) == 1
    assert torch.equal(raw, net(IDS))
    assert torch.equal(weights, model.attend(IDS)[0])


def test_our_own_nets_are_taken_at_their_word() -> None:
    net, x = ours()
    model = attentive(net, x)
    assert (model.module, model.attention, model.hooked) == (net, net.attention, False)
    weights, states = model.attend(x)
    assert torch.equal(weights, net.attend(x)[0])
    assert torch.equal(model.answer(states, weights), net(x))
    for got, want in zip(model.look(x), (net(x), weights), strict=True):
        assert torch.equal(got, want)
    caught = attentive(net, x, "attention")  # the same through its submodule
    torch.testing.assert_close(caught.attend(x)[0], weights)
    other = weights.flip(0)
    torch.testing.assert_close(caught.answer(x, other), model.answer(states, other))


def test_the_parameters_beside_attention() -> None:
    net = theirs()
    model = attentive(net, IDS, NAME)
    assert {id(p) for p in model.rest()} == {id(net.vectors.weight), id(net.head.weight), id(net.head.bias)}
    bare = attentive(Plain(), IDS)  # has no part called attention
    assert len(bare.rest()) == len(list(bare.module.parameters())) == 1


class Plain(nn.Module):
    """Keeps the protocol, with nothing that could be called attention."""

    def __init__(self, spoil: Callable[[Tensor], Tensor] = lambda w: w) -> None:
        super().__init__()
        self.vectors, self.spoil = nn.Embedding(12, 3), spoil

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.full(x.shape, 1 / x.shape[1]), self.vectors(x)

    def answer(self, states: Tensor, weights: Tensor) -> Tensor:
        return (states * weights[..., None]).sum(1)

    def forward(self, x: Tensor) -> Tensor:
        weights, states = self.attend(x)
        return self.answer(states, self.spoil(weights))


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_module_without_the_protocol_needs_a_name() -> None:
    assert refused(theirs()) == (
        "Theirs has no methods attend and answer; name the submodule that gives out the attention weights, "
        "one of: vectors, words, words.look, words.look.score, head"
    )


@pytest.mark.parametrize("name", ["attention", ""])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    assert refused(theirs(), name) == (
        f"Theirs has no submodule {name!r}; it has: vectors, words, words.look, words.look.score, head"
    )


class Twice(Theirs):
    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids) + super().forward(ids.flip(1))


class Unused(Theirs):
    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.vectors(ids).mean(1))


@pytest.mark.parametrize(("kind", "times"), [(Twice, 2), (Unused, 0)])
def test_attention_must_run_once(kind: type[Theirs], times: int) -> None:
    assert refused(kind(), NAME) == (
        f"the named attention module must run once and give out one tensor, it ran {times} times; "
        "name the module whose output is the weights"
    )


class Pair(nn.Module):
    def forward(self, h: Tensor) -> Any:
        return h.mean(-1).softmax(1), h


class Paired(Theirs):
    def __init__(self) -> None:
        super().__init__()
        self.words["look"] = Pair()

    def forward(self, ids: Tensor) -> Tensor:
        w, h = self.words["look"](self.vectors(ids))
        return self.head((h * w[..., None]).sum(1))


def test_attention_must_be_one_tensor() -> None:
    assert "must run once and give out one tensor" in refused(Paired(), NAME)


class Doubled(Theirs):
    """Changes the weights in place after the named module gave them out."""

    def forward(self, ids: Tensor) -> Tensor:
        h = self.vectors(ids)
        return self.head((h * self.words["look"](h).mul_(2.0)[..., None]).sum(1))


def test_weights_that_are_changed_afterwards_are_refused() -> None:
    torch.manual_seed(0)
    told = refused(Doubled(), NAME)
    assert told.startswith("putting the attention weights back changes the answer by ")
    assert told.endswith("name the module whose output is used as it is, and once")


def test_an_answer_that_is_not_that_of_the_module_is_refused() -> None:
    torch.manual_seed(0)
    attentive(Plain(), IDS)
    assert "putting the attention weights back changes the answer" in refused(Plain(lambda w: w + 0.01))
    assert "changes the answer by nan" in refused(Plain(lambda w: w * torch.nan))


def test_what_cannot_be_attention_is_refused() -> None:
    assert refused(theirs(), "vectors") == (
        "the named module gives out a tensor of shape (3, 4, 4); attention weights are (rows, units)"
    )
    negative, cubic = Plain(), Plain()
    negative.attend = lambda x: (torch.full(x.shape, -0.5), negative.vectors(x))  # type: ignore[method-assign]
    cubic.attend = lambda x: (torch.ones(*x.shape, 1), cubic.vectors(x))  # type: ignore[method-assign]
    want = "attention weights must be (rows, units) and not negative, got shape "
    assert refused(negative) == want + "(3, 4)"
    assert refused(cubic) == want + "(3, 4, 1)"


# --- nothing is left behind -------------------------------------------------------------------------------------------


class Breaking(Theirs):
    def forward(self, ids: Tensor) -> Tensor:
        super().forward(ids)
        raise ArithmeticError("no")


def test_hooks_are_gone_after_an_exception() -> None:
    net = Breaking()
    model = Attentive(net, net.words["look"], hooked=True)
    for run in (
        lambda: model.attend(IDS),
        lambda: model.look(IDS),
        lambda: model.answer(IDS, torch.ones(IDS.shape)),
        lambda: attentive(net, IDS, NAME),
    ):
        with pytest.raises(ArithmeticError):
            run()
        assert hooks(net) == 0
    with pytest.raises(ArithmeticError), Shift(net.vectors):
        net(IDS)
    assert hooks(net) == 0


def test_trying_out_leaves_every_mode_as_it_was() -> None:
    net = nn.Sequential(theirs(), nn.Dropout(0.9)).train()
    net[0].head.eval()
    attentive(net, IDS, "0.words.look")  # with dropout on, the answers would differ
    assert [name for name, part in net.named_modules() if not part.training] == ["0.head"]


def test_no_rows_at_all_are_no_trouble() -> None:
    net, x = ours()
    assert attentive(net, x[:0]).module is net
    assert attentive(theirs(), IDS[:0], NAME).hooked


def test_all_rows_are_looked_at_in_any_batches() -> None:
    net = theirs()
    model = attentive(net, IDS, NAME)
    raw, weights = looked(model, IDS)
    torch.testing.assert_close(raw, net(IDS).detach())
    torch.testing.assert_close(weights, model.attend(IDS)[0].detach())
    for got, want in zip(looked(model, IDS, batch=2), (raw, weights), strict=True):
        torch.testing.assert_close(got, want)
    assert not raw.requires_grad
    assert [tuple(part.shape) for part in looked(model, IDS[:0])] == [(0, 3), (0, 4)]


def test_looking_leaves_every_mode_as_it_was_even_after_an_exception() -> None:
    for net in (Breaking(), theirs()):
        net.train()
        net.head.eval()
        model = Attentive(net, net.words["look"], hooked=True)
        with nullcontext() if type(net) is Theirs else pytest.raises(ArithmeticError):
            looked(model, IDS)
        assert [name for name, part in net.named_modules() if not part.training] == ["head"]


# --- the embedding and its shifts -------------------------------------------------------------------------------------


def test_the_embedding_is_found() -> None:
    net = theirs()
    assert embedding_of(net) is net.vectors
    assert embedding_of(net, "words.look") is net.words["look"]
    mine, _ = ours()
    assert embedding_of(mine) is mine.embedding.table
    with pytest.raises(InputError) as caught:
        embedding_of(net, "table")
    assert str(caught.value) == (
        "Theirs has no submodule 'table'; it has: vectors, words, words.look, words.look.score, head"
    )
    with pytest.raises(InputError) as caught:
        embedding_of(nn.Sequential(nn.Linear(2, 2)))
    assert str(caught.value) == "Sequential has no nn.Embedding; it has: 0"


def by_hand(net: Theirs, vectors: Tensor) -> Tensor:
    w = net.words["look"](vectors).flatten(1)
    return net.head((vectors * w[..., None]).sum(1))


def test_a_shift_moves_the_vectors() -> None:
    net = theirs()
    by = torch.randn(*IDS.shape, 4, generator=generator(2))
    plain = net(IDS)
    with Shift(net.vectors, by):
        torch.testing.assert_close(net(IDS), by_hand(net, net.vectors.weight[IDS] + by))
    with Shift(net.vectors, lambda vectors: vectors * 2):
        torch.testing.assert_close(net(IDS), by_hand(net, net.vectors.weight[IDS] * 3))
    assert torch.equal(net(IDS), plain)
    assert hooks(net) == 0


def test_an_open_shift_gives_the_gradient_at_the_vectors() -> None:
    net = theirs()
    with Shift(net.vectors) as shift:
        said = net(IDS)
    assert torch.equal(said, net(IDS))
    (got,) = torch.autograd.grad(said[:, 2].exp().sum(), shift.delta)
    vectors = net.vectors.weight[IDS].detach().requires_grad_()
    (want,) = torch.autograd.grad(by_hand(net, vectors)[:, 2].exp().sum(), vectors)
    torch.testing.assert_close(got, want)
    assert float(got.abs().sum()) > 0


def test_a_frozen_table_still_has_a_gradient() -> None:
    net = theirs().requires_grad_(False)
    with Shift(net.vectors) as shift:
        said = net(IDS)
    assert float(torch.autograd.grad(said.sum(), shift.delta)[0].abs().sum()) > 0


def test_shifts_can_be_nested() -> None:
    net = theirs()
    by = torch.randn(*IDS.shape, 4, generator=generator(2))
    moved = (net.vectors.weight[IDS] + by).detach().requires_grad_()
    with Shift(net.vectors, by), Shift(net.vectors) as after:
        said = net(IDS)
    torch.testing.assert_close(said, by_hand(net, moved))
    (got,) = torch.autograd.grad(said.sin().sum(), after.delta)  # the gradient at the moved vectors
    torch.testing.assert_close(got, torch.autograd.grad(by_hand(net, moved).sin().sum(), moved)[0])
    with Shift(net.vectors, by), Shift(net.vectors, lambda vectors: -vectors):  # the inner one sees the outer one
        assert torch.equal(net.vectors(IDS), torch.zeros(*IDS.shape, 4))
    assert hooks(net) == 0


# --- which table holds the words --------------------------------------------------------------------------------------


class Placed(nn.Module):
    """Places first, and more of them than words."""

    def __init__(self) -> None:
        super().__init__()
        self.places, self.words, self.out = nn.Embedding(50, 4), nn.Embedding(20, 4), nn.Linear(4, 2)

    def forward(self, ids: Tensor) -> Tensor:
        here = torch.arange(ids.shape[1]).expand_as(ids)
        return self.out((self.places(here) + self.words(ids)).mean(1))


def test_the_table_of_words_is_the_one_that_reads_the_rows() -> None:
    net = Placed()
    assert embedding_of(net, x=IDS) is net.words
    assert embedding_of(net, "places", IDS) is net.places
    assert hooks(net) == 0
    assert embedding_of(net) is net.places  # without rows nobody can tell: the first


# --- noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spread", "far"), [(1.0, RADIUS), (0.45, RADIUS), (0.056, 0.007), (0.0, 0.0)])
def test_noise_is_small_beside_the_vectors(spread: float, far: float) -> None:
    table = nn.Embedding.from_pretrained(torch.tensor([[-1.0, 1.0]] * 500) * spread)
    assert reach(table) == pytest.approx(far, abs=1e-5)
    assert reach(nn.Identity()) == RADIUS


def test_what_is_no_word_is_not_moved() -> None:
    net, valid = theirs(next(iter(SHAPES))), IDS != 0
    still = padding(IDS, valid)
    assert still.tolist() == [0]
    before = net.vectors(IDS).detach()
    with Shift(net.vectors, torch.ones_like(before), still):
        moved = net.vectors(IDS).detach() - before
    torch.testing.assert_close(moved, valid[..., None].float().expand_as(moved))
    with Shift(net.vectors, still=still) as shift:
        (slope,) = torch.autograd.grad(net.vectors(IDS).sum(), shift.delta)
    torch.testing.assert_close(slope, valid[..., None].float().expand_as(slope))


def test_an_id_that_is_a_word_somewhere_is_moved() -> None:
    assert padding(IDS, torch.ones_like(IDS, dtype=torch.bool)).tolist() == []
    assert padding(torch.tensor([[1, 0], [0, 2]]), torch.tensor([[True, False], [True, True]])).tolist() == []


class Unpacked(nn.Module):
    """Reads its padding too, as many a model does."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.read = nn.Embedding(12, 6), nn.GRU(6, 6, batch_first=True, bidirectional=True)
        self.score, self.out = nn.Linear(12, 1), nn.Linear(12, 2)

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        states = self.read(self.table(x))[0]
        return self.score(states)[..., 0].masked_fill(x == 0, -1e9).softmax(1), states

    def answer(self, states: Tensor, weights: Tensor) -> Tensor:
        found: Tensor = self.out((states * weights[..., None]).sum(1))
        return found

    def forward(self, x: Tensor) -> Tensor:
        weights, states = self.attend(x)
        return self.answer(states, weights)


def test_noise_leaves_padding_alone() -> None:
    """Rows of padding but for one word: with that word's vector moved by nothing, attention and answer stay."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = attentive(Unpacked(), IDS)
    x = torch.tensor([[3, 0, 0, 0, 0, 0]])
    before = looked(model, x)
    with Shift(model.module.table, torch.ones(1, 6, 6), padding(x, x != 0)):  # type: ignore[arg-type]
        raw = looked(model, x)[0]
    with Shift(model.module.table, torch.tensor([1.0] + [0.0] * 5)[None, :, None].expand(1, 6, 6)):  # type: ignore[arg-type]
        only = looked(model, x)[0]
    torch.testing.assert_close(raw, only)
    assert not torch.allclose(raw, before[0])
    loud, quiet = shaken(model, x, 0, 0.5)[0], shaken(model, x, 0, 0.5, x != 0)[0]
    assert not torch.allclose(loud, quiet)


def test_gradients_are_taken_in_evaluation_mode_and_modes_come_back() -> None:
    net = theirs(next(iter(SHAPES))).train()
    with sloping(net):
        assert not net.training
        assert not torch.backends.cudnn.enabled
    assert net.training
    assert torch.backends.cudnn.enabled
