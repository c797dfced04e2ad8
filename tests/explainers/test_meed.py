"""MEED: its losses and its prior against slow versions, and a task whose answer is known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from explainers.samples import KINDS, SHORT, K, fitted, model, task, with_start
from unmask.data.own import dataset
from unmask.errors import InputError
from unmask.explainers import learned
from unmask.explainers.learned import Batch, drawn
from unmask.explainers.losses import flipped, sliced_wasserstein
from unmask.explainers.meed import MEED
from unmask.masking.relax import k_hot
from unmask.methods import make
from unmask.models import wrap
from unmask.seeds import generator
from unmask.training import Recipe, soft_cross_entropy

pytestmark = pytest.mark.slow  # many small fits


def built(kind: str, explainer: MEED) -> tuple[Batch, Tensor]:
    """Networks before training in evaluation mode; all training rows as one batch and a relaxed mask of them."""
    lesson = learned.lesson(explainer, model(kind), task(kind))
    explainer.build(lesson.task)
    for net in (explainer.selector_, explainer.approximator_, explainer.rest_):
        net.eval()
    explainer._log_r = explainer._log_prior(lesson)
    x, p, valid, index = lesson.train.rows
    scores = 2 * torch.randn(valid.shape, generator=generator(6))
    batch = Batch(x, p, valid, generator(7), index, epoch=1, scores=scores)
    return batch, k_hot(scores, explainer.k, 0.5, generator(8), valid)


def entropy(logits: Tensor, target: Tensor) -> list[float]:
    log_q = logits.detach().log_softmax(1)
    return [-sum(float(t) * float(q) for t, q in zip(*row, strict=True)) for row in zip(target, log_q, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["flip", "reverse", "none"])
def test_the_losses_are_the_formulas(kind: str, form: Any) -> None:
    """Both steps read x * v and x * (1 - v), the latter without what is beyond the end of the row."""
    explainer = MEED(2, unselected=form, weight=0.7)
    batch, v = built(kind, explainer)
    left = torch.where(batch.valid, 1 - v, torch.zeros_like(v))
    kept_side = entropy(explainer.approximator_(batch.x, v), batch.p)
    left_side = entropy(explainer.rest_(batch.x, left), batch.p)
    flip_side = entropy(explainer.rest_(batch.x, left), (1 - batch.p) / 2)
    reading = [a + 0.7 * b for a, b in zip(kept_side, left_side, strict=True)]
    torch.testing.assert_close(explainer.reading(batch, v), torch.tensor(reading), atol=1e-5, rtol=1e-4)
    wanted = {"flip": flip_side, "reverse": [-b for b in left_side], "none": [0.0] * len(v)}[form]
    choosing = [a + 0.7 * b for a, b in zip(kept_side, wanted, strict=True)]
    torch.testing.assert_close(explainer.choosing(batch, v), torch.tensor(choosing), atol=1e-5, rtol=1e-4)


def test_the_distance_of_batches_is_pulled_down_and_pushed_up() -> None:
    explainer = MEED(2, unselected="swd", weight=3.0)
    batch, v = built("table", explainer)
    said = explainer.rest_(batch.x, batch.valid.float() - v).softmax(1)
    distance = float(sliced_wasserstein(said, batch.p, generator(7)).detach())
    kept = soft_cross_entropy(explainer.approximator_(batch.x, v), batch.p)
    assert distance > 0
    torch.testing.assert_close(explainer.reading(batch, v), kept + 3 * distance)
    torch.testing.assert_close(explainer.choosing(replace(batch, rng=generator(7)), v), kept - 3 * distance)


def test_for_two_classes_the_flipped_target_swaps_them() -> None:
    p, logits = torch.rand(6, 1, generator=generator(0)), torch.randn(6, 2, generator=generator(1))
    p = torch.cat([p, 1 - p], 1)
    got = MEED(1)._failing(Batch(logits, p, p > 2, generator(0)), logits)
    torch.testing.assert_close(got, soft_cross_entropy(logits, p.flip(1)))
    torch.testing.assert_close(flipped(p), p.flip(1))


# --- the prior --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_prior_is_the_softmax_of_absolute_gradient_times_input(kind: str) -> None:
    """Units with a gradient x input large for their row are the likely ones; what is beyond the row has no chance."""
    explainer = MEED(2)
    batch, _ = built(kind, explainer)
    gi = make("gradient-x-input-abs", 2).fit(model(kind), task(kind)).explain(task(kind).train.x).scores
    for i, log_r in enumerate(explainer._log_r):
        here = batch.valid[i]
        relative = gi[i][here] / gi[i][here].mean()
        torch.testing.assert_close(log_r[here], relative.log_softmax(0), atol=1e-5, rtol=1e-4)
        assert bool((log_r[~here] < -1e6).all())


def test_units_with_a_large_gradient_times_input_are_likely() -> None:
    """A line: the gradient is the same everywhere up to a factor, so r follows the size of weight times value."""
    x = 0.5 * torch.randn(60, 3, generator=generator(0))
    data = dataset(x - x.mean(0), (x[:, 0] > 0).long().tolist(), kind="table")
    line = nn.Linear(3, 2)
    with torch.no_grad():
        line.weight.copy_(torch.tensor([[0.0, 0.0, 0.0], [1.0, -2.0, 0.1]]))
        line.bias.zero_()
    explainer = MEED(1, removal="zero")
    lesson = learned.lesson(explainer, wrap(line, outputs="logits"), data)
    log_r = explainer._log_prior(lesson)
    size = (lesson.train.x * torch.tensor([1.0, -2.0, 0.1])).abs()
    assert log_r is not None
    assert torch.equal(log_r.argsort(1), size.argsort(1))
    assert float(log_r.std(1).mean()) > 0.05


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epoch", [0, 1, 4])
def test_the_draw_is_warmed_by_the_prior(kind: str, epoch: int) -> None:
    """z~ proportional to (z^m r)^(1/(m+1)), Eq. 12; at m = 0 it is r, whatever the selector says."""
    explainer = MEED(2)
    batch, _ = built(kind, explainer)
    batch = replace(batch, epoch=epoch)
    got = explainer._warmed(batch, batch.scores)
    for i, here in enumerate(batch.valid):
        z, r = batch.scores[i][here].softmax(0), explainer._log_r[i][here].exp()
        raw = [(float(a) ** epoch * float(b)) ** (1 / (epoch + 1)) for a, b in zip(z, r, strict=True)]
        want = torch.tensor(raw) / sum(raw)
        torch.testing.assert_close(got[i][here].softmax(0), want, atol=1e-5, rtol=1e-3)
    want = k_hot(got, 2, 0.5, generator(3), batch.valid)
    torch.testing.assert_close(drawn(explainer, replace(batch, rng=generator(3))), want)
    same = torch.equal(got, explainer._warmed(batch, torch.randn(batch.scores.shape, generator=generator(9))))
    assert same == (epoch == 0)


def test_the_prior_belongs_to_the_row() -> None:
    explainer = MEED(2)
    batch, _ = built("table", explainer)
    order = torch.randperm(len(batch.x), generator=generator(0))[:9]
    some = replace(batch, x=batch.x[order], valid=batch.valid[order], index=order)
    torch.testing.assert_close(
        explainer._warmed(some, batch.scores[order]), explainer._warmed(batch, batch.scores)[order]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_to_the_prior_is_the_formula(kind: str) -> None:
    """mean over a row's units of |z~ - z| / (m + 1), Eq. 13, added with its weight."""
    explainer = MEED(2, prior_weight=0.4)
    batch, v = built(kind, explainer)
    batch = replace(batch, epoch=2)
    warmed = explainer._warmed(batch, batch.scores)
    want = []
    for i, here in enumerate(batch.valid):
        z, z_warm = batch.scores[i][here].softmax(0), warmed[i][here].softmax(0)
        want.append(sum(abs(float(a - b)) for a, b in zip(z_warm, z, strict=True)) / len(z) / 3)
    torch.testing.assert_close(explainer._distance(batch), torch.tensor(want), atol=1e-5, rtol=1e-4)
    plain = replace(explainer, prior_weight=0.0)
    vars(plain).update({name: value for name, value in vars(explainer).items() if name.endswith("_")})
    plain._log_r = explainer._log_r
    torch.testing.assert_close(explainer.choosing(batch, v) - plain.choosing(batch, v), 0.4 * torch.tensor(want))


