"""What SEAT's public code does: both losses against their formulas, and that the old model is left alone."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from attention.samples import SHORT, K, batch, lessons, model, task
from attention.test_seat import close, cross, slopes
from unmask.attention import moving
from unmask.attention.coded import CodedSEAT
from unmask.attention.seat import SEAT, topk_loss
from unmask.errors import InputError
from unmask.models.attacking import ascend
from unmask.seeds import generator

FORMS = pytest.mark.parametrize("form", ["development", "released"])


def test_the_development_form_measures_total_variation_from_the_old_answer() -> None:
    made = lessons(noise=0.3)
    rows = batch(made)
    trainer = CodedSEAT(K, radius=0.1, lam_stable=2.0, lam_overlap=5.0, form="development")
    got = trainer.loss(made, rows)
    w, states = made.student.attend(rows.x)

    def apart(raw: Tensor) -> Tensor:
        return (raw.softmax(1) - rows.p).abs().sum(1) / 2

    delta = ascend(lambda d: apart(made.student.answer(states.detach(), w.detach() + d)), rows.valid, 0.1, generator(0))
    want = apart(made.student.answer(states, w)) + 2.0 * apart(made.student.answer(states, w + delta))
    want = want + 5.0 * topk_loss(rows.w, w, K, rows.valid)
    close(got, want)
    for mine, other in zip(slopes(made, got), slopes(made, want), strict=True):
        close(mine, other)


def test_the_released_form_never_looks_at_the_old_model() -> None:
    made = lessons(noise=0.3)
    rows = batch(made)
    trainer = CodedSEAT(K, radius=0.1, lam_stable=2.0, lam_overlap=5.0)
    got = trainer.loss(made, rows)
    w, states = made.student.attend(rows.x)
    raw, hit = moving.attacked(made, batch(made), 0.1)
    sure = torch.nn.functional.one_hot(rows.y, 3).float()
    want = cross(made.student.answer(states, w).softmax(1), sure) + 2.0 * cross(raw.softmax(1), sure)
    want = want + 5.0 * topk_loss(hit, w, K, rows.valid)
    close(got, want)
    for mine, other in zip(slopes(made, got), slopes(made, want), strict=True):
        close(mine, other)
    strange = replace(batch(made), p=rows.p.roll(1, 1), w=rows.w.flip(0))
    assert torch.equal(trainer.loss(made, strange), got)
    for other in (SEAT(K, dropout=0.0), CodedSEAT(K, form="development")):
        assert not torch.allclose(other.loss(made, strange), other.loss(made, batch(made)))


@FORMS
def test_the_same_model_behind_its_methods_or_behind_a_hook_has_the_same_loss(form: Any) -> None:
    made = [lessons(hooked, noise=0.3) for hooked in (False, True)]
    close(*(CodedSEAT(K, form=form).loss(one, batch(one)) for one in made))


@FORMS
def test_only_the_copy_learns_and_from_every_term(form: Any) -> None:
    made = lessons(noise=0.3)
    CodedSEAT(K, form=form).loss(made, batch(made)).sum().backward()
    assert all(p.grad is None for p in made.given.module.parameters())
    assert [n for n, p in made.student.module.named_parameters() if not float(p.grad.abs().sum()) > 0] == []


@FORMS
def test_the_model_as_given_is_left_alone(form: Any) -> None:
    wrapped = model()
    assert wrapped.module is not None
    before = deepcopy(wrapped.module.state_dict())
    trainer: Any = CodedSEAT(K, form=form, recipe=replace(SHORT, epochs=1)).fit(wrapped, task())
    assert all(torch.equal(before[name], value) for name, value in wrapped.module.state_dict().items())
    assert not torch.equal(before["attention.key.weight"], trainer.model_.module.state_dict()["attention.key.weight"])
    assert trainer.explain(task().test.x).origin["method"] == f"seat-{form}"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"form": "final"}, "form must be development or released, got 'final'"),
        ({"radius": 0.0}, "radius must be above 0 and no lam below 0"),
        ({"lam_stable": -1.0}, "radius must be above 0 and no lam below 0"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        CodedSEAT(**wrong)
