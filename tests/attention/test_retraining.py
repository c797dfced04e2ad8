"""Training on from a trained model: what is measured before and after, which epoch is kept, what is promised."""

from __future__ import annotations

from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention.samples import SHORT, K, lessons, model, net, task
from unmask.attention import retraining
from unmask.attention.lessons import Batch, Lesson, part
from unmask.attention.steadiness import promises, steadiness
from unmask.errors import InputError, NotFittedError, UnmaskWarning
from unmask.models import wrap
from unmask.seeds import generator
from unmask.task import clone
from unmask.training import Recipe, soft_cross_entropy

pytestmark = pytest.mark.slow

OTHER = replace(SHORT, seed=2)


@dataclass
class Plain:
    """The least that a trainer is: it learns the labels."""

    k: int = K
    removal: str | None = None
    recipe: Recipe = SHORT
    device: str = "cpu"
    method = "plain"
    clone = clone
    explain = retraining.explain

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        return soft_cross_entropy(lesson.student.module(batch.x), batch.y)


def trained(trainer: Any | None = None, hooked: bool = False) -> Any:
    return retraining.fit(trainer or Plain(), model(hooked), task())


@cache
def plain(hooked: bool = False) -> Any:
    """A fit that is only looked at."""
    return trained(hooked=hooked)


# --- the fit ----------------------------------------------------------------------------------------------------------


def test_the_copy_learns_and_the_model_stays_as_it_was() -> None:
    wrapped = model()
    assert wrapped.module is not None
    before = deepcopy(wrapped.module.state_dict())
    trainer = retraining.fit(Plain(), wrapped, task())
    assert all(torch.equal(before[name], value) for name, value in wrapped.module.state_dict().items())
    assert trainer.model_.module is not wrapped.module
    after = trainer.model_.module.state_dict()
    assert not any(torch.equal(before[name], after[name]) for name in before)
    assert trainer.model_.name == "AttentionNet after plain"
    assert trainer.task_.model is trainer.model_
    assert not trainer.model_.module.training


@pytest.mark.parametrize("hooked", [False, True])
def test_readings_are_those_of_both_models(hooked: bool) -> None:
    trainer = plain(hooked)
    assert list(trainer.readings_) == ["before", "after", "promises"]
    made = lessons()
    unseen = part(made.task, made.given, task().test)
    assert trainer.readings_["before"] == pytest.approx(steadiness(made.given, unseen, K, SHORT.seed), rel=1e-2)
    learned = replace(made, student=replace(made.student, module=trainer.model_.module))
    after = steadiness(learned.student, unseen, K, SHORT.seed)
    assert trainer.readings_["after"] == pytest.approx(after, rel=1e-2)
    assert trainer.readings_["after"] != trainer.readings_["before"]
    want = {**promises(learned, unseen, K, 0.05, SHORT.seed), "radius": 0.05}
    assert trainer.readings_["promises"] == pytest.approx(want, abs=2e-4)


class Spoiling(Plain):
    """Learns the wrong labels."""

    k = K

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        return super().loss(lesson, replace(batch, y=(batch.y + 1) % 3))


@pytest.mark.parametrize("kind", [Plain, Spoiling])
def test_the_epoch_kept_is_the_steadiest_that_costs_no_more_than_a_point(kind: type[Plain]) -> None:
    told = pytest.warns(UnmaskWarning, match="F1 on validation rows fell from") if kind is Spoiling else nullcontext()
    with told:
        trainer = trained(kind(recipe=Recipe(epochs=3, batch=16, rate=2e-2)))
    made = lessons()
    learned = replace(made.student, module=trainer.model_.module)
    before, after = (steadiness(net, made.held, K, 0, made.reach) for net in (made.given, learned))
    lost = max(0.0, before["f1"] - after["f1"] - 0.01)
    assert (lost > 0.02) == (kind is Spoiling)
    value = after["overlap"] - after["jsd"] / before["jsd"] - 10 * lost
    assert len(set(trainer.history_.scores)) == 3
    assert value == pytest.approx(max(trainer.history_.scores), rel=1e-4)


def test_a_trainer_with_an_aim_of_its_own_keeps_its_best_epoch() -> None:
    class Aiming(Plain):
        k = K

        def worth(self, lesson: Lesson) -> tuple[float, dict[str, float]]:
            seen.append(lesson.student.module.decoder.bias[0].item())  # type: ignore[union-attr, index]
            return -abs(len(seen) - 2), {"count": len(seen)}

    seen: list[float] = []
    trainer = trained(Aiming(recipe=Recipe(epochs=4, batch=16, rate=1e-2)))
    assert trainer.history_.best == 1
    assert trainer.model_.module.decoder.bias[0].item() == seen[1]
    assert list(trainer.readings_) == ["before", "after", "reached"]


