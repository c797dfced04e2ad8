"""Copies that learn: their rows, random attention, and which parameters decide where to look."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from attention.planted import UNITS, Blind, Free, blind, coin, corpus, shortcut
from attention.samples import model, net, task
from unmask.attention.pupils import Pupil, dirichlet, looking, pupil
from unmask.errors import InputError
from unmask.models import wrap
from unmask.nets import read
from unmask.nets.attention import attention_net
from unmask.seeds import generator
from unmask.training import soft_cross_entropy


def test_random_attention_is_uniform_on_the_simplex() -> None:
    """Of d weights that are Dirichlet(1), each has mean 1/d and P(weight > t) = (1 - t)^(d - 1)."""
    valid = torch.tensor([[True, True, False, True]]).expand(20_000, 4)
    drawn = dirichlet(valid, generator(0))
    torch.testing.assert_close(drawn.sum(1), torch.ones(len(valid)))
    assert not drawn[:, 2].any()
    torch.testing.assert_close(drawn.mean(0), torch.tensor([1 / 3, 1 / 3, 0, 1 / 3]), atol=0.01, rtol=0)
    for t in (0.2, 0.5, 0.8):
        assert float((drawn[:, 0] > t).float().mean()) == pytest.approx((1 - t) ** 2, abs=0.015)
    assert torch.equal(drawn, dirichlet(valid, generator(0)))
    assert not torch.equal(drawn, dirichlet(valid, generator(1)))


def test_a_row_without_positions_gets_no_weight() -> None:
    assert dirichlet(torch.zeros(2, 3, dtype=torch.bool), generator(0)).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("hooked", [False, True])
def test_the_rows_of_a_pupil(hooked: bool) -> None:
    made = model(hooked)
    own = pupil(made, task())
    assert own.model.module is not made.module
    assert torch.equal(own.train.valid, task().train.valid)
    assert torch.equal(own.held.y, task().validation.y)
    assert own.train.index.tolist() == list(range(len(own.train.y)))


def test_a_model_says_itself_which_positions_it_has() -> None:
    own = pupil(shortcut(), corpus())
    assert own.train.valid.shape == (len(corpus().train), 9)
    assert own.train.valid.all()
    assert pupil(blind(True), coin()).train.valid.shape[1] == UNITS


class Mute(nn.Module):
    """A model that does not say which positions it has."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Blind(Free())
        self.attend, self.answer = self.inner.attend, self.inner.answer

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)  # type: ignore[no-any-return]


def test_weights_without_positions_are_refused() -> None:
    with pytest.raises(InputError, match=r"attention has 6 weights for 7 words; .* positions\(x\)"):
        pupil(wrap(Mute(), outputs="logits", device="cpu"), coin())


def ids(parameters: object) -> set[int]:
    return {id(p) for p in parameters}  # type: ignore[attr-defined]


@pytest.mark.parametrize("hooked", [False, True])
def test_the_attention_is_found(hooked: bool) -> None:
    own = pupil(model(hooked), task())
    assert looking(own) is own.model.attention


def test_all_that_asks_is_attention() -> None:
    own = pupil(shortcut(), corpus())
    names = {n for n, p in own.model.module.named_parameters() if id(p) in ids(looking(own).parameters())}
    assert names == {n for n, _ in own.model.module.named_parameters() if n.startswith("attention.")}


class Theirs(nn.Module):
    """Somebody's model: its scores are made before the softmax, which is the module that gives out the weights."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.table, self.score, self.head = nn.Embedding(words, 8), nn.Linear(8, 1), nn.Linear(8, 3)
        self.softmax = nn.Softmax(1)

    def forward(self, x: Tensor) -> Tensor:
        states = self.table(x)
        weights = self.softmax(self.score(states)[..., 0].masked_fill(x == 0, -1e9))
        return self.head((states * weights[..., None]).sum(1))  # type: ignore[no-any-return]


def theirs() -> Pupil:
    reader = read(task())
    assert reader.vocabulary is not None
    torch.manual_seed(0)
    made = wrap(
        Theirs(len(reader.vocabulary)),
        takes="ids",
        tokenizer=reader.prepare,
        outputs="logits",
        device="cpu",
        attention="softmax",
    )
    return pupil(made, task())


def test_scores_are_found_where_the_named_module_has_no_parameters() -> None:
    own = theirs()
    assert ids(looking(own).parameters()) == ids(own.model.module.score.parameters())  # type: ignore[union-attr]


def test_uniform_attention_has_nothing_to_learn() -> None:
    made = attention_net(read(task()), 3, "gru", hidden=8, score="uniform")
    with pytest.raises(InputError, match="nothing to learn about where to look"):
        looking(pupil(wrap(made, device="cpu"), task()))


def test_the_loss_is_that_of_the_labels() -> None:
    own = pupil(wrap(net(), device="cpu"), task())
    x, y, valid, index = (t[:8] for t in own.train.all)
    want = soft_cross_entropy(own.model.module(x), y).mean()
    torch.testing.assert_close(own.usual(x, y, valid, index, generator(0)), want)


def test_probabilities_are_turned_into_logs() -> None:
    class Says(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.net.attend(x)

        def answer(self, states: Tensor, weights: Tensor) -> Tensor:
            return self.net.answer(states, weights).softmax(1)

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x).softmax(1)  # type: ignore[no-any-return]

    reader = read(task())
    own = pupil(wrap(Says(), takes="ids", tokenizer=reader.prepare, outputs="probabilities", device="cpu"), task())
    logits = pupil(wrap(net(), device="cpu"), task())
    rows = [t[:8] for t in own.train.all]
    torch.testing.assert_close(own.usual(*rows, generator(0)), logits.usual(*rows, generator(0)))


def test_the_held_out_score_is_a_mean_over_rows_and_the_same_each_time() -> None:
    own = pupil(model(), task())

    def loss(x: Tensor, y: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
        return own.loss(own.model.attend(x)[1], dirichlet(valid, rng), y).mean()

    assert own.held_out(loss, 0) == own.held_out(loss, 0) != own.held_out(loss, 1)
    want = soft_cross_entropy(own.model.module(own.held.x), own.held.y).mean()
    assert own.held_out(own.usual, 0) == pytest.approx(-float(want.detach()), abs=1e-5)
