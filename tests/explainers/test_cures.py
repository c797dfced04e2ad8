"""Who moves in which step, in which epoch; and every cure on every kind of data."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explainers.samples import KINDS, SHORT, K, model, task
from unmask.explainers import cures, learned
from unmask.explainers.l2x import L2X
from unmask.explainers.learned import Batch, Lesson
from unmask.explainers.meed import MEED
from unmask.explainers.mimic import Mimic
from unmask.explainers.watch import WEIGHT
from unmask.explainers.weighting import Neutral
from unmask.loading import load
from unmask.methods import make
from unmask.training import Recipe, minimize

pytestmark = pytest.mark.slow  # many small fits

CURES = ("pretraining", "weighting", "weighting-shown")


def ready(explainer: Any, kind: str = "table") -> Lesson:
    """Networks built, with what `fit` would have put beside them, before any training."""
    lesson = learned.lesson(explainer, model(kind), task(kind))
    explainer.build(lesson.task)
    if isinstance(explainer, MEED):
        explainer._log_r = explainer._log_prior(lesson)
    if isinstance(explainer, Mimic):
        explainer._lesson, explainer.judge_ = lesson, explainer._judge(lesson)
    return lesson


def test_what_a_fit_takes_is_remembered_with_the_answers_of_the_model() -> None:
    data, begun = task("table"), time.perf_counter()

    def slow(x: Any) -> Tensor:
        time.sleep(0.2)
        return torch.softmax(torch.as_tensor(x)[:, : len(data.classes)], 1)

    explainer = L2X(k=K, recipe=Recipe(epochs=1)).fit(slow, data)
    assert 0.4 < explainer.seconds_ <= time.perf_counter() - begun  # training and validation rows
    assert not hasattr(explainer.clone(), "seconds_")


def state(module: nn.Module) -> list[Tensor]:
    return [value.clone() for value in module.state_dict().values()]


def same(a: list[Tensor], b: list[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def snapshots(explainer: Any, parts: dict[str, nn.Module], neutral: Neutral | None = None) -> list[tuple[str, dict]]:
    """The states of `parts` before each turn of the real players in `minimize`, with the name of who moves then."""
    found: list[tuple[str, dict[str, list[Tensor]]]] = []
    game = cures.players(explainer, neutral, 2, together=explainer.method == "l2x")

    def spied(name: str, loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def spy(*batch: Any) -> Tensor:
            found.append((name, {part: state(net) for part, net in parts.items()}))
            return loss(*batch)

        return spy

    players = {name: (net, spied(name, loss)) for name, (net, loss) in game.items()}
    minimize(players, ready_rows(explainer), Recipe(epochs=2, batch=14, rate=0.01))
    return found


def ready_rows(explainer: Any) -> tuple[Tensor, ...]:
    return learned.lesson(explainer, model("table"), task("table")).train.rows


@pytest.mark.parametrize("unselected", ["flip", "reverse", "swd", "none"])
def test_meed_moves_readers_and_selector_in_turns(unselected: Any) -> None:
    """Step 1 leaves the selector bit for bit as it is, step 2 both approximators."""
    explainer = MEED(2, unselected=unselected, prior=False)
    ready(explainer)
    parts = {"selector": explainer.selector_, "kept": explainer.approximator_, "left": explainer.rest_}
    found = snapshots(explainer, parts)
    assert [name for name, _ in found] == ["reader", "selector"] * 4
    for (name, before), (_, after) in pairwise(found):
        moved = {part for part in parts if not same(before[part], after[part])}
        assert moved == ({"kept", "left"} if name == "reader" else {"selector"})


def test_mimic_moves_its_approximator_and_selector_in_turns_and_never_the_judge() -> None:
    explainer = Mimic(2, recipe=SHORT)
    ready(explainer)
    assert explainer.judge_ is not None
    parts = {"selector": explainer.selector_, "kept": explainer.approximator_, "judge": explainer.judge_.net}
    found = snapshots(explainer, parts)
    assert [name for name, _ in found] == ["reader", "selector"] * 4
    for (name, before), (_, after) in pairwise(found):
        moved = {part for part in parts if not same(before[part], after[part])}
        assert moved == ({"kept"} if name == "reader" else {"selector"})
    assert not explainer.judge_.net.training


@pytest.mark.parametrize("cure", ["weighting", "weighting-shown"])
def test_the_mask_classifier_has_a_turn_of_its_own(cure: str) -> None:
    explainer = L2X(2, cure=cure, recipe=SHORT)
    neutral = Neutral.start(explainer, ready(explainer))
    parts = {"selector": explainer.selector_, "kept": explainer.approximator_, "classifier": neutral.net}
    if neutral.judge is not None:
        parts["judge"] = neutral.judge
    found = snapshots(explainer, parts, neutral)
    assert [name for name, _ in found] == ["mask classifier", "l2x"] * 4
    for (name, before), (_, after) in pairwise(found):
        moved = {part for part in parts if not same(before[part], after[part])}
        assert moved == ({"classifier"} if name == "mask classifier" else {"selector", "kept"})


def test_after_pretraining_only_the_selector_moves() -> None:
    for explainer in (L2X(2, cure="pretraining"), MEED(2, cure="pretraining")):
        ready(explainer)
        (game,) = cures.players(explainer, None, 1, together=isinstance(explainer, L2X)).items()
        assert game[0] == "selector"
        assert game[1][0] is explainer.selector_


def test_readers_learn_from_masks_without_gradient() -> None:
    explainer = MEED(2)
    ready(explainer)
    asked: list[tuple[str, bool]] = []
    for name in ("reading", "choosing"):
        own = getattr(explainer, name)

        def spy(batch: Batch, v: Tensor, own: Any = own, name: str = name) -> Tensor:
            asked.append((name, v.requires_grad))
            return own(batch, v)

        setattr(explainer, name, spy)
    minimize(cures.players(explainer, None, 1, together=False), ready_rows(explainer), Recipe(epochs=1, batch=27))
    assert asked == [("reading", False), ("choosing", True)]


@pytest.mark.parametrize("batch", [27, 14, 13, 9, 4, 1])
def test_a_batch_knows_its_epoch_its_rows_and_its_scores(batch: int) -> None:
    """27 rows; in batches of 13 a single row is left over, which the loop skips."""
    explainer = MEED(2, recipe=Recipe(epochs=3, batch=batch))
    lesson = ready(explainer)
    seen: list[Batch] = []
    own = explainer.choosing
    explainer.choosing = lambda b, v: (seen.append(b), own(b, v))[1]  # type: ignore[method-assign]
    cures.train(explainer, lesson, lambda found: 0.0)
    each = len(seen) // 3
    assert [b.epoch for b in seen] == [epoch for epoch in range(3) for _ in range(each)]
    for b in seen:
        assert torch.equal(b.x, lesson.train.x[b.index])
        assert torch.equal(b.p, lesson.train.p[b.index])
        assert b.scores.shape == b.valid.shape
    assert sum(len(b.x) for b in seen[:each]) == 27 - (batch == 13)


def test_the_readings_of_the_kept_epoch_are_returned() -> None:
    explainer = L2X(2, recipe=Recipe(epochs=8, batch=8, rate=0.05))
    lesson = ready(explainer)
    found = cures.train(explainer, lesson, lambda readings: readings["log-likelihood"], together=True)
    assert set(found) == {"readings", "warnings"}
    best = max(explainer.history_.scores)
    assert found["readings"]["log-likelihood"] == pytest.approx(best, abs=1e-4)
    assert min(explainer.history_.scores) < best
    assert explainer.task_ is lesson.task


# --- every cure on every kind -----------------------------------------------------------------------------------------

CASES = pytest.mark.parametrize(
    ("method", "cure", "kind"), [(m, cure, kind) for m in ("l2x", "meed", "vibi") for cure in CURES for kind in KINDS]
)


@cache
def cured(method: str, cure: str, kind: str) -> Any:
    return make(method, K, None, {"cure": cure, "recipe": SHORT}).fit(model(kind), task(kind))


@CASES
def test_a_cured_method_keeps_its_promises(method: str, cure: str, kind: str) -> None:
    explainer, x = cured(method, cure, kind), task(kind).test.x
    e = explainer.explain(x)
    assert e.origin["cure"] == cure
    assert bool(e.scores.isfinite().all())
    assert not bool((e.kept & ~e.valid).any())
    assert torch.equal(e.kept.sum(1), e.valid.sum(1).clamp(max=K))
    told = {name.removeprefix(WEIGHT): v for name, v in e.origin["readings"].items() if name.startswith(WEIGHT)}
    for weights in (told, e.origin.get("weights in training", {})):
        assert bool(weights) == (cure != "pretraining")
        if weights:
            assert set(weights) == {"mean", "lowest", "highest", "mask classifier"}
            assert 0 <= weights["lowest"] <= weights["mean"] <= weights["highest"] <= 100


@CASES
def test_a_cured_method_can_be_repeated_and_saved(method: str, cure: str, kind: str, tmp_path: Path) -> None:
    explainer, x = cured(method, cure, kind), task(kind).test.x
    e = explainer.explain(x)
    twin = explainer.clone()
    torch.manual_seed(5)  # must not matter
    twin.fit(model(kind), task(kind))
    explainer.save(tmp_path / "kept")
    assert twin.readings_ == explainer.readings_
    again = load(tmp_path / "kept", model(kind))
    assert again.readings_ == explainer.readings_
    for copy in (twin, again):
        other = copy.explain(x)
        assert torch.equal(other.scores, e.scores)
        assert torch.equal(other.kept, e.kept)
        assert torch.equal(copy.approximated(x, e.kept), explainer.approximated(x, e.kept))


@pytest.mark.parametrize("cure", CURES)
def test_a_cure_makes_a_difference(cure: str) -> None:
    x = task("table").test.x
    plain = L2X(K, recipe=SHORT).fit(model("table"), task("table")).explain(x)
    assert not torch.equal(cured("l2x", cure, "table").explain(x).scores, plain.scores)
