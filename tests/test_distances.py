"""Distances of answers and of attention vectors against scipy, their formulas and slow loops."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy
from scipy.stats import rankdata, spearmanr
from torch import Tensor

from unmask.distances import conicity, entropy, jsd, kl, overlap, ranks, spearman, tvd, tvd_legacy
from unmask.errors import InputError
from unmask.seeds import generator

WORDS = 9
LENGTHS = torch.tensor([9, 5, 1, 7, 2, 0])
VALID = torch.arange(WORDS) < LENGTHS[:, None]
THERE = range(5)  # rows with at least one word


def weights(seed: int, scale: float = 2.0) -> Tensor:
    """Attention over the valid words of each row."""
    scores = scale * torch.randn(len(LENGTHS), WORDS, generator=generator(seed))
    return scores.exp() * VALID / (scores.exp() * VALID).sum(1, keepdim=True).clamp(min=1e-9)


def answers(seed: int, classes: int = 3, n: int = 50) -> Tensor:
    return (2 * torch.randn(n, classes, generator=generator(seed))).softmax(1)


# --- answers ----------------------------------------------------------------------------------------------------------


def test_tvd_is_half_the_sum_over_all_classes() -> None:
    p, q = answers(0, 5), answers(1, 5)
    want = [sum(abs(a - b) for a, b in zip(x, y, strict=True)) / 2 for x, y in zip(p.tolist(), q.tolist(), strict=True)]
    torch.testing.assert_close(tvd(p, q), torch.tensor(want))
    assert torch.equal(tvd(p, q), tvd(q, p))
    assert torch.equal(tvd(p, p), torch.zeros(50))


def test_tvd_goes_from_0_to_1() -> None:
    sure = torch.eye(4)
    assert tvd(sure, sure.roll(1, 0)).tolist() == [1.0] * 4
    assert tvd(torch.tensor([[0.3, 0.7]]), torch.tensor([[0.6, 0.4]])).item() == pytest.approx(0.3)
    assert bool((tvd(answers(2), answers(3)) <= 1).all())


@pytest.mark.parametrize("batch", [1, 10, 25, 32, 100])
def test_the_published_forms(batch: int) -> None:
    p, q = answers(0, 2), answers(1, 2)
    halves, crosses = [], []
    for a, b in zip(p[:, 1].tolist(), q[:, 1].tolist(), strict=True):
        halves.append(0.5 * abs(a - b))
        sure = 1 / (1 + math.exp(-b))  # b, a probability, taken for a logit
        crosses.append(-a * math.log(sure) - (1 - a) * math.log(1 - sure))
    for form, each in (("batch-sum", halves), ("bce", crosses)):
        full = [sum(each[start : start + batch]) for start in range(0, 50 - 50 % batch, batch)]
        found = tvd_legacy(p, q, form, batch)  # type: ignore[arg-type]
        torch.testing.assert_close(found, torch.tensor(each) * batch)
        if 50 % batch == 0:  # the mean over examples is that of full batches
            assert float(found.mean()) == pytest.approx(sum(full) / len(full), rel=1e-5)


def test_a_batch_sum_is_half_of_the_true_distance() -> None:
    p, q = answers(0, 2), answers(1, 2)
    torch.testing.assert_close(tvd_legacy(p, q, "batch-sum", 1), tvd(p, q) / 2)
    torch.testing.assert_close(tvd_legacy(p, q, "batch-sum"), tvd(p, q) * 16)
    assert tvd_legacy(p[:0], q[:0], "batch-sum").shape == (0,)


def test_the_cross_entropy_form_is_never_near_0() -> None:
    side = torch.linspace(0, 1, 101)
    a, b = (part.flatten() for part in torch.meshgrid(side, side, indexing="ij"))
    each = tvd_legacy(torch.stack([1 - a, a], 1), torch.stack([1 - b, b], 1), "bce", 1)
    assert float(each.min()) == pytest.approx(math.log(1 + math.e) - 1, abs=1e-6)  # 0.313
    assert float(each.max()) == pytest.approx(math.log(1 + math.e), abs=1e-6)  # 1.313
    same = torch.stack([1 - side, side], 1)
    assert float(tvd_legacy(same, same, "bce", 1).min()) > 0.313
    assert float(tvd_legacy(same, same, "bce", 1).max()) == pytest.approx(0.7651, abs=1e-3)


def test_what_the_published_forms_cannot_do_is_said() -> None:
    with pytest.raises(InputError, match="the published TVD is for two classes, got 3; use tvd"):
        tvd_legacy(answers(0), answers(1), "bce")
    with pytest.raises(InputError, match="form must be batch-sum or bce, got 'mean'"):
        tvd_legacy(answers(0, 2), answers(1, 2), "mean")  # type: ignore[arg-type]


# --- attention --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.1, 2.0, 20.0])
def test_jsd_is_the_square_of_scipys_distance(scale: float) -> None:
    a, b = weights(0, scale), weights(1, scale)
    got = jsd(a, b, VALID)
    for i in THERE:
        n = int(LENGTHS[i])
        want = jensenshannon(a[i, :n].double().numpy(), b[i, :n].double().numpy()) ** 2
        assert float(got[i]) == pytest.approx(want, abs=1e-6)
    assert float(got[5]) == 0.0  # no word, no distance
    torch.testing.assert_close(jsd(b, a, VALID), got)
    assert torch.equal(jsd(a, a, VALID), torch.zeros(len(LENGTHS)))


def test_jsd_goes_from_0_to_log_2() -> None:
    a, b = torch.tensor([[0.5, 0.5, 0.0, 0.0], [1, 0, 0, 0]]), torch.tensor([[0.0, 0.0, 0.3, 0.7], [0, 0, 0, 1]])
    valid = torch.ones(2, 4, dtype=torch.bool)
    torch.testing.assert_close(jsd(a, b, valid), torch.full((2,), math.log(2)))
    nearly = a.clone()
    nearly[0, 0] += 1e-4
    assert 0 <= float(jsd(nearly, a, valid)[0]) < 1e-6


def test_what_is_no_word_does_not_count() -> None:
    a, b = weights(0), weights(1)
    junk = torch.where(VALID, 0.0, 3.0)
    for measure in (jsd(a + junk, b, VALID) - jsd(a, b, VALID), entropy(a + junk, VALID) - entropy(a, VALID)):
        assert torch.equal(measure, torch.zeros(len(LENGTHS)))
    assert torch.equal(overlap(a + junk, b, 3, VALID), overlap(a, b, 3, VALID))


def test_jsd_can_be_learned_from_even_where_weights_are_0() -> None:
    a, b = weights(0), weights(1)
    a[0, 2], b[0, 3], a[1, 1], b[1, 1] = 0.0, 0.0, 0.0, 0.0
    a.requires_grad_()
    (slope,) = torch.autograd.grad(jsd(a, b, VALID).sum(), a)
    assert bool(slope.isfinite().all())
    want = ((a / ((a + b) / 2)).log() / 2).detach()  # of the divergence, where both are above 0
    both = (a > 0) & (b > 0)
    torch.testing.assert_close(slope[both], want[both])


def test_kl_is_scipys_and_finite_where_nothing_is_left() -> None:
    a, b = weights(0), weights(1)
    for i in THERE:
        n = int(LENGTHS[i])
        assert float(kl(a, b, VALID)[i]) == pytest.approx(scipy_entropy(a[i, :n], b[i, :n]), abs=1e-5)
    assert torch.equal(kl(a, a, VALID), torch.zeros(len(LENGTHS)))
    junk = torch.where(VALID, 0.0, 3.0)
    assert torch.equal(kl(a + junk, b, VALID), kl(a, b, VALID))
    one, other = torch.tensor([[1.0, 0.0]], requires_grad=True), torch.tensor([[0.0, 1.0]])
    far = kl(one, other, torch.ones(1, 2, dtype=torch.bool))
    assert far.item() == pytest.approx(-math.log(torch.finfo(torch.float32).tiny))
    assert bool(torch.autograd.grad(far.sum(), one)[0].isfinite().all())


def test_conicity_is_the_mean_cosine_with_the_mean() -> None:
    states = torch.randn(len(LENGTHS), WORDS, 4, generator=generator(0))
    got = conicity(states, VALID)
    for i in THERE:
        own = states[i, : int(LENGTHS[i])]
        mean = own.mean(0)
        want = sum(abs(float(h @ mean / (h.norm() * mean.norm()))) for h in own) / len(own)
        assert float(got[i]) == pytest.approx(want, abs=1e-5)
    assert float(got[5]) == 0.0  # no word
    assert float(got[2]) == pytest.approx(1.0, abs=1e-6)  # a single word is its mean
    scales = torch.rand(len(LENGTHS), WORDS, 1, generator=generator(1)) + 0.1
    torch.testing.assert_close(conicity(scales * states[:, :1], VALID)[:5], torch.ones(5))
    junk = torch.where(VALID[..., None], states, 99.0)
    torch.testing.assert_close(conicity(junk, VALID), got)


def test_entropy_is_scipys_over_the_log_of_the_length() -> None:
    a = weights(0)
    for i in (0, 1, 3, 4):
        n = int(LENGTHS[i])
        assert float(entropy(a, VALID)[i]) == pytest.approx(scipy_entropy(a[i, :n].numpy()) / math.log(n), abs=1e-6)
    assert entropy(a, VALID)[[2, 5]].tolist() == [0.0, 0.0]  # one word, no word
    even = VALID / LENGTHS.clamp(min=1)[:, None]
    torch.testing.assert_close(entropy(even, VALID)[[0, 1, 3, 4]], torch.ones(4))
    assert torch.equal(entropy(torch.eye(6, WORDS) * 1.0, torch.ones(6, WORDS, dtype=torch.bool)), torch.zeros(6))


def slow_top(row: list[float], n: int, k: int) -> set[int]:
    return set(sorted(range(n), key=lambda j: (-row[j], j))[:k])


@pytest.mark.parametrize("k", [1, 3, 7, 20])
def test_overlap_is_the_share_of_common_heaviest_words(k: int) -> None:
    a, b = (weights(seed).mul(8).round() for seed in (0, 1))  # many ties
    for i in THERE:
        n = int(LENGTHS[i])
        common = slow_top(a[i].tolist(), n, k) & slow_top(b[i].tolist(), n, k)
        assert float(overlap(a, b, k, VALID)[i]) == pytest.approx(len(common) / min(k, n))
    assert overlap(a, a, k, VALID).tolist() == [1.0] * 5 + [0.0]
    assert torch.equal(overlap(a, b, k, VALID), overlap(b, a, k, VALID))


def test_overlap_at_its_ends() -> None:
    a, b = torch.tensor([[3.0, 2.0, 1.0, 0.0]]), torch.tensor([[0.0, 1.0, 2.0, 3.0]])
    valid = torch.ones(1, 4, dtype=torch.bool)
    assert [overlap(a, b, k, valid).item() for k in (1, 2, 4)] == [0.0, 0.0, 1.0]
    assert overlap(a, b, 3, valid).item() == pytest.approx(2 / 3)


def test_ties_go_to_the_lowest_index() -> None:
    valid = torch.ones(1, 4, dtype=torch.bool)
    even, first, last = torch.ones(1, 4), torch.tensor([[2.0, 2, 1, 1]]), torch.tensor([[1.0, 1, 2, 2]])
    assert overlap(even, first, 2, valid).item() == 1.0
    assert overlap(even, last, 2, valid).item() == 0.0


@pytest.mark.parametrize("rounded", [False, True])
def test_ranks_and_their_correlation_are_scipys(rounded: bool) -> None:
    a, b = weights(3), weights(4)
    if rounded:
        a, b = (4 * a).round(), (4 * b).round()
    found = spearman(a, b, VALID)
    for i, length in enumerate(LENGTHS.tolist()):
        x, y = a[i, :length].numpy(), b[i, :length].numpy()
        for dense, method in ((False, "average"), (True, "dense")):
            own = ranks(a, VALID, dense)[i]
            assert own[:length].tolist() == rankdata(x, method).tolist()
            assert not own[length:].any()
        if length < 2 or len(set(x)) < 2 or len(set(y)) < 2:
            assert bool(found[i].isnan())
        else:
            assert float(found[i]) == pytest.approx(spearmanr(x, y).statistic, abs=1e-5)


def test_dense_ranks_correlate_otherwise_where_there_are_ties() -> None:
    a, b = torch.tensor([[0.0, 0.0, 0.0, 1.0, 2.0]]), torch.tensor([[0.0, 1.0, 2.0, 2.0, 3.0]])
    there = torch.ones(1, 5, dtype=torch.bool)
    by_hand = torch.corrcoef(torch.tensor([[1.0, 1, 1, 2, 3], [1, 2, 3, 3, 4]]))[0, 1]
    torch.testing.assert_close(spearman(a, b, there, dense=True)[0], by_hand)
    assert float((spearman(a, b, there)[0] - by_hand).abs()) > 0.01
