"""L2X: the loss is the formula, both networks learn, and planted units are found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explainers.samples import SHORT, K, fitted, model, task
from unmask.data import load
from unmask.data.own import dataset
from unmask.data.synthetic import probabilities
from unmask.errors import InputError
from unmask.explainers.l2x import L2X
from unmask.explainers.learned import Batch, drawn
from unmask.models import wrap
from unmask.nets import WordBag, WordNet
from unmask.seeds import generator
from unmask.task import begin
from unmask.training import Recipe, evaluate
from unmask.types import Dataset

NOUNS = tuple(f"noun{i}" for i in range(30))


def built(kind: str, explainer: L2X) -> tuple[L2X, Tensor, Tensor, Tensor]:
    """The networks before any training, in evaluation mode, with rows, the model's answers and valid units."""
    ready = begin(model(kind), task(kind), explainer.k, None)
    explainer.build(ready)
    explainer.selector_.eval()
    explainer.approximator_.eval()
    x = task(kind).train.x
    prepared = ready.reader.prepare(x)
    return explainer, prepared, model(kind)(x), ready.reader.valid(prepared)


def loss(explainer: L2X, x: Tensor, p: Tensor, valid: Tensor, rng: torch.Generator) -> Tensor:
    """One step: draw a mask, then the mean loss of the rows shown through it."""
    batch = Batch(x, p, valid, rng)
    return explainer.choosing(batch, drawn(explainer, batch)).mean()


def seen_masks(explainer: L2X, x: Tensor, p: Tensor, valid: Tensor) -> Tensor:
    """The mask that reaches the approximator in one step."""
    seen: list[Tensor] = []
    handle = explainer.approximator_.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[1].detach()))
    loss(explainer, x, p, valid, generator(1))
    handle.remove()
    assert len(seen) == 1
    return seen[0]


@pytest.mark.parametrize("kind", ["table", "image", "words", "sentences"])
def test_the_loss_is_the_formula(kind: str) -> None:
    """v_j = max_l softmax_j((s_j + g_jl) / tau), loss = mean of -sum_c p_c log q(c | x * v)."""
    explainer, x, p, valid = built(kind, L2X(K, tau=0.7))
    with torch.no_grad():
        got = loss(explainer, x, p, valid, generator(4))
        u = torch.rand(len(x), K, valid.shape[1], generator=generator(4)).clamp(1e-30, 1 - 2**-24)
        want = torch.zeros(())
        for i in range(len(x)):
            s = explainer.selector_(x)[i].masked_fill(~valid[i], -torch.inf)
            draws = torch.stack([((s - (-u[i, draw].log()).log()) / 0.7).softmax(0) for draw in range(K)])
            v = valid[i].float() if int(valid[i].sum()) <= K else draws.amax(0)
            q = explainer.approximator_(x, v.expand(len(x), -1))[i].log_softmax(0)
            want -= (p[i] * q).sum() / len(x)
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("draw", ["k-hot", "gumbel-topk", "noisy-logit-max"])
def test_gradients_reach_both_networks(draw: Any) -> None:
    explainer, x, p, valid = built("table", L2X(K, draw=draw))
    value = loss(explainer, x, p, valid, generator(0))
    for net in (explainer.selector_, explainer.approximator_):
        grads = torch.autograd.grad(value, list(net.parameters()), retain_graph=True)
        assert all(float(g.abs().sum()) > 0 for g in grads)


def test_the_approximator_gets_the_relaxed_mask() -> None:
    mask = seen_masks(*built("image", L2X(K, tau=1.0)))
    assert bool(((mask > 0) & (mask < 1)).all())
    assert bool((mask.sum(1) <= K + 1e-4).all())


def test_straight_through_draws_are_hard() -> None:
    mask = seen_masks(*built("image", L2X(K, draw="gumbel-topk")))
    torch.testing.assert_close(mask, mask.round(), atol=1e-5, rtol=0.0)
    assert mask.round().sum(1).tolist() == [K] * len(mask)


