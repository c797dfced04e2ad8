"""Scores from files of every kind, and a sentence for every other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unmask.cli.scores import read_scores
from unmask.errors import InputError

VALUES = np.arange(6.0).reshape(3, 2)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_kind_of_file_gives_the_same_numbers() -> None:
    np.save("a.npy", VALUES)
    np.savez("b.npz", VALUES)
    np.savez("c.npz", scores=VALUES, other=np.zeros(2))
    pd.DataFrame(VALUES, columns=["x", "y"]).to_csv("d.csv", index=False)
    Path("e.json").write_text(json.dumps(VALUES.tolist()), encoding="utf-8")
    Path("f.json").write_text(json.dumps({"scores": VALUES.tolist(), "kept": [[0]] * 3}), encoding="utf-8")
    Path("g.json").write_text(json.dumps({"scores": VALUES.tolist(), "target": ["a", "b", "a"]}), encoding="utf-8")
    assert read_scores(Path("g.json")).target == ["a", "b", "a"]
    for name in ("a.npy", "b.npz", "c.npz", "d.csv", "e.json", "f.json"):
        np.testing.assert_array_equal(np.asarray(read_scores(Path(name))), VALUES, err_msg=name)
    assert list(read_scores(Path("d.csv")).columns) == ["x", "y"]


def test_shap_values_keep_their_base() -> None:
    np.savez("s.npz", values=VALUES, base_values=np.ones(3), data=VALUES)
    found = read_scores(Path("s.npz"))
    np.testing.assert_array_equal(found.values, VALUES)
    np.testing.assert_array_equal(found.base_values, np.ones(3))


def test_rows_of_different_lengths_stay() -> None:
    Path("r.json").write_text("[[1, 2], [3]]", encoding="utf-8")
    assert read_scores(Path("r.json")) == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.npy", b"", "No data left in file"),
        ("x.npy", b"\x80\x04K\x01.", "cannot read scores from x.npy"),
        ("x.txt", b"1 2 3", "cannot read scores from x.txt"),
        ("x.npz", b"PK\x03\x04", "cannot read scores from x.npz"),
        ("x.json", b"{", "x.json is not valid JSON"),
        ("x.json", b'{"kept": []}', "expected a list of rows, or a mapping with 'scores'"),
        ("x.json", b'[["a"]]', "it holds something else than numbers"),
        ("x.csv", b"a,b\n1,x\n", "the column 'b' holds no numbers"),
        ("x.csv", b"", "cannot read scores from x.csv"),
        ("x.parquet", b"PAR1", "cannot read scores from x.parquet"),
    ],
)
def test_other_files_are_refused(name: str, content: bytes, said: str) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_scores(Path(name))


def test_several_arrays_are_refused() -> None:
    np.savez("two.npz", a=VALUES, b=VALUES)
    with pytest.raises(InputError, match="it holds a, b; expected one array, or one called scores"):
        read_scores(Path("two.npz"))
