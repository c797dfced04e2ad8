"""What every method promises, whatever it does inside: the whole table of methods on every kind of data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from explainers.samples import KINDS, READS_ITSELF, K, fitted, model, task, unfitted
from unmask.errors import InputError, NotFittedError
from unmask.explainers import METHODS
from unmask.loading import load
from unmask.methods import make
from unmask.models import wrap
from unmask.task import UNAIMED
from unmask.types import Explanation

EVERY = pytest.mark.parametrize("kind", KINDS)
LONG = {"cxplain", "fastshap", "invase", "meed", "mimic", "real-x", "sequential", "vibi"}  # l2x stands for them,
LONG |= {
    "infd",
    "kernel-shap",
    "lime",
    "lime-package",
    "shap-package",
    "smoothgrad",
    "gradient-x-input-abs",
}  # occlusion and gradients for these


def each(names: set[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in sorted(names)]


METHOD = pytest.mark.parametrize("method", each(set(METHODS)))
BAD_K = [0, -1, 1000, "3", 2.0, True, None]


def state(kind: str) -> dict[str, Tensor]:
    module = model(kind).module
    assert module is not None
    return {name: value.clone() for name, value in module.state_dict().items()}


@contextmanager
def nothing_else_moves(kind: str) -> Iterator[None]:
    """The model, its mode, its gradients, torch's generator and the rows are afterwards as they were before."""
    module, x = model(kind).module, task(kind).test.x
    assert module is not None
    before, rows = state(kind), x.clone() if isinstance(x, Tensor) else json.dumps(x)
    torch.manual_seed(77)
    random = torch.get_rng_state()
    yield
    assert torch.equal(torch.get_rng_state(), random)
    for name, value in state(kind).items():
        assert torch.equal(value, before[name]), name
    assert not any(m.training for m in module.modules())
    assert all(p.grad is None and p.requires_grad for p in module.parameters())
    if isinstance(x, Tensor):
        assert torch.equal(x, rows)
        assert not x.requires_grad
    else:
        assert json.dumps(x) == rows


def same(a: Explanation, b: Explanation) -> None:
    assert torch.equal(a.scores, b.scores)
    assert torch.equal(a.kept, b.kept)
    assert torch.equal(a.target, b.target)


