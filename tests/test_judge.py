"""The judge on a planted task whose answers are known: unit 0 decides, the five others say nothing."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from nets.samples import SETS, dataset, grid, values
from unmask.judge import Counting, Judge, Rows, _temperature, judge_net, mixed_sizes, train_judge
from unmask.masking import subsets
from unmask.nets import PixelNet, Reader, SentenceSet, TableNet, WordSet, read
from unmask.seeds import generator
from unmask.training import Recipe, evaluate, soft_cross_entropy
from unmask.types import Layout

D = 6
LAYOUT = Layout("table", (D,), tuple(range(D)), tuple(f"x{i}" for i in range(D)))
READER = Reader(LAYOUT, torch.zeros(D), torch.ones(D))
RECIPE = Recipe(epochs=12, batch=64, rate=3e-3, patience=5)


def planted(n: int, prior: float = 0.5, seed: int = 0) -> Rows:
    """Rows of +-1; the target is 1 where the first value is +1, which happens with chance `prior`."""
    rng = generator(seed)
    x = torch.where(torch.rand(n, D, generator=rng) < 0.5, 1.0, -1.0)
    x[:, 0] = torch.where(torch.rand(n, generator=rng) < prior, 1.0, -1.0)
    return Rows(x, (x[:, 0] > 0).long(), torch.ones(n, D, dtype=torch.bool))


def coded(n: int, seed: int, permute: bool = False) -> Rows:
    """The mask shows a single useless unit, 1 or 2, and which of them tells the target; permuted, it tells nothing."""
    rows = planted(n, seed=seed)
    order = torch.randperm(n, generator=generator(seed + 100)) if permute else torch.arange(n)
    kept = torch.zeros(n, D, dtype=torch.bool)
    kept[torch.arange(n), 1 + rows.target[order]] = True
    return Rows(rows.x, rows.target, rows.valid, kept)


def accuracy(judge: Judge, rows: Rows, kept: Tensor) -> float:
    found = judge.log_probabilities(rows.x, kept).argmax(1)
    return float((found == rows.target).float().mean())


@pytest.mark.slow
def test_random_masks_are_judged_as_well_as_can_be() -> None:
    draw = lambda valid, rng: subsets.uniform(valid, 2, rng)  # noqa: E731
    judge = train_judge(judge_net(READER, 2, 0), planted(1200, 0.7, 1), planted(400, 0.7, 2), draw, RECIPE)
    test = planted(3000, 0.7, 3)
    kept = draw(test.valid, generator(4))
    shown = kept[:, 0]
    law = 1 / 3 + 2 / 3 * 0.7  # unit 0 is shown in a third of the masks, otherwise the larger class is the best guess
    assert accuracy(judge, test, kept) == pytest.approx(law, abs=0.025)
    assert accuracy(judge, Rows(test.x[shown], test.target[shown], test.valid[shown]), kept[shown]) > 0.99
    log_p = judge.log_probabilities(test.x, kept)
    torch.testing.assert_close(log_p.exp().sum(1), torch.ones(3000))
    hidden = log_p[~shown].exp()
    assert float(hidden[:, 1].mean()) == pytest.approx(0.7, abs=0.05)


def gain(judge: Judge, rows: Rows, kept: Tensor) -> float:
    """Nats told about a fair coin: log p(target) + log 2. (Which side of one half an empty answer falls on is luck.)"""
    log_p = judge.log_probabilities(rows.x, kept)
    return float(log_p[torch.arange(len(log_p)), rows.target].mean()) + math.log(2)


@pytest.mark.slow
def test_random_masks_teach_no_code() -> None:
    judge = train_judge(judge_net(READER, 2, 0), planted(2000, seed=1), planted(500, seed=2), mixed_sizes(1), RECIPE)
    test = coded(2000, 3)
    assert test.kept is not None
    assert abs(gain(judge, test, test.kept)) < 0.1  # of 0.69
    honest = torch.zeros_like(test.kept)
    honest[:, 0] = True
    assert gain(judge, test, honest) > 0.65
    assert accuracy(judge, test, honest) > 0.99


@pytest.mark.slow
def test_own_masks_teach_the_code_and_permuted_ones_do_not() -> None:
    test = coded(2000, 3)
    assert test.kept is not None
    told = []
    for permute in (False, True):
        rows, held_out = coded(1200, 1, permute), coded(500, 2, permute)
        judge = train_judge(judge_net(READER, 2, 0), rows, held_out, None, RECIPE)
        told.append(gain(judge, test, test.kept))
    assert told[0] > 0.68
    assert abs(told[1]) < 0.06


def test_soft_targets_are_matched() -> None:
    def soft(rows: Rows) -> Rows:
        p = 0.5 + 0.3 * rows.x[:, 0]
        return Rows(rows.x, torch.stack([1 - p, p], 1), rows.valid)

    everything = lambda valid, rng: valid  # noqa: E731
    judge = train_judge(
        judge_net(READER, 2, 0), soft(planted(800, seed=1)), soft(planted(200, seed=2)), everything, RECIPE
    )
    test = soft(planted(500, seed=3))
    torch.testing.assert_close(judge.log_probabilities(test.x, test.valid).exp(), test.target, atol=0.06, rtol=0)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_the_temperature_undoes_a_known_scale(scale: float) -> None:
    log_p = torch.randn(5000, 3, generator=generator(0)).mul(2).log_softmax(1)
    assert _temperature(scale * log_p, log_p.exp()) == pytest.approx(scale, rel=0.02)


def test_a_few_rows_that_are_all_right_do_not_make_a_judge_sure_of_everything() -> None:
    logits = torch.tensor([[1.0, -1.0]]).expand(40, 2)  # right in all of forty rows: the likelihood asks for 0
    right = torch.zeros(40, dtype=torch.long)
    assert 0.5 < _temperature(logits, right) < 0.8
    assert _temperature(logits.repeat(100, 1), right.repeat(100)) < 0.3


def test_the_temperature_never_raises_the_held_out_loss() -> None:
    rows, held_out = coded(100, 1, permute=True), coded(200, 2, permute=True)
    assert held_out.kept is not None
    net = judge_net(READER, 2, 0)
    judge = train_judge(net, rows, held_out, None, Recipe(epochs=8, batch=16, rate=1e-2))
    raw = evaluate(net, held_out.x, held_out.kept.float())
    before = soft_cross_entropy(raw, held_out.target).mean()
    after = soft_cross_entropy(raw / judge.temperature, held_out.target).mean()
    assert float(after) <= float(before) + 1e-6
    assert judge.temperature != 1.0
    got = judge.log_probabilities(held_out.x, held_out.kept)
    torch.testing.assert_close(got, (raw / judge.temperature).log_softmax(1))


def test_a_seed_fixes_the_judge() -> None:
    def outcome(seed: int) -> Tensor:
        recipe = Recipe(epochs=2, batch=64, seed=seed)
        judge = train_judge(judge_net(READER, 2, 7), planted(200, seed=1), planted(100, seed=2), mixed_sizes(2), recipe)
        return judge.log_probabilities(planted(50, seed=3).x, planted(50).valid)

    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = outcome(0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    assert torch.equal(first, outcome(0))
    assert not torch.equal(first, outcome(1))


def test_mixed_sizes_are_half_of_k_and_half_of_any() -> None:
    n, k = 6000, 2
    valid = (torch.arange(D) < 5).expand(n, -1)
    kept = mixed_sizes(k)(valid, generator(0))
    assert not bool((kept & ~valid).any())
    want = torch.tensor([0.5 * (s == k) + 0.5 / 5 for s in range(1, 6)]) * n
    assert (
        chisquare(kept.sum(1).bincount(minlength=6)[1:].numpy(), want.double().numpy(), sum_check=False).pvalue > 1e-3
    )
    assert chisquare(kept.sum(0)[:5].numpy()).pvalue > 1e-3


def test_a_judge_without_masks_is_refused() -> None:
    rows, paired = planted(20), coded(20, 0)
    for learn, stop in ((rows, rows), (rows, paired), (paired, rows)):
        with pytest.raises(TypeError, match="needs a law over masks, or rows that carry their own"):
            train_judge(judge_net(READER, 2, 0), learn, stop, None, RECIPE)


def test_rows_are_taken_with_their_masks() -> None:
    rows, index = coded(10, 0), torch.tensor([7, 2])
    part = rows.at(index)
    assert rows.kept is not None
    assert part.kept is not None
    for name in ("x", "target", "valid", "kept"):
        assert torch.equal(getattr(part, name), getattr(rows, name)[index])
    assert planted(10).at(index).kept is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [("table", TableNet), ("grey", TableNet), ("patches", TableNet), ("words", WordSet), ("sentences", SentenceSet)],
)
def test_every_kind_has_a_network_that_sees_the_mask(name: str, kind: type) -> None:
    data = SETS[name]()
    net = judge_net(read(data), 3, seed=0)
    assert isinstance(net, Counting)
    assert isinstance(net.net, kind)
    net.eval()
    x = read(data).prepare(data.train.x)[:1]
    d = int(data.train.valid[0].sum())
    same = x.clone()
    same[:] = x[:, :1] if x.ndim == 3 or name == "words" else 0.0  # every unit holds the same
    one, other = (net(same, torch.eye(data.train.valid.shape[1])[i : i + 1]) for i in (0, d - 1))
    assert not torch.allclose(one, other)
    x = read(data).prepare(data.train.x)
    assert net(x, data.train.valid.float()).shape == (len(x), 3)


def test_large_images_are_read_by_a_convolution() -> None:
    layout = grid(3, 40)
    net = judge_net(read(dataset(layout, values(layout, 2))), 2, seed=0)
    assert isinstance(net, Counting)
    assert isinstance(net.net, PixelNet)
    assert net.net.sees_mask


def test_rows_of_different_width_are_joined_by_padding() -> None:
    a = Rows(torch.ones(2, 3).long(), torch.zeros(2).long(), torch.ones(2, 3).bool(), torch.ones(2, 3).bool())
    b = Rows(torch.ones(1, 5).long(), torch.ones(1).long(), torch.ones(1, 5).bool(), torch.zeros(1, 5).bool())
    both = a.joined(b)
    assert both.x.tolist() == [[1, 1, 1, 0, 0]] * 2 + [[1] * 5]
    assert both.kept is not None
    assert both.kept.sum(1).tolist() == [3, 3, 0]
    assert both.valid.sum(1).tolist() == [3, 3, 5]
    assert a.joined(None) is a


@pytest.mark.slow
def test_a_judge_counts_the_units_it_is_shown() -> None:
    """A code of three or four units, drawn at random: nothing else tells the class."""

    def counted(n: int, seed: int) -> Rows:
        rng, target = generator(seed), torch.arange(n) % 2
        valid = torch.ones(n, D, dtype=torch.bool)
        return Rows(torch.randn(n, D, generator=rng), target, valid, subsets.uniform(valid, 3 + target, rng))

    judge = train_judge(judge_net(READER, 2, 0), counted(400, 1), counted(100, 2), None, RECIPE)
    fresh = counted(400, 3)
    assert fresh.kept is not None
    assert accuracy(judge, fresh, fresh.kept) > 0.95


def test_the_number_of_units_says_nothing_at_first_and_then_what_it_was_taught() -> None:
    net = judge_net(READER, 2, 0).eval()
    x, kept = planted(4, seed=1).x, torch.ones(4, D)
    assert isinstance(net, Counting)
    with torch.no_grad():
        torch.testing.assert_close(net(x, kept), net.net(x, kept))
        net.told.weight.copy_(torch.randn(net.told.weight.shape, generator=generator(0)))
        assert not torch.allclose(net(x, kept), net.net(x, kept))
