"""What users get wrong, from the command line: one sentence, exit code 2, no traceback and nothing left behind."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cli.conftest import Run, refused

MODELS = """
import numpy as np
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
x = rng.normal(size=(200, 6))
ready = LogisticRegression().fit(x, x[:, 0] + x[:, 1] > 0)
logits = lambda rows: np.stack([-rows[:, 0], rows[:, 0]], 1) * 5
negative = lambda rows: np.tile([1.5, -0.5], (len(rows), 1))
missing = lambda rows: np.full((len(rows), 2), np.nan)
column = lambda rows: np.full(len(rows), 0.5)
fewer = lambda rows: np.full((len(rows) - 1, 2), 0.5)
words = lambda rows: ["yes"] * len(rows)
nothing = lambda rows: None


def raising(rows):
    raise RuntimeError("the server\\nis away")


def texts(rows):
    p = np.array([0.1 + 0.8 * ("good" in row) for row in rows])
    return np.stack([1 - p, p], 1)
"""


def frame() -> pd.DataFrame:
    x = np.random.default_rng(0).normal(size=(60, 6))
    return pd.DataFrame(x, columns=list("abcdef")).assign(label=np.where(x[:, 0] + x[:, 1] > 0, "yes", "no"))


def csv(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[], None]:
    return lambda: change(frame()).to_csv("bad.csv", index=False)


def file(name: str, content: bytes) -> Callable[[], None]:
    def write() -> None:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content)

    return write


def npz(**arrays: Any) -> Callable[[], None]:
    return lambda: np.savez("bad.npz", **arrays)


def scores(values: Any) -> Callable[[], None]:
    return lambda: np.save("bad.npy", np.asarray(values))


def lines(*rows: Any) -> Callable[[], None]:
    return file("bad.jsonl", "\n".join(json.dumps(row) for row in rows).encode())


def saved(name: str, content: bytes) -> Callable[[], None]:
    """A saved explainer of which one file is something else."""

    def write() -> None:
        from unmask import api
        from unmask.data import read

        data = read("rows.csv", label="label")
        api.fit(__import__("mistaken").ready, data, 2, method="occlusion").save("saved")
        (Path("saved") / name).write_bytes(content)

    return write


def audit(*words: str, model: str = "ready", data: str = "rows.csv") -> tuple[str, ...]:
    base = ("audit", "--model", f"mistaken:{model}", "--data", data, "--k", "2", "--rows", "20")
    more = (
        words
        if "--method" in words or "--scores" in words or "--explainer" in words
        else (*words, "--method", "occlusion")
    )
    return (*base, *(() if data.endswith(".npz") or data == "tumours" else ("--label", "label")), *more)


def bad(*words: str) -> tuple[str, ...]:
    return audit(*words, data="bad.csv")


TEXT = ("--text", "t", "--takes", "text")
BOMB = b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x05print\x94."
NOTHING = file("unused", b"")
ONE = {"t": "a b", "label": 0}

CASES: dict[str, tuple[Callable[[], None], tuple[str, ...], str]] = {
    # files of data
    "no such file": (NOTHING, audit(data="nowhere.csv"), "there is no file nowhere.csv"),
    "a folder as data": (NOTHING, audit(data="."), "unknown ending"),
    "an empty csv": (file("bad.csv", b""), bad(), "bad.csv holds no rows: it is empty"),
    "a csv of zeros": (file("bad.csv", b"\0" * 999), bad(), "bad.csv holds no rows"),
    "a csv with a head only": (file("bad.csv", b"a,b,label\n"), bad(), "bad.csv holds no rows"),
    "a csv that is a picture": (file("bad.csv", b"\x89PNG\r\n\x1a\n\xff\xfe"), bad(), "bad.csv cannot be read as .csv"),
    "a broken gzip": (
        file("bad.csv.gz", gzip.compress(b"a,b\n" * 99)[:-9]),
        audit(data="bad.csv.gz"),
        "cannot be read",
    ),
    "jsonl that is no json": (
        file("bad.jsonl", b"{'a': 1}"),
        audit(data="bad.jsonl"),
        "cannot be read as lines of JSON",
    ),
    "jsonl of numbers": (lines(1, 2, 3), audit(data="bad.jsonl"), "every line must be an object"),
    "jsonl of lists": (lines([1, 2], [3]), audit(data="bad.jsonl"), "every line must be an object"),
    "jsonl cut short": (
        file("bad.jsonl", b'{"a": 1, "lab'),
        audit(data="bad.jsonl"),
        "cannot be read as lines of JSON",
    ),
    "a parquet that is none": (file("bad.parquet", b"PAR1PAR1"), audit(data="bad.parquet"), "bad.parquet"),
    "a pickle called npz": (
        file("bad.npz", pickle.dumps({"x": 1})),
        audit(data="bad.npz"),
        "cannot be read as plain arrays",
    ),
    "objects in an npz": (
        npz(x=np.array([{}] * 9), y=np.arange(9)),
        audit(data="bad.npz"),
        "cannot be read as plain arrays",
    ),
    "arrays of other names": (npz(data=np.zeros(3)), audit(data="bad.npz"), "must hold x and y"),
    "x and y of other lengths": (npz(x=np.zeros((9, 2)), y=np.zeros(8)), audit(data="bad.npz"), "same number of rows"),
    "x without a second dimension": (npz(x=np.zeros(9), y=np.arange(9)), audit(data="bad.npz"), "kind"),
    "x of five dimensions": (
        npz(x=np.zeros((9, 1, 2, 2, 2)), y=[0, 1, 2] * 3),
        audit(data="bad.npz"),
        "images must be",
    ),
    # what is in them
    "no such label": (NOTHING, audit("--label", "lable"), "unknown column 'lable'; did you mean 'label'?"),
    "no such text": (NOTHING, audit("--text", "txt"), "unknown column 'txt'"),
    "no such column to drop": (NOTHING, audit("--drop", "aa"), "unknown column 'aa'"),
    "one class": (csv(lambda f: f.assign(label="yes")), bad(), "y must hold at least two classes"),
    "a class of one row": (csv(lambda f: f.assign(label=["no"] * 59 + ["yes"])), bad(), "needs at least 3 rows"),
    "labels are measurements": (csv(lambda f: f.assign(label=f.a)), bad(), "regression is not supported"),
    "a missing label": (csv(lambda f: f.assign(label=f.label.where(f.a < 1))), bad(), "every row needs a label"),
    "nothing but the label": (csv(lambda f: f[["label"]]), bad(), "no column is left"),
    "infinite values": (csv(lambda f: f.assign(a=np.inf)), bad(), "finite"),
    "missing values the model does not take": (csv(lambda f: f.assign(a=f.a.where(f.a < 0))), bad(), "missing values"),
    "empty texts": (csv(lambda f: f.assign(t="")), audit(*TEXT, model="texts", data="bad.csv"), "at least one word"),
    "texts that are numbers": (
        csv(lambda f: f.assign(t=f.a)),
        audit(*TEXT, model="texts", data="bad.csv"),
        "a text must be",
    ),
    "texts of signs we do not keep": (
        csv(lambda f: f.assign(t="\u200d\ufe0f")),
        audit(*TEXT, model="texts", data="bad.csv"),
        "at least one word",
    ),
    "a text of ten megabytes, of one word": (
        csv(lambda f: f.assign(t=["x" * 10_000_000] + ["good one", "bad one"] * 29 + ["good"])),
        audit(*TEXT, "--k", "9", model="texts", data="bad.csv"),
        "--k must be from 1 to 2",
    ),
    "parts that are none": (
        csv(lambda f: f.assign(part="x")),
        bad("--parts", "part"),
        "must say train, validation or test",
    ),
    "too few rows": (csv(lambda f: f.groupby("label").head(4)), bad(), "leaves"),
    # models
    "no such module": (NOTHING, audit("--model", "nowhere:x"), "cannot import 'nowhere' for --model"),
    "no such onnx": (NOTHING, audit("--model", "nowhere.onnx"), "there is no file nowhere.onnx"),
    "an onnx that is none": (file("bad.onnx", b"\x08\x01junk"), audit("--model", "bad.onnx"), "cannot be read as ONNX"),
    "a pickle as a model": (file("model.pkl", BOMB), audit("--model", "model.pkl"), "is a file of another kind"),
    "a folder without a model": (file("folder/x", b""), audit("--model", "folder"), "holds no config.json"),
    "a model that raises": (
        NOTHING,
        audit(model="raising"),
        "the model mistaken:raising failed: RuntimeError: the server is",
    ),
    "logits for probabilities": (NOTHING, audit(model="logits"), "if these are logits, say --outputs logits"),
    "negative probabilities": (NOTHING, audit(model="negative"), "holds negative values"),
    "nan from the model": (NOTHING, audit(model="missing"), "a value that is not finite"),
    "one column from the model": (NOTHING, audit(model="column"), "for two classes return both columns"),
    "rows lost by the model": (NOTHING, audit(model="fewer"), "must answer 2 rows"),
    "words from the model": (NOTHING, audit(model="words"), "must answer with an array"),
    "nothing from the model": (NOTHING, audit(model="nothing"), "must answer with an array"),
    "other data than the model's": (NOTHING, audit(data="tumours"), "the model mistaken:ready failed"),
    # explanations
    "k above d": (NOTHING, audit("--k", "7"), "--k must be from 1 to 6"),
    "k of words": (NOTHING, audit("--k", "two"), "Invalid value for '--k'"),
    "scores of another data set": (
        scores(np.zeros((41, 6))),
        audit("--scores", "bad.npy"),
        "are for 41 rows, but test",
    ),
    "scores of other units": (scores(np.zeros((40, 5))), audit("--scores", "bad.npy"), "must have shape (40, 6)"),
    "scores with nan": (
        scores(np.full((40, 6), np.nan)),
        audit("--scores", "bad.npy"),
        "hold values that are not finite",
    ),
    "a pickle as scores": (file("bad.npy", BOMB), audit("--scores", "bad.npy"), "cannot read scores from bad.npy"),
    "objects as scores": (
        scores(np.array([[{}] * 6] * 40)),
        audit("--scores", "bad.npy"),
        "cannot read scores from bad.npy",
    ),
    "scores of other columns": (
        lambda: pd.DataFrame(np.zeros((40, 6)), columns=list("uvwxyz")).to_csv("s.csv", index=False),
        audit("--scores", "s.csv"),
        "the column 'u', no unit of the data",
    ),
    "shap values of other rows": (
        lambda: np.savez("shap.npz", values=np.ones((40, 6)), base_values=np.zeros(40), data=np.ones((40, 6))),
        audit("--scores", "shap.npz"),
        "explains other rows: 40 of 40 differ",
    ),
    "a pickle for safetensors": (
        saved("tensors.safetensors", BOMB),
        audit("--explainer", "saved"),
        "cannot read saved/tensors",
    ),
    "a broken explainer": (
        saved("explainer.json", b'{"format": 2'),
        audit("--explainer", "saved"),
        "is not valid JSON",
    ),
    "an explainer of numbers": (saved("explainer.json", b"[1]"), audit("--explainer", "saved"), "has format None"),
    # options
    "a budget that is no time": (NOTHING, audit("--budget", "soon"), "a budget is a time such as 60s"),
    "an unknown check": (NOTHING, audit("--checks", "fs-x"), "unknown check 'fs-x'"),
    "an unknown option": (NOTHING, audit("--metod", "l2x"), "No such option"),
    "unicode": (NOTHING, audit("--label", "étiquette \U0001f600"), "unknown column 'étiquette \U0001f600'"),
    "a report that is none": (
        file("r.json", b"[]"),
        ("check", "r.json", "--require", "fs-m>1"),
        "is no report of unmask",
    ),
    "a rule that is none": (file("r.json", b"[]"), ("check", "r.json", "--require", "os.system('x')"), "r.json"),
    "a report that is not there": (NOTHING, ("compare", "a.json", "b.json"), "cannot read a.json"),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", CASES)
def test_one_sentence_and_nothing_more(name: str, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "mistaken.py").write_text(MODELS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(place))
    __import__("sys").modules.pop("mistaken", None)
    make, words, said = CASES[name]
    make()
    before = sorted(place.rglob("*"))
    assert said in refused(run(*words))
    assert sorted(place.rglob("*")) == before


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 60