@EVERY
@METHOD
def test_an_explanation_has_the_promised_shape(method: str, kind: str) -> None:
    rows = task(kind).test
    e = fitted(method, kind).explain(rows.x)
    assert e.scores.shape == e.kept.shape == e.valid.shape == rows.valid.shape
    assert (e.scores.dtype, e.kept.dtype, e.target.dtype) == (torch.float32, torch.bool, torch.long)
    assert bool(e.scores.isfinite().all())
    assert not e.scores.requires_grad
    assert torch.equal(e.valid, rows.valid)
    assert torch.equal(e.kept.sum(1), rows.valid.sum(1).clamp(max=K))
    assert not bool((e.kept & ~rows.valid).any())
    assert float(e.scores[~rows.valid].abs().sum()) == 0.0
    assert torch.equal(e.target, model(kind)(rows.x).argmax(1))
    assert e.classes == task(kind).classes
    assert e.layout == task(kind).layout
    lowest, highest = e.scores.masked_fill(~e.kept, 1e9).amin(1), e.scores.masked_fill(e.kept | ~e.valid, -1e9).amax(1)
    assert bool((lowest >= highest).all()), "a unit that is left out scores higher than one that is kept"


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("method", sorted(name for name in METHODS if hasattr(unfitted(name), "recipe")))
def test_what_learns_learns_in_mixed_precision_too(method: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, cast, entered = unfitted(method), torch.autocast, []
    monkeypatch.setattr(torch, "autocast", lambda *given, **more: entered.append(given) or cast(*given, **more))
    mixed = replace(plain, recipe=replace(plain.recipe, precision="mixed")).fit(model(kind), task(kind))
    e = mixed.explain(task(kind).test.x)
    assert e.scores.dtype == torch.float32
    assert bool(e.scores.isfinite().all())
    assert ("cpu", torch.bfloat16) in entered


def test_the_samples_hold_the_hard_cases() -> None:
    """Rows shorter than K, more than one answer, units of several columns: else the tests here would be empty."""
    for kind in KINDS:
        assert len(set(model(kind)(task(kind).test.x).argmax(1).tolist())) == 3
    for kind in ("words", "sentences"):
        lengths = task(kind).test.valid.sum(1)
        assert int(lengths.min()) < K < int(lengths.max())
    assert any(len(columns) > 1 for columns in task("table").groups)


@METHOD
@EVERY
def test_no_rows_have_an_empty_explanation(method: str, kind: str) -> None:
    found = fitted(method, kind).explain(task(kind).test.x[:0])
    assert len(found) == len(found.scores) == len(found.kept) == 0
    assert found.scores.shape == found.valid.shape


@METHOD
def test_another_class_may_be_asked_about(method: str) -> None:
    rows = task("table").test
    about = (model("table")(rows.x).argmax(1) + 1) % 3
    e = fitted(method, "table").explain(rows.x, target=about)
    assert torch.equal(e.target, about)
    for form in (about.tolist(), about.numpy(), about.int()):
        same(fitted(method, "table").explain(rows.x, target=form), e)


@METHOD
def test_what_is_said_about_a_class_depends_on_it_or_origin_says_not(method: str) -> None:
    rows = task("table").test
    about = (model("table")(rows.x).argmax(1) + 1) % 3
    own, other = fitted(method, "table").explain(rows.x), fitted(method, "table").explain(rows.x, target=about)
    assert torch.equal(own.scores, other.scores) == (other.origin["target by"] == UNAIMED)
    assert other.origin["target by"] in ("caller", UNAIMED)


@EVERY
@METHOD
def test_fit_returns_itself_and_moves_nothing_else(method: str, kind: str) -> None:
    explainer = unfitted(method)
    with nothing_else_moves(kind):
        assert explainer.fit(model(kind), task(kind)) is explainer
    with nothing_else_moves(kind):
        e = explainer.explain(task(kind).test.x)
    assert not isinstance(e.x, Tensor) or not e.x.requires_grad


@EVERY
@METHOD
def test_the_same_seed_gives_the_same_scores(method: str, kind: str) -> None:
    twin = fitted(method, kind).clone()
    torch.manual_seed(123)  # must not matter
    twin.fit(model(kind), task(kind))
    same(twin.explain(task(kind).test.x), fitted(method, kind).explain(task(kind).test.x))
    same(twin.explain(task(kind).test.x), twin.explain(task(kind).test.x))


@EVERY
@pytest.mark.parametrize("method", each(set(METHODS) - {"random"}))  # draws for all rows of a call from one generator
def test_a_row_is_explained_without_regard_to_its_neighbours(method: str, kind: str) -> None:
    x = task(kind).test.x
    whole = fitted(method, kind).explain(x)
    for i in range(len(x)):
        alone = fitted(method, kind).explain(x[i : i + 1])
        d = alone.scores.shape[1]
        torch.testing.assert_close(alone.scores[0], whole.scores[i, :d], atol=1e-5, rtol=1e-5)
        assert torch.equal(alone.kept[0], whole.kept[i, :d])
        assert not bool(whole.kept[i, d:].any())
        assert alone.target[0] == whole.target[i]


@METHOD
def test_explaining_before_fitting_is_refused(method: str) -> None:
    for again in (unfitted(method), fitted(method, "table").clone()):
        with pytest.raises(NotFittedError, match=r"call fit\(model, data\) before explain"):
            again.explain(task("table").test.x)


@METHOD
def test_a_clone_has_the_settings_and_nothing_learned(method: str) -> None:
    original = fitted(method, "table")
    original.explain(task("table").test.x)
    twin = original.clone()
    assert twin is not original
    assert type(twin) is type(original)
    assert twin == unfitted(method)
    assert not hasattr(twin, "task_")
    assert [name for name, value in vars(twin).items() if isinstance(value, torch.nn.Module)] == []


@METHOD
def test_origin_says_how_it_was_made(method: str) -> None:
    removed = fitted(method, "table").clone()
    removed.removal = "zero"
    for explainer, removal in ((fitted(method, "table"), "mean"), (removed.fit(model("table"), task("table")), "zero")):
        origin = explainer.explain(task("table").test.x).origin
        assert (origin["method"], origin["removal"], origin["k"]) == (method, removal, K)
        assert origin["seconds"] > 0
        assert origin.get("seed", origin.get("recipe", {}).get("seed", 0)) == 0
        assert "readings_" not in origin


@EVERY
@METHOD
def test_saved_and_loaded_it_says_the_same(method: str, kind: str, tmp_path: Path) -> None:
    x = task(kind).test.x
    fitted(method, kind).save(tmp_path / "kept" / "here")
    assert {path.name for path in (tmp_path / "kept" / "here").iterdir()} == {"explainer.json", "tensors.safetensors"}
    again = load(tmp_path / "kept" / "here", model(kind))
    assert again == fitted(method, kind).clone() or again.readings_
    kept = fitted(method, kind)
    before, after = kept.explain(x), again.explain(x)
    same(before, after)
    timeless = [{name: value for name, value in e.origin.items() if name != "seconds"} for e in (before, after)]
    assert timeless[0] == timeless[1]
    assert after.classes == before.classes
    assert after.layout == before.layout
    assert (after.origin["method"], after.origin["k"]) == (method, K)


@EVERY
@METHOD
def test_loaded_without_the_model(method: str, kind: str, tmp_path: Path) -> None:
    x = task(kind).test.x
    fitted(method, kind).save(tmp_path / "kept")
    again = load(tmp_path / "kept")
    if method not in READS_ITSELF:
        with pytest.raises(NotFittedError, match=r"loaded without its model: load_explainer\(path, model=\.\.\.\)"):
            again.explain(x)
        return
    kept = fitted(method, kind)
    before, after = kept.explain(x), again.explain(x)
    assert torch.equal(after.scores, before.scores)
    assert torch.equal(after.kept, before.kept)
    assert torch.equal(after.target, kept.approximated(x, before.kept))


@METHOD
@pytest.mark.parametrize("k", BAD_K)
def test_an_impossible_k_is_refused(method: str, k: Any) -> None:
    with pytest.raises(InputError) as refused:
        unfitted(method, k).fit(model("table"), task("table"))
    assert str(refused.value) == f"k must be a whole number from 1 to 5 (a row of yours has 5 units), got {k!r}"


@METHOD
def test_all_units_may_be_kept(method: str) -> None:
    e = unfitted(method, 5).fit(model("table"), task("table")).explain(task("table").test.x)
    assert bool(e.kept.all())


@METHOD
@pytest.mark.parametrize("bad", [torch.zeros(2, 6), torch.zeros(7), torch.zeros(2, 7, 1), [["soup", "tea"]], "soup"])
def test_rows_of_another_shape_are_refused(method: str, bad: Any) -> None:
    with pytest.raises(InputError, match=r"expected rows of shape \(n, 7\), got "):
        fitted(method, "table").explain(bad)


@METHOD
@pytest.mark.parametrize(
    ("kind", "bad", "said"),
    [
        ("words", ["warm soup", ["tea"]], "lists of strings"),
        ("words", "warm soup", "lists of strings"),
        ("words", [[["warm"], ["soup"]]], "lists of strings"),
        ("words", torch.zeros(2, 3), "lists of strings"),
        ("sentences", ["warm soup"], "lists of lists of strings"),
        ("sentences", [["warm", "soup"]], "lists of lists of strings"),
    ],
)
def test_other_things_than_texts_are_refused(method: str, kind: str, bad: Any, said: str) -> None:
    with pytest.raises(InputError, match=rf"expected rows of {kind} \({said}\), got .*; split them first"):
        fitted(method, kind).explain(bad)


@METHOD
@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_an_empty_text_is_refused(method: str, kind: str) -> None:
    good = task(kind).test.x[0]
    for empty in ([], [[]])[: 1 + (kind == "sentences")]:
        with pytest.raises(InputError, match="row 1 is an empty text"):
            fitted(method, kind).explain([good, empty])


@METHOD
@pytest.mark.parametrize(
    ("target", "got"),
    [
        ([0, 3], r"\[0, 3\]"),
        ([-1, 0], r"\[-1, 0\]"),
        ([0], r"shape \(1,\)"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([0.0, 1.0], "float32"),
    ],
)
def test_a_target_that_is_no_class_is_refused(method: str, target: Any, got: str) -> None:
    with pytest.raises(InputError, match=f"target must hold 2 class numbers from 0 to 2, got .*{got}"):
        fitted(method, "table").explain(task("table").test.x[:2], target=torch.tensor(target))


@METHOD
def test_a_model_without_gradients(method: str) -> None:
    """Gradient methods say what to use instead; all others work."""
    data = task("table")
    estimator = LogisticRegression(max_iter=500).fit(data.train.x.numpy(), data.train.y.numpy())
    if METHODS[method].needs_gradients:
        with pytest.raises(InputError, match=r"LogisticRegression gives no gradients: use .* such as occlusion"):
            unfitted(method).fit(wrap(estimator), data)
    else:
        e = unfitted(method).fit(wrap(estimator), data).explain(data.test.x)
        assert e.target.tolist() == estimator.predict(data.test.x.numpy()).tolist()


@METHOD
def test_the_table_makes_what_it_names(method: str) -> None:
    made = make(method, 2, "zero")
    assert (made.method, made.k, made.removal) == (method, 2, "zero")
    assert METHODS[method].line


def test_an_unknown_method_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="unknown method 'oclusion'; did you mean 'occlusion'"):
        make("oclusion", 2)
