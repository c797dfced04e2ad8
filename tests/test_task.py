"""What all explainers share: checking the request, and turning scores into an Explanation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import unmask
from explainers.samples import SHORT, K, fitted, model, task, unfitted
from unmask.errors import InputError, NotFittedError
from unmask.masking import default_removal
from unmask.models import counted, wrap
from unmask.task import Task, as_inputs, begin, clone, explained, settings_of, targets, turned


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


def test_the_approximator_is_asked_only_where_there_is_no_model() -> None:
    asked = []

    def read(x: object, kept: Tensor) -> Tensor:
        asked.append(kept)
        return kept.sum(1)

    plain, x = _plain(), [["soup"], ["soup", "tea", "rice"]]
    assert (
        explained(plain, x, None, lambda *_: torch.zeros(2, 3), read).target.tolist()
        == model("words")(x).argmax(1).tolist()
    )
    assert explained(plain, x, torch.tensor([0, 0]), lambda *_: torch.zeros(2, 3), read).target.tolist() == [0, 0]
    assert not asked
    plain.task_ = replace(plain.task_, model=None)
    assert explained(plain, x, None, lambda *_: torch.zeros(2, 3), read).target.tolist() == [1, 2]
    assert len(asked) == 1


def test_settings_are_plain_values_without_what_was_learned() -> None:
    assert settings_of(Plain()) == {"k": 2, "method": "plain"}
    settings = settings_of(fitted("l2x", "table"))
    assert settings["k"] == K
    assert settings["recipe"]["epochs"] == SHORT.epochs
    own = {"k", "tau", "draw", "approximator", "activation", "epoch", "noise"}
    assert set(settings) == own | {"removal", "feedback", "cure", "recipe", "device"}


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


def test_a_turned_answer_has_its_highest_probability_at_the_target() -> None:
    answer = torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])
    got = turned(answer, torch.tensor([2, 1, 0]))
    assert got.tolist() == [row.tolist() for row in (answer[0, [2, 1, 0]], answer[1], answer[2, [2, 1, 0]])]
    assert answer[0].tolist() == torch.tensor([0.5, 0.2, 0.3]).tolist()  # the model's own is left alone


def test_a_turned_answer_of_two_classes_is_the_answer_or_its_mirror() -> None:
    answer = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.5, 0.5]])
    got = turned(answer, torch.tensor([0, 1, 1]))
    torch.testing.assert_close(got, torch.tensor([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]]))


def test_with_feedback_the_scores_get_the_answer_turned_toward_the_target() -> None:
    seen: list[Tensor] = []

    def score(_x: object, valid: Tensor, fed: Tensor) -> Tensor:
        seen.append(fed)
        return torch.zeros(valid.shape)

    x = task("words").test.x
    answer = model("words")(x)
    about = (answer.argmax(1) + 1) % 3
    own = explained(_plain(), x, None, score, feedback=True)
    other = explained(_plain(), x, about, score, feedback=True)
    assert torch.equal(seen[0], answer)
    assert torch.equal(seen[1], turned(answer, about))
    assert torch.equal(own.target, answer.argmax(1))
    assert torch.equal(other.target, about)
    assert (own.origin["target by"], other.origin["target by"]) == ("model", "caller")


def test_feedback_asks_the_model_once() -> None:
    x = task("words").test.x
    for about in (None, torch.zeros(len(x), dtype=torch.long)):
        with counted() as tally:
            explained(_plain(), x, about, lambda _x, valid, _fed: torch.zeros(valid.shape), feedback=True)
        assert tally.rows == len(x)


def test_feedback_needs_the_model_even_where_an_approximator_reads() -> None:
    made, ready = Plain(), explainer().task_
    made.task_ = Task(ready.reader, ready.removal, ready.classes)  # type: ignore[attr-defined]
    x = [["soup", "tea"]]
    read = explained(made, x, None, lambda *_: torch.zeros(1, 2), lambda _x, kept: kept.sum(1))
    assert read.origin["target by"] == "approximator"
    with pytest.raises(NotFittedError, match=r"load_explainer\(path, model="):
        explained(made, x, None, lambda *_: torch.zeros(1, 2), lambda _x, kept: kept.sum(1), feedback=True)


def test_readings_of_the_fit_become_part_of_the_origin() -> None:
    made = _plain()
    made.readings_ = {"readings": {"fs-m": 0.5}, "warnings": ["beware"]}  # type: ignore[attr-defined]
    origin = explained(made, [["soup"]], torch.tensor([0]), lambda *_: torch.zeros(1, 1)).origin
    assert origin["readings"] == {"fs-m": 0.5}
    assert origin["warnings"] == ["beware"]
    assert origin["k"] == 2


def test_a_sentence_without_words_is_refused() -> None:
    ready = begin(model("sentences"), task("sentences"), 2, None)
    with pytest.raises(InputError, match="row 1 has a sentence without words"):
        as_inputs([[["good"]], [["good"], [], ["bad"]]], ready)
    with pytest.raises(InputError, match="row 0 is an empty text"):
        as_inputs([[]], ready)


def test_data_frames_are_explained_as_the_data_were_read() -> None:
    frame = pd.DataFrame({"city": ["Köln", "Bonn"] * 30, "age": [30.0, 41.5, 22.0, 63.0] * 15})
    data = unmask.dataset(frame, ["yes", "no"] * 30)
    model = unmask.wrap(lambda f: np.stack([f["city"] == "Köln", f["city"] != "Köln"], 1) * 0.8 + 0.1, takes="frame")
    explainer = unmask.fit(model, data, k=1, method="occlusion")
    e = explainer.explain(frame[["age", "city"]][:4])  # by name, not by place
    assert e.kept.tolist() == [[True, False]] * 4
    assert torch.equal(e.x, data.frames.encode(frame[:4]))
    with pytest.raises(InputError, match="lacks the columns city that the data had"):
        explainer.explain(frame[["age"]])
    with pytest.raises(InputError, match="column 'city' has the new value 'Ulm'"):
        explainer.explain(frame[:2].assign(city="Ulm"))
    with pytest.raises(InputError, match="column 'age' held numbers in the data, but here: could not convert"):
        explainer.explain(frame[:2].assign(age="old"))


def test_a_frame_of_numbers_and_strings_are_taken_where_the_data_were_arrays_and_texts() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3)).astype("float32")
    data = unmask.dataset(x, (x[:, 0] > 0).astype(int))
    model = unmask.wrap(lambda rows: np.stack([rows[:, 0] <= 0, rows[:, 0] > 0], 1) * 0.8 + 0.1)
    e = unmask.fit(model, data, k=1, method="occlusion").explain(pd.DataFrame(x[:5]))
    assert torch.equal(e.x, torch.from_numpy(x[:5]))
    texts = ["Good soup.", "bad tea", "good tea", "bad soup"] * 15
    reviews = unmask.dataset(texts, ["up", "down"] * 30)
    said = unmask.wrap(lambda rows: np.array([[0.1, 0.9] if "bad" in t else [0.9, 0.1] for t in rows]), takes="text")
    e = unmask.fit(said, reviews, k=1, method="occlusion").explain(["Bad, cold soup"])
    assert e.x == [["bad", ",", "cold", "soup"]]
    assert e.kept.tolist() == [[True, False, False, False]]


@pytest.mark.parametrize("named", ["up", ["up", "down"], object()])
def test_a_class_is_asked_about_by_its_number(named: object) -> None:
    with pytest.raises(InputError, match=r"target must hold 2 class numbers from 0 to 1, got "):
        targets(named, 2, 2)