def test_explaining_and_watching_leave_the_prior_out() -> None:
    explainer = MEED(2)
    batch, _ = built("table", explainer)
    outside = replace(batch, index=None, rng=generator(3))
    want = k_hot(batch.scores, 2, 0.5, generator(3), batch.valid)
    assert torch.equal(drawn(explainer, outside), want)
    assert not hasattr(fitted("meed", "table"), "_log_r")


def test_a_model_without_gradients_has_no_prior_and_origin_says_so() -> None:
    data = task("table")
    estimator = LogisticRegression(max_iter=500).fit(data.train.x.numpy(), data.train.y.numpy())
    said = {
        "sklearn": MEED(K, recipe=SHORT).fit(wrap(estimator), data),
        "off": MEED(K, prior=False, recipe=SHORT).fit(model("table"), data),
        "on": fitted("meed", "table"),
    }
    assert {name: e.explain(data.test.x).origin["prior"] for name, e in said.items()} == {
        "sklearn": "none",
        "off": "none",
        "on": "gradient x input",
    }
    assert not torch.equal(said["off"].explain(data.test.x).scores, said["on"].explain(data.test.x).scores)


def test_the_released_prior_prefers_small_gradients_and_never_fades() -> None:
    """log r = log softmax(-|GI|) and log z~ = (log z + log r) / 2 in every epoch."""
    explainer = MEED(2, prior="released")
    batch, _ = built("table", explainer)
    plain = MEED(2)
    built("table", plain)
    released, right = torch.as_tensor(explainer._log_r), torch.as_tensor(plain._log_r)
    assert torch.equal(released.argmin(1), right.argmax(1))
    torch.testing.assert_close(released.exp().sum(1), torch.ones(len(released)))
    early, late = (explainer._warmed(replace(batch, epoch=m), torch.as_tensor(batch.scores)) for m in (0, 9))
    assert torch.equal(early, late)
    log_z = torch.as_tensor(batch.scores).log_softmax(1)
    torch.testing.assert_close(early, (log_z + released) / 2)


