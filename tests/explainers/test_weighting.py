"""Weights that take away what the mask alone says: a planted leak, two classifiers, no gradient."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explainers.planted import UNITS, coin
from explainers.samples import SHORT, K, model, task
from unmask.data.own import dataset
from unmask.errors import UnmaskWarning
from unmask.explainers import cures, learned
from unmask.explainers.l2x import L2X
from unmask.explainers.learned import Batch, Lesson, Part
from unmask.explainers.meed import MEED
from unmask.explainers.watch import WEIGHT, Watch
from unmask.explainers.weighting import FLOOR, MaskNet, Neutral
from unmask.models import wrap
from unmask.nets import default
from unmask.seeds import generator
from unmask.training import Recipe, evaluate, minimize, soft_cross_entropy

pytestmark = pytest.mark.slow  # many small fits

FLIP = 0.2


class Nothing(nn.Module):
    """A selector whose scores nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, kept: Tensor | None = None, answer: Tensor | None = None) -> Tensor:
        return self.bias.expand(len(x), UNITS)


def planted_mask(batch: Batch) -> Tensor:
    """The first half of the units for one side of the coin, else the second; the wrong half one time in five."""
    flip = torch.rand(len(batch.x), generator=batch.rng) < FLIP
    side = batch.p.argmax(1) ^ flip.long()
    return (torch.arange(UNITS) >= UNITS // 2).eq(side[:, None].bool()).float()


def stub(cure: str | None, recipe: Recipe) -> Any:
    made = SimpleNamespace(k=UNITS // 2, tau=0.5, draw="k-hot", cure=cure, feedback=False, recipe=recipe, device="cpu")
    made.method, made.readers, made.selector_ = "stub", {"approximator_": "kept"}, Nothing()
    made.drawing = lambda batch, scores: planted_mask(batch)
    made.choosing = lambda batch, v: soft_cross_entropy(made.approximator_(batch.x, v), batch.p)
    return made


def read_planted(cure: str | None) -> tuple[Tensor, Tensor, dict[str, float]]:
    """What a reader trained beside the planted mask says about fresh rows and masks, their answers, the weights."""
    recipe = Recipe(epochs=5, batch=64, rate=2e-3)
    explainer = stub(cure, recipe)
    lesson = coin(explainer, 3000)
    explainer.approximator_ = default(lesson.task.reader, 2, "small", seed=3)
    neutral = None if cure is None else Neutral.start(explainer, lesson)
    game = cures.players(explainer, neutral, recipe.steps(len(lesson.train.x)), together=True)
    minimize(game, lesson.train.rows, recipe)
    held = lesson.held
    v = planted_mask(Batch(held.x, held.p, held.valid, generator(5)))
    said = evaluate(explainer.approximator_, held.x, v).softmax(1)
    return said, held.p.argmax(1), {} if neutral is None else neutral.health()


def given(said: Tensor, y: Tensor) -> Tensor:
    return said.gather(1, y[:, None])[:, 0]


@pytest.mark.slow
def test_a_reader_learns_the_planted_leak() -> None:
    """The mask is right in four rows of five, the values tell nothing."""
    said, y, _ = read_planted(None)
    assert float((said.argmax(1) == y).float().mean()) == pytest.approx(1 - FLIP, abs=0.05)
    assert float(given(said, y).mean()) == pytest.approx(0.8 * 0.8 + 0.2 * 0.2, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("cure", ["weighting", "weighting-shown"])
def test_a_weighted_reader_is_not_told_by_the_mask(cure: str) -> None:
    said, y, weights = read_planted(cure)
    assert float(given(said, y).mean()) == pytest.approx(0.5, abs=0.05)
    assert weights["mean"] == pytest.approx(1.0, abs=0.05)
    assert 0.65 < weights["mask classifier"] <= 1 - FLIP + 0.02  # what is mixed with a random mask tells less
    if cure == "weighting":  # where C and the judge see values too, the extremes are those of their noise as well
        assert weights["lowest"] == pytest.approx(0.5 / 0.8, abs=0.1)
    assert weights["lowest"] < 0.75
    assert weights["highest"] > 1.8


# --- the weights themselves -------------------------------------------------------------------------------------------


class Fixed(nn.Module):
    """Says the same logits to every row."""

    def __init__(self, *logits: float) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        return self.logits.expand(len(x), -1)


def neutral_of(first: nn.Module, second: nn.Module, judge: nn.Module | None = None, steps: int = 4) -> Neutral:
    return Neutral(stub("weighting", SHORT), nn.ModuleList([first, second]), torch.tensor([0.3, 0.7]), judge, steps)


def rows(y: list[int], epoch: int = 1) -> Batch:
    n = len(y)
    valid = torch.ones(n, UNITS, dtype=torch.bool)
    return Batch(torch.ones(n, UNITS), torch.eye(2)[y], valid, generator(0), torch.arange(n), epoch)


def log(*p: float) -> list[float]:
    return torch.tensor(p).log().tolist()


def test_a_row_is_weighed_by_the_classifier_that_never_learned_it() -> None:
    """w = P(y) / C(y | mask); C of the odd rows is the one of the even rows, and the other way round."""
    neutral = neutral_of(Fixed(*log(0.9, 0.1)), Fixed(*log(0.4, 0.6)))
    got = neutral.weight(rows([0, 0, 1, 1]), torch.ones(4, UNITS))
    torch.testing.assert_close(got, torch.tensor([0.3 / 0.4, 0.3 / 0.9, 0.7 / 0.6, 0.7 / 0.1]))
    assert not got.requires_grad


def test_rows_are_weighted_from_the_first_epoch_on() -> None:
    neutral = neutral_of(Fixed(*log(0.9, 0.1)), Fixed(*log(0.4, 0.6)))
    first, second = (neutral.weight(rows([0, 1, 1], epoch=epoch), torch.ones(3, UNITS)) for epoch in (0, 1))
    assert torch.equal(first, second)
    assert first.tolist() != [1.0, 1.0, 1.0]


def test_rows_that_nobody_learns_are_weighed_under_their_own_masks() -> None:
    neutral = neutral_of(Fixed(*log(0.9, 0.1)), Fixed(*log(0.4, 0.6)))
    batch = rows([0, 0, 1, 1])
    part = Part(batch.x, batch.x, batch.p, batch.valid)
    got, right = neutral.held_out(part, batch.valid)
    torch.testing.assert_close(got, neutral.weight(batch, torch.ones(4, UNITS)))
    assert right.tolist() == [False, True, True, False]  # by the second, then by the first


def test_probabilities_are_not_trusted_below_the_floor() -> None:
    neutral = neutral_of(Fixed(*log(0.999, 0.001)), Fixed(*log(0.999, 0.001)))
    torch.testing.assert_close(
        neutral.weight(rows([0, 1]), torch.ones(2, UNITS)), torch.tensor([0.3 / 0.999, 0.7 / FLOOR])
    )


def test_what_the_values_tell_stays_with_a_judge() -> None:
    neutral = neutral_of(Fixed(*log(0.9, 0.1)), Fixed(*log(0.4, 0.6)), judge=Fixed(*log(0.8, 0.2)))
    got = neutral.weight(rows([0, 0, 1, 1]), torch.ones(4, UNITS))
    torch.testing.assert_close(got, torch.tensor([0.8 / 0.4, 0.8 / 0.9, 0.2 / 0.6, 0.2 / 0.1]))


def test_health_is_that_of_the_last_epoch() -> None:
    neutral = neutral_of(Fixed(*log(0.5, 0.5)), Fixed(*log(0.5, 0.5)), steps=2)
    for y in ([1, 1], [0, 0], [0, 1]):
        neutral.weight(rows(y, epoch=0), torch.ones(2, UNITS))
    want = {"mean": 0.8, "lowest": 0.6, "highest": 1.4, "mask classifier": 0.75}  # of [0, 0] and [0, 1]
    assert neutral.health() == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("parity", [0, 1])
def test_a_classifier_learns_from_its_own_half_only(parity: int) -> None:
    explainer = stub("weighting", SHORT)
    neutral = Neutral.start(explainer, coin(explainer, 40))
    batch = rows([0, 1, 1, 0])
    loss = neutral.loss(batch.x, batch.p, batch.valid, 2 * torch.arange(4) + parity, generator(0))
    for i, net in enumerate(neutral.net):
        grads = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)
        assert (sum(float(g.abs().sum()) for g in grads) > 0) == (i == parity)


def test_the_classifiers_loss_is_the_cross_entropy_given_the_mask() -> None:
    """Logits that do not depend on the mask: -log C(y)."""
    neutral = neutral_of(Fixed(*log(0.9, 0.1)), Fixed(*log(0.4, 0.6)))
    batch = rows([0, 1, 1])
    got = neutral.loss(batch.x, batch.p, batch.valid, torch.tensor([0, 1, 2]), generator(0))

    want = -sum(log(0.9, 0.6, 0.1)) / 3
    assert float(got.detach()) == pytest.approx(want, abs=1e-5)


def test_class_frequencies_run_along() -> None:
    neutral = neutral_of(Fixed(0.0, 0.0), Fixed(0.0, 0.0))
    batch = rows([1, 1, 0, 1])
    neutral.loss(batch.x, batch.p, batch.valid, batch.index, generator(0))
    torch.testing.assert_close(neutral.frequency, 0.99 * torch.tensor([0.3, 0.7]) + 0.01 * torch.tensor([0.25, 0.75]))


def test_frequencies_start_as_the_models_answers() -> None:
    explainer = stub("weighting", SHORT)
    lesson = coin(explainer, 200)
    want = lesson.train.p.mean(0)
    torch.testing.assert_close(Neutral.start(explainer, lesson).frequency, want)


def test_every_mask_is_mixed_with_a_random_one() -> None:
    neutral, n = neutral_of(Fixed(0.0, 0.0), Fixed(0.0, 0.0)), 5000
    batch = Batch(torch.ones(n, UNITS), torch.eye(2)[[0] * n], torch.ones(n, UNITS, dtype=torch.bool), generator(0))
    v = torch.full((n, UNITS), 0.123)
    stirred = neutral.stirred(batch, v)
    assert not bool((stirred == v).all(1).any())
    torch.testing.assert_close(stirred.mean(0), stirred.mean().expand(UNITS), atol=0.1, rtol=0)  # no unit is preferred
    soft = v.requires_grad_()
    (grad,) = torch.autograd.grad(neutral.stirred(batch, soft).sum(), soft)
    assert float(grad.mean()) == pytest.approx(0.5, abs=0.02)  # of the share that is its own


def test_health_counts_a_step_once_where_players_move_in_turns() -> None:
    lesson = learned.lesson(MEED(K), model("table"), task("table"))
    explainer = MEED(K, cure="weighting", recipe=SHORT)
    explainer.build(lesson.task)
    explainer._log_r = None
    neutral = Neutral.start(explainer, lesson)
    for _, loss in cures.players(explainer, neutral, 2, together=False).values():
        loss(*lesson.train.rows, generator(0))
    assert len(neutral.weighed.seen["mean"]) == 1


def test_the_mask_classifier_learns_three_times_as_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[Any] = []

    def noting(game: Any, rows: Any, recipe: Recipe, **rest: Any) -> Any:
        rates.append(recipe.rate)
        return minimize(game, rows, recipe, **rest)

    monkeypatch.setattr(cures, "minimize", noting)
    L2X(K, cure="weighting", recipe=SHORT).fit(model("table"), task("table"))
    assert rates == [{"mask classifier": pytest.approx(3 * 1e-3), "l2x": 1e-3}]


def test_the_epoch_is_worth_what_weighted_rows_are_worth() -> None:
    """The approximator is right in the first row only, which weighs next to nothing."""
    lesson = learned.lesson(L2X(K), model("table"), task("table"))
    explainer = L2X(K, recipe=SHORT)
    explainer.build(lesson.task)
    seen: list[dict[str, float]] = []

    def worth(found: Any) -> float:
        seen.append(dict(found))
        return 0.0

    Watch(explainer, lesson, worth)()
    part_rows = len(Watch(explainer, lesson, worth).part.x)
    kept = learned.selected(explainer, Watch(explainer, lesson, worth).part)
    read = evaluate(explainer.approximator_, lesson.held.x, kept.float())
    first = torch.eye(part_rows)[0]
    Watch(explainer, lesson, worth, weigh=lambda part, kept: (first, first > 0))()
    plain, weighted = seen
    want = -soft_cross_entropy(read, lesson.held.p)
    assert plain["log-likelihood"] == pytest.approx(float(want.mean()), abs=1e-5)
    assert weighted["log-likelihood"] == pytest.approx(float(want[0]), abs=1e-5)
    assert weighted["fs-m"] == plain["fs-m"]
    rate = 1 / part_rows
    told = {f"{WEIGHT}mean": rate, f"{WEIGHT}lowest": 0, f"{WEIGHT}highest": 1, f"{WEIGHT}mask classifier": rate}
    assert {name: weighted[name] for name in told} == pytest.approx(told)
    assert not any(name.startswith(WEIGHT) for name in plain)


def test_random_masks_teach_the_reader_but_not_the_selector() -> None:
    """In turns, the reader's step is stirred and the selector's is not; together, the one step is."""
    lesson = learned.lesson(MEED(K), model("table"), task("table"))
    for explainer, want in (
        (MEED(K, cure="weighting", recipe=SHORT), [True, False]),
        (L2X(K, cure="weighting"), [True]),
    ):
        explainer.build(lesson.task)
        explainer._log_r = None
        neutral = Neutral.start(explainer, lesson)
        calls = stirrings(neutral, explainer, lesson)
        assert calls == want


def stirrings(neutral: Neutral, explainer: Any, lesson: Lesson) -> list[bool]:
    """Whether the step of each player but the classifier stirs its masks."""
    stirred: list[int] = []
    own = neutral.stirred
    neutral.stirred = lambda batch, v: (stirred.append(1), own(batch, v))[1]  # type: ignore[method-assign]
    found = []
    for name, (_, loss) in cures.players(explainer, neutral, 2, together=explainer.method == "l2x").items():
        if name != "mask classifier":
            stirred.clear()
            loss(*lesson.train.rows, generator(0))
            found.append(bool(stirred))
    return found


def test_the_loss_of_a_row_is_multiplied_by_its_weight() -> None:
    explainer = stub("weighting", SHORT)
    explainer.approximator_, explainer.choosing = Nothing(), lambda batch, v: torch.arange(1.0, 4.0)
    neutral = neutral_of(Fixed(0.0, 0.0), Fixed(0.0, 0.0))
    neutral.weight = lambda batch, v, note: torch.tensor([2.0, 0.5, 3.0])  # type: ignore[method-assign]
    batch = rows([0, 1, 1])
    loss = cures.players(explainer, neutral, 1, together=True)["stub"][1]
    got = loss(batch.x, batch.p, batch.valid, batch.index, generator(0))
    assert float(got) == pytest.approx((2.0 * 1 + 0.5 * 2 + 3.0 * 3) / 5.5)  # the weights of a batch have mean 1


def test_a_batch_knows_the_loops_epoch() -> None:
    """Also where a single row left over at the end is skipped."""
    seen: list[int] = []
    explainer = stub("weighting", Recipe(epochs=3, batch=8))
    lesson = coin(explainer, 40)
    train = lesson.train.rows
    assert len(train[0]) % 8 == 0
    explainer.approximator_ = Nothing()

    def choosing(batch: Batch, v: Tensor) -> Tensor:
        seen.append(batch.epoch)
        return explainer.approximator_.bias.expand(len(batch.x))

    explainer.choosing = choosing
    for rows_used in (24, 17):
        seen.clear()
        some = [t[:rows_used] for t in train]
        steps = explainer.recipe.steps(rows_used)
        minimize(cures.players(explainer, None, steps, together=True), some, explainer.recipe)
        each = rows_used // 8
        assert seen == [epoch for epoch in range(3) for _ in range(each)]


def test_a_mask_net_pads_what_is_shorter_than_its_width() -> None:
    net, kept = MaskNet(5, 3), torch.rand(4, 3, generator=generator(0))
    padded = torch.cat([kept, torch.zeros(4, 2)], 1)
    assert torch.equal(net(torch.randn(4, 9), kept), net(torch.randn(4, 2), padded))
    assert net(torch.zeros(4, 1), padded).shape == (4, 3)


def test_a_code_in_the_places_shows_in_the_selections_not_in_the_masks_of_training() -> None:
    """No voice against a code: the selector spells the answer by which of twenty like columns it keeps.

    In training every mask is mixed with a random one, so that the classifier sees little of it there.
    """
    x = torch.randn(1500, 20, generator=generator(3))
    black_box = wrap(lambda rows: torch.stack([(s := torch.sigmoid(4 * torch.as_tensor(rows).sum(1))), 1 - s], dim=1))
    data = dataset(x, black_box(x).argmax(1), seed=0)
    how = Recipe(epochs=20, batch=64, rate=1e-3)
    explainer = MEED(2, unselected="none", prior=False, cure="weighting", recipe=how)
    with pytest.warns(UnmaskWarning, match="the weights of the selections have mean 0"):
        explainer.fit(black_box, data)
    told, training = explainer.readings_["readings"], explainer.readings_["weights in training"]
    assert told[f"{WEIGHT}mask classifier"] > training["mask classifier"] + 0.1
    assert abs(training["mean"] - 1) < 0.1
    assert any("weights of the selections" in sentence for sentence in explainer.readings_["warnings"])
