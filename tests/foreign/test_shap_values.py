"""SHAP values are of the rows, of the model and toward the predicted class, or refused."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier

import unmask
from foreign.samples import RNG, W, X, about, polite, table, texts, three, three_classes, toward
from unmask.errors import InputError
from unmask.foreign.shap_values import shap_values


def made(values: Any, base: Any = 0.0, data: Any = None) -> Any:
    return SimpleNamespace(values=values, base_values=base, data=data)


def test_values_of_one_class_are_turned_toward_the_predicted_one() -> None:
    """A linear model's SHAP values are w (x - mean), toward class 1; the sums tell so."""
    it = about(table())
    x = it.split.x.numpy()
    values, base = W * (x - x.mean(0)), np.full(len(x), float((W * x.mean(0)).sum()))
    want = toward(it, torch.from_numpy(values))
    torch.testing.assert_close(shap_values(it, made(values, base, x)), want)
    torch.testing.assert_close(shap_values(it, made(-values, -base, x)), want)  # toward class 0
    torch.testing.assert_close(shap_values(it, made(want.numpy(), np.abs(base) * 0, x)), want)  # already turned


def test_values_of_all_classes() -> None:
    it = about(three_classes(), three)
    x = it.split.x.numpy()
    values = np.zeros((*x.shape, 3), dtype=np.float32)
    for c in range(3):
        values[:, c, c] = 3.0 * x[:, c]
    found = shap_values(it, made(values, np.zeros((len(x), 3)), x))
    want = np.zeros_like(x)
    rows = np.arange(len(x))
    want[rows, it.target.numpy()] = 3.0 * x[rows, it.target.numpy()]
    torch.testing.assert_close(found, torch.from_numpy(want))
    torch.testing.assert_close(shap_values(it, made(values, np.zeros(len(x)), x)), found)  # one base for each row


def test_one_class_of_several_is_refused() -> None:
    it = about(three_classes(), three)
    values = np.zeros((len(it.split), 4), dtype=np.float32)
    values[:, 1] = it.said[:, 1].numpy()
    with pytest.raises(InputError, match=r"explains the class '1' only; give the values of all classes"):
        shap_values(it, made(values))


@pytest.mark.parametrize("form", ["rows", "model", "classes"])
def test_an_explanation_of_something_else_is_refused(form: str) -> None:
    it = about(table())
    x = it.split.x.numpy()
    both = np.stack([-W * x, W * x], -1)
    said = {
        "rows": (made(W * x, 0.0, x[::-1].copy()), "explains other rows: 30 of 30 differ from test of yours"),
        "model": (made(np.random.default_rng(4).normal(size=x.shape), 0.0, x), "do not follow the model's answers"),
        "classes": (
            made(both[..., ::-1].copy(), np.zeros(2), x),
            "adds up to the model's answer in 0% of the rows only",
        ),
    }
    with pytest.raises(InputError, match=said[form][1]):
        shap_values(it, said[form][0])


def test_pieces_of_texts_are_summed_to_words() -> None:
    it = about(texts(), polite)
    pieces, values = [], []
    for row in it.split.x:
        cut = [
            "",
            *(
                part
                for word in row
                for part in (f"##{word[:2]}" if len(word) > 3 else word, word[2:] * (len(word) > 3))
            ),
        ]
        pieces.append(np.array(cut))
        values.append(np.stack([np.arange(len(cut)), -np.arange(len(cut))], 1))
    found = shap_values(it, made(np.array(values, dtype=object), 0.0, pieces))
    row = next(i for i, words in enumerate(it.split.x) if words == ["a", "good", "film"])
    sign = 1 if it.target[row] == 0 else -1
    assert found[row, :3].tolist() == [sign * 1.0, sign * (3.0 + 4.0), sign * (5.0 + 6.0)]


def test_what_shap_itself_makes() -> None:
    shap = pytest.importorskip("shap")
    it = about(table())
    x = it.split.x.numpy()
    real = shap.Explanation(W * x, np.zeros(len(x)), x)
    torch.testing.assert_close(shap_values(it, real), toward(it, torch.from_numpy(W * x)))


def test_one_class_of_texts_is_turned_toward_the_predicted_one() -> None:
    it = about(texts(), polite)
    rows = [np.array(row) for row in it.split.x]
    good = [np.array([0.8 * (word == "good") - 0.1 * (word == "bad") for word in row]) for row in rows]
    found = shap_values(it, made(np.array(good, dtype=object), 0.1, rows))
    turned = [v if t else -v for v, t in zip(good, it.target.tolist(), strict=True)]
    for row, want in zip(found, turned, strict=True):
        torch.testing.assert_close(row[: len(want)], torch.as_tensor(want).float())