def test_gradients_that_cannot_be_brought_to_words_are_no_prior() -> None:
    data = task("words")
    e = MEED(K, recipe=SHORT).fit(with_start(), data).explain(data.test.x)
    assert e.origin["prior"] == "none"


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_the_epoch_is_chosen_by_what_is_kept_and_what_is_left() -> None:
    for weight, part in ((1.0, 1.0), (0.25, 0.25), (5.0, 1.0)):
        explainer = MEED(2, weight=weight, recipe=Recipe(epochs=6, batch=8, rate=0.02)).fit(
            model("table"), task("table")
        )
        found = explainer.readings_["readings"]
        assert max(explainer.history_.scores) == pytest.approx(found["fs-m"] - part * found["fu-m"], abs=2e-4)


def test_the_activation_is_that_of_all_three_perceptrons() -> None:
    explainer = MEED(K, activation="selu")
    built("table", explainer)
    for net in (explainer.selector_, explainer.approximator_, explainer.rest_):
        found = {type(module) for module in net.modules()} & {nn.SELU, nn.ReLU}
        assert found == {nn.SELU}


def test_the_two_readers_have_their_own_weights() -> None:
    explainer = MEED(2)
    built("words", explainer)
    pairs = zip(explainer.approximator_.parameters(), explainer.rest_.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)
    assert explainer.approximator_.embedding is not explainer.rest_.embedding


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"unselected": "wish"}, "unselected must be one of flip, reverse, swd, none, got 'wish'"),
        ({"weight": -1.0}, "weights must not be negative, got -1.0 and 0.0"),
        ({"prior_weight": -0.5}, "weights must not be negative, got 1.0 and -0.5"),
        ({"weight": math.nan}, "weights must not be negative, got nan and 0.0"),
        ({"prior": "old"}, "prior must be True, False or 'released', got 'old'"),
    ],
)
def test_settings_that_do_not_exist_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        MEED(2, **wrong)
    assert str(refused.value) == said


class Sum(nn.Module):
    """The first three columns carry everything, the rest is noise."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(4.0))

    def forward(self, x: Tensor) -> Tensor:
        t = self.weight * x[:, :3].sum(1)
        return torch.stack([-t, t], 1)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["flip", "swd"])
@pytest.mark.parametrize("prior", [True, False])
def test_all_that_tells_is_kept_and_nothing_that_tells_is_left(form: Any, prior: bool) -> None:
    x = torch.randn(1200, 10, generator=generator(0))
    data = dataset(x, (x[:, :3].sum(1) > 0).long().tolist(), kind="table")
    recipe = Recipe(epochs=10, batch=64, rate=2e-3)
    explainer = MEED(3, unselected=form, prior=prior, recipe=recipe).fit(wrap(Sum(), outputs="logits"), data)
    found = explainer.readings_["readings"]
    assert found["fs-m"] > 0.97
    assert found["fu-m"] == pytest.approx(0.5, abs=0.1)  # a constant answer
    e = explainer.explain(data.test.x)
    assert float(e.kept[:, :3].float().mean()) > 0.97