def test_noise_is_fresh_at_each_step() -> None:
    explainer, x, p, valid = built("table", L2X(K))
    rng = generator(0)
    losses = [float(loss(explainer, x, p, valid, rng).detach()) for _ in range(3)]
    assert len(set(losses)) == 3
    assert float(loss(explainer, x, p, valid, generator(0)).detach()) == losses[0]


def test_both_networks_move_in_training() -> None:
    before, *_ = built("table", L2X(K, recipe=SHORT))
    after = fitted("l2x", "table")
    for part in ("selector_", "approximator_"):
        pairs = zip(getattr(before, part).parameters(), getattr(after, part).parameters(), strict=True)
        assert not all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("kind", ["table", "image", "words", "sentences"])
def test_what_is_approximated_is_read_from_hard_masks(kind: str) -> None:
    explainer = fitted("l2x", kind)
    x = task(kind).test.x
    e = explainer.explain(x)
    logits = evaluate(explainer.approximator_, explainer.task_.reader.prepare(x), e.kept.float())
    assert logits.shape == (len(x), 3)
    assert torch.equal(explainer.approximated(x, e.kept), logits.argmax(1))


def test_the_best_epoch_on_validation_is_kept() -> None:
    """With a wild rate the bound goes up and down; what is kept has the first of the highest, on hard selections."""
    data, net = task("table"), model("table")
    explainer = L2X(2, recipe=Recipe(epochs=11, batch=8, rate=0.05)).fit(net, data)
    history = explainer.history_
    x = data.validation.x
    q = evaluate(explainer.approximator_, x, explainer.explain(x).kept.float()).log_softmax(1)
    assert len(history.scores) == 11
    assert history.best == history.scores.index(max(history.scores)) < 10
    assert float((net(x) * q).sum(1).mean()) == pytest.approx(max(history.scores), abs=1e-5)
    assert min(history.scores) < max(history.scores)


def test_the_test_split_is_never_read() -> None:
    data = task("table")
    spoiled = replace(data, test=replace(data.test, x=data.test.x * torch.nan, y=1 - data.test.y))
    again = L2X(K, recipe=SHORT).fit(model("table"), spoiled).explain(data.test.x)
    assert torch.equal(again.scores, fitted("l2x", "table").explain(data.test.x).scores)


def test_another_seed_gives_other_scores() -> None:
    other = L2X(K, recipe=replace(SHORT, seed=1)).fit(model("table"), task("table"))
    x = task("table").test.x
    assert not torch.equal(other.explain(x).scores, fitted("l2x", "table").explain(x).scores)


def test_the_bag_reads_words_only() -> None:
    explainer = L2X(K, approximator="bag", recipe=SHORT).fit(model("words"), task("words"))
    assert isinstance(explainer.approximator_, WordBag)
    assert isinstance(fitted("l2x", "words").approximator_, WordNet)
    for kind in ("table", "image", "sentences"):
        with pytest.raises(InputError, match=f"approximator 'bag' reads words, the data are of kind '{kind}'"):
            L2X(K, approximator="bag", recipe=SHORT).fit(model(kind), task(kind))


def test_the_activation_is_that_of_both_perceptrons() -> None:
    explainer, *_ = built("table", L2X(K, activation="selu"))
    for net in (explainer.selector_, explainer.approximator_):
        assert any(isinstance(m, nn.SELU) for m in net.modules())
        assert not any(isinstance(m, nn.ReLU) for m in net.modules())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"draw": "dice"}, "draw must be one of k-hot, soft-topk, gumbel-topk, noisy-logit-max, got 'dice'"),
        ({"activation": "tanh"}, "activation must be one of relu, selu, got 'tanh'"),
        ({"approximator": "sack"}, "approximator must be default or bag, got 'sack'"),
        ({"tau": 0.0}, "tau must be above 0 and finite, got 0.0"),
        ({"tau": -1.0}, "tau must be above 0 and finite, got -1.0"),
        ({"tau": float("nan")}, "tau must be above 0 and finite, got nan"),
        ({"tau": float("inf")}, "tau must be above 0 and finite, got inf"),
        (
            {"cure": "prayer"},
            "cure must be None or one of pretraining, weighting, weighting-shown, got 'prayer'",
        ),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        L2X(2, **settings)
    assert str(refused.value) == said


