"""ONNX files of scikit-learn and of graphs with one answer: what goes in is found in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import unmask
from unmask.errors import InputError
from unmask.models import Wrapped, bind, wrap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4)).astype(np.float32)
Y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


def saved(made: Any, path: Path) -> Path:
    path.write_bytes(made.SerializeToString())
    return path


def graph(
    tmp_path: Path,
    last: str = "",
    out: str = "y",
    rows: int | str = "n",
    shape: tuple[int, ...] = (4,),
    classes: int = 3,
) -> tuple[Path, np.ndarray]:
    """x -> Flatten -> x W, and perhaps one node more; W is handed out too."""
    size = int(np.prod(shape))
    w = np.random.default_rng(1).normal(size=(size, classes)).astype(np.float32)
    ends = [helper.make_node(last, ["z"], [out])] if last else []
    nodes = [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["z" if last else out])]
    made = helper.make_graph(
        [*nodes, *ends],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, *shape])],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, [rows, classes])],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return saved(model, tmp_path / "net.onnx"), w


def soft(z: np.ndarray) -> np.ndarray:
    return torch.from_numpy(z).softmax(1).numpy()


@pytest.fixture(scope="module")
def estimator() -> LogisticRegression:
    return LogisticRegression().fit(X, Y)


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
def test_files_of_scikit_learn_answer_as_it_does(tmp_path: Path, estimator: Any, zipmap: Any) -> None:
    path = saved(to_onnx(estimator, X[:1], options={"zipmap": zipmap}), tmp_path / "forest.onnx")
    model = wrap(path)
    np.testing.assert_allclose(model(torch.from_numpy(X)), estimator.predict_proba(X), atol=1e-5)
    assert (model.name, model.outputs, model.takes) == ("forest", "probabilities", "array")
    assert model.labels == (("no", "yes") if zipmap is True else ())


def test_names_of_classes_put_the_columns_in_order(tmp_path: Path, estimator: Any) -> None:
    path = saved(to_onnx(estimator, X[:1], options={"zipmap": True}), tmp_path / "forest.onnx")
    data = unmask.dataset(X, Y, kind="table", classes=("yes", "no"))
    np.testing.assert_allclose(bind(path, data)(torch.from_numpy(X)), estimator.predict_proba(X)[:, ::-1], atol=1e-5)


def test_texts_are_put_together(tmp_path: Path) -> None:
    texts = ["good film", "bad film", "a good one", "a bad one"] * 5
    pipeline = make_pipeline(CountVectorizer(lowercase=False), LogisticRegression()).fit(texts, [1, 0] * 10)
    made = to_onnx(pipeline, initial_types=[("text", StringTensorType([None, 1]))])
    model = wrap(saved(made, tmp_path / "texts.onnx"))
    assert model.takes == "text"
    got = model([["good", "film"], ["a", "<pad>", "one"]])
    np.testing.assert_allclose(got, pipeline.predict_proba(["good film", "a one"]), atol=1e-5)


def test_several_inputs_are_the_columns_of_a_frame(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": X[:, 0], "the job": np.where(X[:, 1] > 0, "baker", "smith")})
    steps = ColumnTransformer([("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["the job"])])
    pipeline = make_pipeline(steps, LogisticRegression()).fit(frame, Y)
    types = [("age", FloatTensorType([None, 1])), ("the job", StringTensorType([None, 1]))]
    path = saved(to_onnx(pipeline, initial_types=types), tmp_path / "frame.onnx")
    data = unmask.dataset(frame, Y)
    model = bind(path, data)
    assert model.takes == "frame"
    want = pipeline.predict_proba(data.frames.decode(data.test.x))  # type: ignore[union-attr]
    np.testing.assert_allclose(model(data.test.x), want, atol=1e-5)
    other = unmask.dataset(frame.rename(columns={"age": "years"}), Y)
    with pytest.raises(InputError, match="takes a column 'age', but the data have: years, the job"):
        bind(path, other)(other.test.x)


@pytest.mark.parametrize(("last", "outputs"), [("", "logits"), ("Softmax", "probabilities")])
def test_a_graph_with_one_answer(tmp_path: Path, last: str, outputs: Any) -> None:
    path, w = graph(tmp_path, last)
    with pytest.raises(InputError, match=r"say what net returns in 'y': wrap\(model, outputs='logits'\)"):
        wrap(path)
    np.testing.assert_allclose(wrap(path, outputs=outputs)(torch.from_numpy(X)), soft(X @ w), atol=1e-5)


@pytest.mark.parametrize(("out", "last"), [("logits", ""), ("probabilities", "Softmax")])
def test_an_answer_that_is_called_what_it_is(tmp_path: Path, out: str, last: str) -> None:
    path, w = graph(tmp_path, last, out)
    model = wrap(path)
    assert (model.outputs, model.classes) == (out, 3)
    np.testing.assert_allclose(model(torch.from_numpy(X)), soft(X @ w), atol=1e-5)


@pytest.mark.parametrize("rows", [1, 8])
def test_a_fixed_number_of_rows_is_kept_to(tmp_path: Path, rows: int) -> None:
    path, w = graph(tmp_path, out="logits", rows=rows)
    np.testing.assert_allclose(wrap(path)(torch.from_numpy(X[:21])), soft(X[:21] @ w), atol=1e-5)


def test_images_go_in_whole_or_flat(tmp_path: Path) -> None:
    x = RNG.normal(size=(5, 1, 2, 2)).astype(np.float32)
    for shape in ((1, 2, 2), (4,)):
        path, w = graph(tmp_path, out="logits", shape=shape)
        np.testing.assert_allclose(wrap(path)(torch.from_numpy(x)), soft(x.reshape(5, 4) @ w), atol=1e-5)


def test_sessions_and_models_are_taken_too(tmp_path: Path) -> None:
    import onnxruntime

    path, w = graph(tmp_path, out="logits")
    for given in (onnx.load(path), onnxruntime.InferenceSession(path), str(path)):
        np.testing.assert_allclose(wrap(given)(torch.from_numpy(X)), soft(X @ w), atol=1e-5)


def ids_graph(tmp_path: Path) -> Path:
    """input_ids (n, words) -> the vectors of the words, summed."""
    table = np.random.default_rng(1).normal(size=(6, 2)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["v"]),
        helper.make_node("ReduceSum", ["v", "axes"], ["logits"], keepdims=0),
    ]
    made = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "d"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1]), "axes")],
    )
    return saved(
        helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "i.onnx"
    )


def test_ids_come_from_a_tokenizer(tmp_path: Path) -> None:
    path = ids_graph(tmp_path)
    with pytest.raises(InputError, match=r"takes ids of words .* say takes='ids' and tokenizer="):
        wrap(path)

    def tokens(rows: list[list[str]]) -> torch.Tensor:
        return torch.tensor([[len(word) for word in row] for row in rows])

    alone = wrap(path, takes="ids", tokenizer=tokens)
    named = wrap(path, takes="ids", tokenizer=lambda rows: {"input_ids": tokens(rows)})
    other = wrap(path, takes="ids", tokenizer=lambda rows: {"ids": tokens(rows)})
    rows = [["a", "film"], ["good", "one"]]
    assert torch.equal(alone(rows), named(rows))
    assert not torch.equal(alone(rows), alone([["a", "a"], ["a", "a"]]))
    with pytest.raises(InputError, match="the tokenizer gives ids, but the ONNX file also wants input_ids"):
        other(rows)


def test_files_that_cannot_be_used(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no graph")
    with pytest.raises(InputError, match=r"broken.onnx cannot be read as ONNX"):
        wrap(broken)
    with pytest.raises(InputError, match="there is no file or folder"):
        wrap(tmp_path / "nowhere.onnx")
    assert capfd.readouterr().err == ""  # onnxruntime itself is silent


def test_rows_of_another_shape_and_other_classes(tmp_path: Path) -> None:
    path, _ = graph(tmp_path, out="logits")
    with pytest.raises(InputError, match=r"wants rows of shape \(4,\) in 'x', the data have \(3,\)"):
        wrap(path)(torch.zeros(2, 3))
    with pytest.raises(InputError, match="takes arrays but the data are texts"):
        wrap(path)([["a"], ["b"]])
    with pytest.raises(InputError, match="net knows 3 classes but the data have 2"):
        bind(path, unmask.dataset(X, Y, kind="table"))


def test_gradients_are_refused(tmp_path: Path) -> None:
    path, _ = graph(tmp_path, out="logits", classes=2)
    model: Wrapped = wrap(path)
    with pytest.raises(InputError, match="net gives no gradients"):
        unmask.fit(model, unmask.dataset(X, Y, kind="table"), 1, method="gradient")