def test_the_same_seed_gives_the_same_copy() -> None:
    again = trained().model_.module.state_dict()
    first, other = (made.model_.module.state_dict() for made in (plain(), trained(Plain(recipe=OTHER))))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["decoder.weight"], other["decoder.weight"])


def test_what_is_frozen_stays() -> None:
    wrapped = model()
    assert wrapped.module is not None
    wrapped.module.embedding.table.requires_grad_(False)  # type: ignore[union-attr, operator]
    trainer = retraining.fit(Plain(), wrapped, task())
    assert torch.equal(trainer.model_.module.embedding.table.weight, net().embedding.table.weight)
    assert not torch.equal(trainer.model_.module.decoder.weight, net().decoder.weight)


def test_more_words_than_a_row_has_are_all_words() -> None:
    assert trained(Plain(k=50, recipe=replace(SHORT, epochs=1))).readings_["after"]["overlap"] == 1.0
    for k in (0, -1, 2.5, True):
        with pytest.raises(InputError, match="k must be a whole number from 1 to 9"):
            trained(Plain(k=k))  # type: ignore[arg-type]


def test_a_model_without_an_embedding_is_told() -> None:
    class Counting(nn.Module):
        """One-hot words, looked at evenly."""

        def __init__(self) -> None:
            super().__init__()
            self.reader, self.head = net().reader, nn.Linear(50, 3)

        def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
            valid = (x != 0).float()
            return valid / valid.sum(1, keepdim=True), nn.functional.one_hot(x, 50).float()

        def answer(self, states: Tensor, weights: Tensor) -> Tensor:
            found: Tensor = self.head((states * weights[..., None]).sum(1))
            return found

        def forward(self, x: Tensor) -> Tensor:
            weights, states = self.attend(x)
            return self.answer(states, weights)

    with pytest.raises(InputError, match=r"Counting has no nn.Embedding; it has: head"):
        retraining.fit(Plain(), wrap(Counting(), device="cpu"), task())


# --- the explanation --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hooked", [False, True])
def test_an_explanation_is_the_attention_of_the_copy(hooked: bool) -> None:
    trainer, rows = plain(hooked), task().test
    found = trainer.explain(rows.x)
    made: Any = trainer.model_.module
    x = made.reader.prepare(rows.x)
    torch.testing.assert_close(found.scores, made.attend(x)[0].detach())
    assert torch.equal(found.scores[~found.valid], torch.zeros(int((~found.valid).sum())))
    torch.testing.assert_close(found.scores.sum(1), torch.ones(len(rows)))
    assert torch.equal(found.target, made(x).argmax(1))
    assert torch.equal(found.valid, rows.valid[:, : x.shape[1]])
    assert found.kept.sum(1).tolist() == rows.valid.sum(1).clamp(max=K).tolist()
    assert found.origin["method"] == "plain"
    assert found.origin["after"] == trainer.readings_["after"]
    asked = torch.zeros(len(rows), dtype=torch.long)
    assert torch.equal(trainer.explain(rows.x, asked).target, asked)


def test_rows_are_explained_alike_in_any_company() -> None:
    trainer, rows = plain(), task().test
    found = trainer.explain(rows.x)
    for i in (0, 5):
        alone = trainer.explain(rows.x[i : i + 1])
        torch.testing.assert_close(alone.scores[0], found.scores[i, : len(rows.x[i])], atol=1e-6, rtol=0)


def test_explain_before_fit_is_refused() -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        Plain().explain(task().test.x)
    assert not hasattr(plain().clone(), "task_")


def test_no_rows_give_no_explanations() -> None:
    assert len(plain().explain([])) == 0


def test_the_generator_of_a_batch_is_that_of_the_run() -> None:
    seen: list[Any] = []

    class Watching(Plain):
        k = K

        def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
            seen.append(batch)
            return super().loss(lesson, batch)

    trained(Watching())
    assert all(isinstance(batch.rng, type(generator(0))) for batch in seen)
    assert all(batch.marked is None and batch.valid.dtype == torch.bool for batch in seen)
    assert sum(len(batch.y) for batch in seen) == 2 * len(task().train)
