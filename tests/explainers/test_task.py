"""What all explainers share: checking the request, and turning scores into an Explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from explainers.samples import SHORT, K, fitted, model, task, unfitted
from unmask.errors import InputError, NotFittedError
from unmask.explainers.task import Task, as_inputs, begin, clone, explained, settings_of
from unmask.masking import default_removal
from unmask.models import wrap


def explainer(kind: str = "words", k: int = 2) -> SimpleNamespace:
    return SimpleNamespace(k=k, task_=begin(model(kind), task(kind), k, None))


@dataclass
class Plain:
    k: int = 2
    learned_: int = field(default=3, init=False)
    method: str = "plain"


@pytest.mark.parametrize("kind", ["table", "image", "words", "sentences"])
def test_the_removal_is_the_named_one_then_the_models_then_the_kinds(kind: str) -> None:
    other = {"table": "zero", "image": "zero", "words": "delete", "sentences": "pad"}[kind]
    named = {"table": "marginal", "image": "blur", "words": "mask-token", "sentences": "mask-token"}[kind]
    assert begin(model(kind), task(kind), 1, None).removal.name == default_removal(kind)
    of_model = wrap(model(kind), removal=other)
    assert begin(of_model, task(kind), 1, None).removal.name == other
    assert begin(of_model, task(kind), 1, named).removal.name == named


def test_hidden_units_are_zero_inside_networks_where_removal_is_zero() -> None:
    assert float(begin(model("table"), task("table"), 1, "zero").reader.centre.abs().sum()) == 0
    centre = begin(model("table"), task("table"), 1, "mean").reader.centre
    torch.testing.assert_close(centre, task("table").train.x.mean(0))


def test_a_removal_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="'blur' cannot hide units of kind 'table'"):
        unfitted("occlusion", removal="blur").fit(model("table"), task("table"))


def test_the_best_valid_units_are_kept_and_ties_go_to_the_first() -> None:
    x = [["soup", "tea", "rice"], ["soup"]]
    scores = torch.tensor([[1.0, 1.0, 1.0], [-3.0, 9.0, 9.0]])
    e = explained(_plain(), x, torch.tensor([0, 1]), lambda *_: scores)
    assert e.kept.tolist() == [[True, True, False], [True, False, False]]
    assert e.scores.tolist() == [[1.0, 1.0, 1.0], [-3.0, 0.0, 0.0]]
    assert e.valid.tolist() == [[True, True, True], [True, False, False]]
    assert e.x == x


def _plain() -> Plain:
    made = Plain()
    made.task_ = explainer().task_  # type: ignore[attr-defined]
    return made


def test_the_scores_are_asked_about_the_target() -> None:
    seen: list[Tensor] = []

    def score(_x: object, valid: Tensor, target: Tensor) -> Tensor:
        seen.append(target)
        return torch.zeros(valid.shape)

    x = task("words").test.x
    explained(_plain(), x, None, score)
    explained(_plain(), x, torch.full((len(x),), 2), score)
    assert torch.equal(seen[0], model("words")(x).argmax(1))
    assert seen[1].tolist() == [2] * len(x)


def test_the_approximator_reads_what_is_kept() -> None:
    def read(x: object, kept: Tensor) -> Tensor:
        return kept.sum(1)

    e = explained(
        _plain(), [["soup"], ["soup", "tea", "rice"]], torch.tensor([0, 0]), lambda *_: torch.zeros(2, 3), read
    )
    assert e.approximated is not None
    assert e.approximated.tolist() == [1, 2]
    assert e.target.tolist() == [0, 0]


def test_settings_are_plain_values_without_what_was_learned() -> None:
    assert settings_of(Plain()) == {"k": 2, "method": "plain"}
    settings = settings_of(fitted("l2x", "table"))
    assert settings["k"] == K
    assert settings["recipe"]["epochs"] == SHORT.epochs
    assert set(settings) == {"k", "tau", "draw", "approximator", "activation", "removal", "recipe", "device"}


def test_a_clone_starts_afresh() -> None:
    made = Plain(k=4)
    made.learned_ = 8
    assert clone(made) == Plain(k=4)


def test_numbers_come_in_any_form() -> None:
    ready, x = explainer("table").task_, task("table").test.x
    for form in (x, x.numpy(), x.tolist(), x.double(), x.numpy().astype("float64")):
        rows = as_inputs(form, ready)
        assert rows.dtype == torch.float32
        torch.testing.assert_close(rows, x)


def test_a_task_without_its_model_says_how_to_get_it() -> None:
    ready = explainer("table").task_
    with pytest.raises(NotFittedError, match=r"load_explainer\(path, model="):
        Task(ready.reader, ready.removal, ready.classes).ready()


def test_a_model_of_other_classes_is_refused() -> None:
    with pytest.raises(InputError, match=r"must answer .* rows with shape \(\d+, 3\), got \(\d+, 2\)"):
        unfitted("occlusion").fit(lambda x: torch.full((len(x), 2), 0.5), task("table")).explain(task("table").test.x)