@pytest.mark.parametrize("base", [None, np.array([0.1, -0.1]), 0.5])
def test_one_class_needs_no_base_value(base: Any) -> None:
    it = about(table())
    x = it.split.x.numpy()
    torch.testing.assert_close(shap_values(it, made(W * x, base, x)), toward(it, torch.from_numpy(W * x)))


def test_hard_answers_are_followed_although_most_are_equal() -> None:
    """A tree that is sure of everything: ranks of equals are shared."""

    def rare(x: Any) -> np.ndarray:
        p = (np.asarray(x)[:, 0] > 1.2).astype(float)
        return np.stack([1 - p, p], 1)

    it = about(table(), rare)
    x = it.split.x.numpy()
    assert 0 < int(it.target.sum()) < len(x) // 5
    values = np.zeros_like(x)
    values[:, 0] = rare(x)[:, 1]
    torch.testing.assert_close(shap_values(it, made(values, 0.0, x)), toward(it, torch.from_numpy(values)))


def two_answers(x: Any) -> np.ndarray:
    """Its answers to the class and to the predicted one rank alike: .1 and .95, or .9 and .95."""
    p = np.where(np.asarray(x)[:, 0] > 0, 0.95, 0.1)
    return np.stack([1 - p, p], 1)


@pytest.mark.parametrize("scale", ["probabilities", "log-odds"])
@pytest.mark.parametrize("one", [True, False], ids=["base", "bases"])
def test_two_answers_are_told_apart_by_what_they_add_up_to(scale: str, one: bool) -> None:
    it = about(table(), two_answers)
    p = it.said[:, 1].numpy()
    answer = p if scale == "probabilities" else np.log(p / (1 - p))
    base = float(answer.mean())
    values = np.zeros((len(p), 4), dtype=np.float32)
    values[:, 0], values[:, 1] = 0.7 * (answer - base), 0.3 * (answer - base)
    bases = base if one else np.full(len(p), base)
    assert 0 < int(it.target.sum()) < len(p)
    want = toward(it, torch.from_numpy(values))
    torch.testing.assert_close(shap_values(it, made(values, bases)), want)
    away = -base if scale == "log-odds" else 1 - base
    torch.testing.assert_close(shap_values(it, made(-values, away)), want)  # toward class 0
    turned = np.where(it.target.numpy() == 1, base, away)
    torch.testing.assert_close(shap_values(it, made(want.numpy(), turned)), want)


def test_two_answers_without_base_values_are_refused() -> None:
    it = about(table(), two_answers)
    values = np.zeros((len(it.split), 4), dtype=np.float32)
    values[:, 0] = it.said[:, 1].numpy()
    with pytest.raises(
        InputError, match=r"cannot tell whether 'mine' speaks for one class .* no base values; give the values of all"
    ):
        shap_values(it, made(values, None))
    with pytest.raises(InputError, match=r"rank alike; give the values of all classes \(n, d, 2\)"):
        shap_values(it, made(values, 100.0))


def test_one_row_is_turned_by_what_it_adds_up_to() -> None:
    data = table()
    row = next(i for i, x in enumerate(data.test.x) if float(x @ torch.from_numpy(W)) < -1)
    it = about(replace(data, test=data.test.rows(torch.tensor([row]))))
    values = W * it.split.x.numpy()
    torch.testing.assert_close(shap_values(it, made(values, 0.0)), -torch.from_numpy(values))


def test_a_tree_of_two_answers_by_shap_itself() -> None:
    shap = pytest.importorskip("shap")
    x, y = load_iris(return_X_y=True, as_frame=True)
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(x, y > 0)
    data = unmask.dataset(x, y > 0)
    assert data.frames is not None
    rows = data.frames.decode(data.test.x)
    explained, it = shap.TreeExplainer(model)(rows), about(data, model)
    assert len(it.said.unique(dim=0)) == 2
    found = shap_values(it, explained)
    torch.testing.assert_close(found, toward(it, torch.as_tensor(explained.values).float()))


@pytest.mark.parametrize("base", [0.5, np.zeros(30), None])
def test_interactions_are_refused(base: Any) -> None:
    it = about(table())
    pairs = RNG.normal(size=(len(it.split), 4, 4))
    with pytest.raises(InputError, match=r"interactions\? sum them over the last axis first"):
        shap_values(it, made(pairs, base))


def test_as_many_columns_as_classes_are_no_interactions_where_each_class_has_a_base() -> None:
    data = unmask.dataset(X[:, :3], X[:, :3].argmax(1), kind="table")
    it = about(data, three)
    x = it.split.x.numpy()
    values = np.stack([np.diag(3.0 * row) for row in x]) + 0.01
    found = shap_values(it, made(values, np.zeros((len(x), 3)), x))
    want = values[np.arange(len(x)), :, it.target.numpy()]
    torch.testing.assert_close(found, torch.from_numpy(want).float())
    with pytest.raises(InputError, match="values of classes"):
        shap_values(it, made(values, np.zeros(len(x)), x))
