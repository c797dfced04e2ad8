"""Random masks know nothing, and a reader that learned from them cannot be told the answer by the choice."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explainers.planted import coin
from explainers.samples import KINDS, SHORT, K, model, task
from unmask.explainers import cures, learned
from unmask.explainers.l2x import L2X
from unmask.explainers.meed import MEED
from unmask.explainers.pretraining import pretrain, random_masks, whole
from unmask.judge import half_any_size
from unmask.masking import relax
from unmask.seeds import generator
from unmask.training import Recipe

pytestmark = pytest.mark.slow  # many small fits

N = 4000


def is_hard(mask: Tensor) -> Tensor:
    return ((mask == 0) | (mask == 1)).all(1)


def some(n: int = N, d: int = 8) -> Tensor:
    """Rows of every length from one unit on."""
    return torch.arange(d) <= torch.arange(n)[:, None] % d


# --- random masks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", ["k-hot", "noisy-logit-max"])
def test_half_of_the_masks_are_hard_with_k_units(draw: Any) -> None:
    valid = torch.ones(N, 8, dtype=torch.bool)
    mask = random_masks(L2X(3, draw=draw))(valid, generator(0))
    hard = is_hard(mask)
    assert float(hard.float().mean()) == pytest.approx(0.5, abs=0.03)
    assert mask[hard].sum(1).unique().tolist() == [3.0]
    torch.testing.assert_close(mask[hard].mean(0), torch.full((8,), 3 / 8), atol=0.05, rtol=0)


def test_the_other_half_has_the_law_of_the_explainers_own_draw() -> None:
    """The mean of a relaxed k-hot under random scores of random width, made slowly."""
    valid = torch.ones(N, 8, dtype=torch.bool)
    mask = random_masks(L2X(3, tau=0.7))(valid, generator(0))
    soft = mask[~is_hard(mask)]
    assert bool(((soft > 0) & (soft < 1)).any(1).all())
    assert bool((soft.sum(1) <= 3 + 1e-4).all())
    rng = generator(9)
    wide = 1 + 9 * torch.rand(N, 1, generator=rng)
    want = relax.k_hot(wide * torch.randn(N, 8, generator=rng), 3, 0.7, rng, valid)
    assert float(soft.sum(1).mean()) == pytest.approx(float(want.sum(1).mean()), abs=0.05)
    assert float(soft.amax(1).mean()) == pytest.approx(float(want.amax(1).mean()), abs=0.01)
    torch.testing.assert_close(soft.mean(0), want.mean(0), atol=0.05, rtol=0)


@pytest.mark.parametrize("draw", relax.DRAWS)
def test_random_masks_stay_within_the_row(draw: Any) -> None:
    valid = some()
    mask = random_masks(L2X(3, draw=draw))(valid, generator(0))
    assert bool((mask[~valid] == 0).all())
    assert bool(mask.isfinite().all())
    left = random_masks(L2X(3, draw=draw), left=True)(valid, generator(0))
    assert bool((left[~valid] == 0).all())


@pytest.mark.parametrize("draw", relax.DRAWS)
def test_the_other_side_is_the_complement(draw: Any) -> None:
    valid = some()
    kept, left = (random_masks(L2X(3, draw=draw), side)(valid, generator(4)) for side in (False, True))
    torch.testing.assert_close(kept + left, valid.float())


def test_with_sizes_hard_masks_come_in_any_size() -> None:
    valid = torch.ones(N, 8, dtype=torch.bool)
    mask = random_masks(L2X(3), sizes=True)(valid, generator(0))
    hard = is_hard(mask)
    sizes = mask[hard].sum(1).long().bincount(minlength=9) / int(hard.sum())
    want = torch.tensor([0.0, *[0.5 / 8] * 8]) + 0.5 * torch.eye(9)[3]
    torch.testing.assert_close(sizes, want, atol=0.03, rtol=0)


def test_random_masks_are_fresh_and_fixed_by_the_generator() -> None:
    draw, valid, rng = random_masks(L2X(3)), torch.ones(50, 8, dtype=torch.bool), generator(0)
    first, second = draw(valid, rng), draw(valid, rng)
    assert not torch.equal(first, second)
    assert torch.equal(first, draw(valid, generator(0)))


def test_everything_is_shown() -> None:
    valid = some(20)
    assert torch.equal(whole(valid, generator(0)), valid)


def test_relaxed_masks_stay_relaxed_where_words_are_shown_in_part() -> None:
    """Every other row of words shows a random part instead; the others keep the mask they have."""
    valid = torch.ones(N, 8, dtype=torch.bool)
    mask = random_masks(L2X(3))(valid, generator(0))
    got = half_any_size(mask, valid, generator(1))
    unchanged = (got == mask).all(1)
    assert bool(is_hard(got[~unchanged]).all())
    soft = ~is_hard(mask)
    assert float(unchanged[soft].float().mean()) == pytest.approx(0.5, abs=0.05)
    assert half_any_size(valid, valid, generator(1)).dtype == torch.bool


# --- training ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_stage_one_moves_the_reader_alone_and_stage_two_leaves_it(kind: str) -> None:
    """What comes out of `train` is bit for bit what stage one alone makes of the readers."""
    explainer, twin = (MEED(K, cure="pretraining", recipe=SHORT) for _ in range(2))
    lesson = learned.lesson(explainer, model(kind), task(kind))
    for each in (explainer, twin):
        each.build(lesson.task)
    selector = [p.detach().clone() for p in explainer.selector_.parameters()]
    start = [p.detach().clone() for p in explainer.approximator_.parameters()]
    explainer._log_r = None
    cures.train(explainer, lesson, lambda found: found["fs-m"])
    pretrain(twin, twin.approximator_, lesson, random_masks(twin))
    pretrain(twin, twin.rest_, lesson, random_masks(twin, left=True))
    for name in ("approximator_", "rest_"):
        states = (getattr(each, name).state_dict() for each in (explainer, twin))
        assert all(torch.equal(a, b) for a, b in zip(*(s.values() for s in states), strict=True)), name
        assert not getattr(explainer, name).training
    pairs = zip(start, explainer.approximator_.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in pairs), "stage one did nothing"
    pairs = zip(selector, twin.selector_.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    pairs = zip(selector, explainer.selector_.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in pairs), "stage two did nothing"


def test_the_frozen_reader_reads_in_evaluation_mode() -> None:
    explainer = L2X(K, cure="pretraining", recipe=SHORT)
    lesson = learned.lesson(explainer, model("words"), task("words"))
    explainer.build(lesson.task)
    pretrain(explainer, explainer.approximator_, lesson, random_masks(explainer))
    modes: list[bool] = []
    choosing = explainer.choosing

    def spy(batch: Any, v: Tensor) -> Tensor:
        modes.append(explainer.approximator_.training)
        return choosing(batch, v)

    explainer.choosing = spy  # type: ignore[method-assign]
    explainer.readers = {}  # type: ignore[misc]  # stage one is done
    cures.train(explainer, lesson, lambda found: 0.0)
    assert modes
    assert not any(modes)
    assert any(isinstance(m, nn.Dropout) for m in explainer.approximator_.modules())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_mask_that_could_tell_everything_tells_nothing_after_pretraining(seed: int) -> None:
    """A coin decides the answer, all rows are alike, and the selector is told the answer.

    Trained together, selector and reader agree on a code and nothing is left open. A reader that learned from random
    masks knows of no code: what little it says about the coin are errors of its own estimate.
    """
    chance = -float(torch.tensor(2.0).log())
    left = {}
    for cure in (None, "pretraining"):
        recipe = Recipe(epochs=8, batch=64, rate=1e-3, seed=seed)
        explainer = L2X(2, feedback=True, cure=cure, removal="zero", recipe=recipe)
        lesson = coin(explainer, 3000, spread=0.0)
        explainer.build(lesson.task)
        found = cures.train(explainer, lesson, lambda r: r["log-likelihood"], together=True)["readings"]
        left[cure] = found["log-likelihood"] / chance  # the share of the coin's entropy that is left
    assert left[None] < 0.05
    assert left["pretraining"] > 0.9
