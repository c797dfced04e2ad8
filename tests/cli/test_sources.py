"""Models and data as the user names them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from unmask.cli.sources import Source, check_source, data_of, find, task_of
from unmask.errors import InputError


def own(model: str, data: str = "rows.csv", **more: str) -> Source:
    return Source(f"usermodels:{model}", data, **({"label": "label"} | more))  # type: ignore[arg-type]


def test_a_model_and_a_function_that_makes_it(place: Path) -> None:
    assert find("usermodels:make") is find("usermodels:ready")
    assert callable(find("usermodels:same"))


def test_model_and_file_fit_together(place: Path) -> None:
    source = Source("usermodels:make", "rows.csv", "label")
    data = data_of(source)
    task = task_of(source, data)
    assert data.classes == ("no", "yes")
    answers = task.model(data.test.x).argmax(1)
    assert float((answers == data.test.y).float().mean()) > 0.9


def test_a_data_set_by_name() -> None:
    assert data_of(Source("reference", "xor:n=40")).name == "xor"


@pytest.mark.parametrize("name", ["xor", "xor:n=40"])
def test_no_file_or_folder_hides_a_data_set(name: str, place: Path) -> None:
    Path(name).mkdir()
    assert data_of(Source("reference", name)).name == "xor"
    Path(name).rmdir()
    Path(name).touch()
    assert data_of(Source("reference", name)).name == "xor"
    Path("rows.csv").rename("xor.csv")
    assert data_of(Source("reference", "xor.csv", "label")).classes == ("no", "yes")
    with pytest.raises(InputError, match="has an unknown ending"):
        data_of(Source("reference", f"./{name}"))


def test_an_onnx_file_and_a_folder(place: Path) -> None:
    from skl2onnx import to_onnx

    made = to_onnx(find("usermodels:ready"), np.zeros((1, 6), dtype=np.float32))
    Path("forest.onnx").write_bytes(made.SerializeToString())
    source = Source("forest.onnx", "rows.csv", "label")
    check_source(source)
    task = task_of(source, data := data_of(source))
    torch.testing.assert_close(task.model(data.test.x), task_of(own("ready"), data).model(data.test.x))
    check_source(Source(".", "rows.csv", "label"))
    with pytest.raises(InputError, match=r"holds no config\.json"):
        task_of(Source(".", "rows.csv", "label"), data)


def test_takes_is_passed_on(place: Path) -> None:
    texts = [f"{'good' if i % 2 else 'a very long and winding'} text {i}" for i in range(40)]
    pd.DataFrame({"t": texts, "label": [i % 2 for i in range(40)]}).to_csv("texts.csv", index=False)
    source = own("long_texts", "texts.csv", text="t", takes="text", kind="words")
    task = task_of(source, data_of(source))
    assert task.model.takes == "text"
    assert task.model(task.data.test.x).argmax(1).unique().tolist() == [0, 1]


def test_a_torch_model(place: Path) -> None:
    source = own("net", outputs="logits")
    task = task_of(source, data_of(source))
    assert isinstance(task.model.module, torch.nn.Linear)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"outputs": "logit"}, "unknown --outputs 'logit'; did you mean 'logits'?"),
        ({"takes": "frames"}, "unknown --takes 'frames'; did you mean 'frame'?"),
        ({"kind": "word"}, "unknown --kind 'word'; did you mean 'words'?"),
        ({"model": "reference", "outputs": "logits"}, "--outputs is for a model of your own"),
        (
            {"model": "forest"},
            "--model must be 'package.module:name', an ONNX file, a Hugging Face folder or 'reference'",
        ),
        ({"model": "a b:c"}, "--model must be 'package.module:name'"),
        ({"model": "a:"}, "--model must be 'package.module:name'"),
        ({"model": "net.onnx"}, "there is no file net.onnx for --model; check the path"),
        ({"model": __file__}, "--model .*test_sources.py is a file of another kind: expected .onnx, a folder, or"),
    ],
)
def test_names_are_checked_first(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match="^" + said.replace("?", r"\?")):
        check_source(Source(**({"model": "a:b", "data": "nowhere.csv"} | given)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Source("a:b", "tumour"), "unknown data set or file 'tumour'; did you mean 'tumours'?"),
        (Source("a:b", "nowhere.csv", "label"), "there is no file nowhere.csv"),
        (Source("a:b", "tumours", "label"), "--label is for files; tumours is a data set that knows it"),
        (Source("a:b", "rows.csv"), "say which column of rows.csv is the label; it has: a, b, c"),
        (Source("a:b", "rows.csv", "lable"), "unknown column 'lable'; did you mean 'label'?"),
        (Source("a:b", "usermodels.py", "label"), "usermodels.py has an unknown ending"),
        (Source("a:b", "broken.csv", "label"), "broken.csv cannot be read as .csv"),
        (Source("a:b", "one.csv", "label"), "y must hold at least two classes, got only"),
        (Source("a:b", "rows.csv", "a"), "regression"),
        (Source("a:b", "empty.csv", "label", "t"), "empty"),
    ],
    ids=["name", "file", "label", "no label", "column", "ending", "csv", "one class", "regression", "empty text"],
)
def test_data_that_cannot_be_used(place: Path, source: Source, said: str) -> None:
    Path("broken.csv").write_text('a,b\n"1,2\n3,4,5,6\n', encoding="utf-8")
    pd.DataFrame({"a": np.arange(9), "label": "x"}).to_csv("one.csv", index=False)
    pd.DataFrame({"t": ["a b", ""] * 6, "label": [0, 1] * 6}).to_csv("empty.csv", index=False)
    with pytest.raises(InputError) as refusal:
        data_of(source)
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Source("nomodule:x", ""), "cannot import 'nomodule' for --model: ModuleNotFoundError"),
        (Source("faulty:x", ""), "cannot import 'faulty' for --model: SyntaxError"),
        (own("redy"), "unknown name in usermodels for --model 'redy'; did you mean 'ready'?"),
        (own("broken"), "usermodels:broken for --model failed: RuntimeError: the weights"),
        (own("five"), "wrap takes a torch module, a fitted scikit-learn classifier, a callable, an ONNX file or"),
        (own("unfitted"), "LogisticRegression is not fitted"),
        (own("margins"), "LinearSVC has predict but no predict_proba"),
        (own("number"), "regression is not supported"),
        (own("LogisticRegression"), "wrap takes a fitted model, got the class LogisticRegression"),
        (own("net"), "say what the torch module returns"),
        (own("unsummed"), "unsummed should return probabilities, but a row sums to 2"),
        (own("three"), "three must answer 2 rows with shape (2, 2), got (2, 3)"),
        (Source("leaving:x", ""), "cannot import 'leaving' for --model: SystemExit: 3"),
        (own("failing"), "the model usermodels:failing failed: ValueError: no\nluck with these rows"),
    ],
    ids=lambda value: value.model.rpartition(":")[2] if isinstance(value, Source) else None,
)
def test_models_that_cannot_be_used(place: Path, source: Source, said: str) -> None:
    Path("faulty.py").write_text("def x(:\n", encoding="utf-8")
    Path("leaving.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    data = data_of(own("ready"))
    with pytest.raises(InputError) as refusal:
        task_of(source, data)
    assert said in str(refusal.value)


def test_running_out_of_memory_is_left_to_smaller_batches(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, seen = data_of(own("ready")), []

    def small(rows: np.ndarray) -> np.ndarray:
        seen.append(len(rows))
        if len(rows) > 8:
            raise MemoryError("out of memory")
        return np.tile([0.5, 0.5], (len(rows), 1))

    monkeypatch.setitem(__import__("sys").modules, "usermodels", SimpleNamespace(small=small))
    task = task_of(own("small"), data)
    assert len(task.model(data.test.x)) == len(data.test)
    assert max(seen[-4:]) <= 8


def test_ctrl_c_in_a_model_is_no_error_of_it(place: Path) -> None:
    Path("stopped.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        find("stopped:x")