def true_xor(x: Any) -> Tensor:
    return probabilities("xor", torch.as_tensor(x))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_two_columns_of_xor_are_found(seed: int) -> None:
    """The published batch of 1000 and weight decay matter: without decay the selector writes the answer instead."""
    data = load("xor", n=20_000)
    recipe = Recipe(epochs=8, batch=1000, rate=1e-3, decay=1e-3, seed=seed)
    e = L2X(2, tau=0.1, recipe=recipe).fit(true_xor, data).explain(data.test.x)
    assert data.test.relevant is not None
    assert float((e.kept & data.test.relevant).sum() / (2 * len(e))) >= 0.9


def spoken(rows: list[list[str]]) -> Tensor:
    total = torch.tensor([[4.0 * ("good" in row), 4.0 * ("bad" in row), 1.0] for row in rows])
    return total.softmax(1)


def planted(n: int) -> Dataset:
    """Five to twelve nouns; "good" or "bad" stands somewhere among them in two rows of three, "plain" in the third."""
    rng, x, y, relevant = generator(3), [], [], torch.zeros(n, 13, dtype=torch.bool)
    for i in range(n):
        row = [NOUNS[j] for j in torch.randint(30, (5 + i % 8,), generator=rng).tolist()]
        place = int(torch.randint(len(row) + 1, (1,), generator=rng))
        x.append([*row[:place], ("good", "bad", "plain")[i % 3], *row[place:]])
        y.append(("good", "bad", "plain")[i % 3])
        relevant[i, place] = True
    return dataset(x, y, kind="words", classes=("good", "bad", "plain"), relevant=relevant)


@pytest.mark.slow
@pytest.mark.parametrize(("approximator", "draw"), [("default", "k-hot"), ("bag", "k-hot"), ("bag", "gumbel-topk")])
def test_a_planted_word_is_found(approximator: Any, draw: Any) -> None:
    data = planted(1500)
    explainer = L2X(2, approximator=approximator, draw=draw, recipe=Recipe(epochs=8, batch=64, rate=3e-3, patience=3))
    e = explainer.fit(wrap(spoken, takes="ids", tokenizer=lambda rows: rows), data).explain(data.test.x)
    assert data.test.relevant is not None
    told = data.test.y < 2  # where the word is "plain" the model goes by what is absent
    found = (e.kept & data.test.relevant).any(1)[told].float().mean()
    assert float(found) >= 0.9
    read = explainer.approximated(data.test.x, e.kept)
    assert float((read == e.target).float().mean()) >= 0.95


# --- variants ---------------------------------------------------------------------------------------------------------


def test_frozen_noise_is_the_same_in_every_batch() -> None:
    """As in the released code for words; what the batch's own generator says does not matter then."""
    valid = torch.ones(4, 9, dtype=torch.bool)
    scores = torch.randn(4, 9, generator=generator(1))

    def drawn_with(noise: Any, seed: int) -> Tensor:
        batch = Batch(torch.zeros(4, 9), torch.zeros(4, 2), valid, generator(seed))
        return L2X(3, noise=noise).drawing(batch, scores)

    assert torch.equal(drawn_with("frozen", 1), drawn_with("frozen", 2))
    assert not torch.equal(drawn_with("fresh", 1), drawn_with("fresh", 2))


@pytest.mark.parametrize(("epoch", "reading"), [("bound", "log-likelihood"), ("model", "fs-m")])
def test_the_epoch_is_chosen_by_the_bound_or_by_the_model(epoch: Any, reading: str) -> None:
    explainer = L2X(K, epoch=epoch, recipe=Recipe(epochs=6, batch=16, rate=1e-2)).fit(model("image"), task("image"))
    values = [found[reading] for found in explainer.curve_]
    assert explainer.history_.best == values.index(max(values))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"epoch": "last"}, "epoch must be one of bound, model"), ({"noise": "old"}, "noise must be fresh or frozen")],
)
def test_variants_that_do_not_exist_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        L2X(K, **wrong)
