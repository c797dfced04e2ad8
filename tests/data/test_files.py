"""Data files, right and wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unmask.data import read
from unmask.errors import InputError

FRAME = pd.DataFrame(
    {"age": range(20), "town": ["a", "b"] * 10, "note": ["Good one.", "Bad."] * 10, "y": ["no", "yes"] * 10}
)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_csv_as_table_and_as_texts(tmp_path: Path, name: str) -> None:
    FRAME.to_csv(tmp_path / name, index=False)
    made = read(tmp_path / name, label="y")
    assert made.kind == "table"
    assert made.units == ("age", "town", "note")
    assert made.classes == ("no", "yes")
    assert made.name == name
    texts = read(str(tmp_path / name), label="y", text="note")
    assert texts.kind == "words"
    assert ["bad", "."] in texts.train.x


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_jsonl(tmp_path: Path, name: str) -> None:
    records = [{"text": [["a", "b"], ["c"]], "y": i % 2} for i in range(10)]
    FRAME.to_json(tmp_path / name, orient="records", lines=True)
    assert read(tmp_path / name, label="y", text="note").kind == "words"
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert read(tmp_path / "s.jsonl", label="y", text="text", kind="sentences").train.x[0] == [["a", "b"], ["c"]]


def test_npz_whole_and_in_parts(tmp_path: Path) -> None:
    x, y = np.arange(60.0).reshape(20, 3), np.array([0, 1] * 10)
    np.savez(tmp_path / "a.npz", x=x, y=y)
    assert len(read(tmp_path / "a.npz").train) == 12
    np.savez(tmp_path / "b.npz", x_train=x, y_train=y, x_test=x[:4] + 100, y_test=y[:4])
    made = read(tmp_path / "b.npz")
    assert (len(made.train), len(made.validation), len(made.test)) == (16, 4, 4)
    assert made.test.x[:, 0].min() == 100
    np.savez(tmp_path / "c.npz", x_train=x, y_train=y, x_val=x[:2], y_val=y[:2], x_test=x[:4], y_test=y[:4])
    assert len(read(tmp_path / "c.npz").validation) == 2


def test_parquet_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")

    def absent(*args: Any) -> None:
        raise ImportError("no parquet engine")

    monkeypatch.setattr(pd, "read_parquet", absent)
    with pytest.raises(InputError, match=r't.parquet needs the package pyarrow; run pip install "unmask\[parquet\]"'):
        read(tmp_path / "t.parquet", label="y")


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow, of the extra parquet, is not installed")
    FRAME.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", label="y").units == ("age", "town", "note")


def test_unknown_ending_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t.xlsx has an unknown ending; the known ones are: .csv, .csv.gz, .jsonl"):
        read(tmp_path / "t.xlsx")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read(tmp_path / "t.csv", label="y")


def test_label_is_asked_for_and_the_nearest_column_named(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"say which column of t\.csv is the label; it has: age, town, note, y"):
        read(tmp_path / "t.csv")
    with pytest.raises(InputError, match="unknown column 'towns'; did you mean 'town'"):
        read(tmp_path / "t.csv", label="towns")
    with pytest.raises(InputError, match="unknown column 'notes'"):
        read(tmp_path / "t.csv", label="y", text="notes")


@pytest.mark.parametrize(
    ("name", "content"), [("t.csv", b"\xff\xfe\x00"), ("t.csv", b""), ("t.csv.gz", b"no gzip"), ("t.npz", b"nothing")]
)
def test_unreadable(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / name, label="y")


def test_npz_with_other_arrays_or_lengths(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", data=np.zeros(3))
    with pytest.raises(InputError, match=r"a\.npz must hold x and y, or x_train, y_train, x_test and y_test, got data"):
        read(tmp_path / "a.npz")
    y = np.array([0, 1, 0, 1, 0, 1])
    np.savez(tmp_path / "b.npz", x_train=np.zeros((5, 2)), y_train=y, x_test=np.zeros((6, 2)), y_test=y)
    with pytest.raises(
        InputError, match=r"x_train and y_train of b\.npz must have the same number of rows, got 5 and 6"
    ):
        read(tmp_path / "b.npz")


def test_empty_text_names_its_row(tmp_path: Path) -> None:
    FRAME.assign(note=["fine", None] * 10).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="row 1 is empty"):
        read(tmp_path / "t.csv", label="y", text="note")


def test_columns_that_are_left_out_and_a_column_of_parts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": range(12), "a": np.arange(12.0), "y": [0, 1] * 6})
    frame["part"] = ["train"] * 6 + ["dev"] * 2 + ["Test "] * 4
    frame.to_csv(tmp_path / "t.csv", index=False)
    made = read(tmp_path / "t.csv", label="y", drop=["id"], parts="part")
    assert made.units == ("a",)
    assert [len(made[part]) for part in ("train", "validation", "test")] == [6, 2, 4]
    assert made.test.x[:, 0].tolist() == [8.0, 9.0, 10.0, 11.0]
    with pytest.raises(InputError, match="unknown column 'ids'; did you mean 'id'"):
        read(tmp_path / "t.csv", label="y", drop=["ids"])
    frame.assign(part="rest").to_csv(tmp_path / "u.csv", index=False)
    with pytest.raises(
        InputError, match=r"the column 'part' of u.csv must say train, validation or test .* got 'rest'"
    ):
        read(tmp_path / "u.csv", label="y", drop=["id"], parts="part")


def test_arrays_have_no_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((12, 2)), y=[0, 1] * 6)
    with pytest.raises(InputError, match=r"a\.npz holds arrays, not columns: leave label"):
        read(tmp_path / "a.npz", label="y")


def test_arrays_that_do_not_fit_together(tmp_path: Path) -> None:
    parts = {"x_train": np.zeros((9, 2)), "y_train": [0, 1, 0] * 3, "x_test": np.zeros((3, 4)), "y_test": [0, 1, 0]}
    np.savez(tmp_path / "a.npz", **parts)
    with pytest.raises(InputError, match=r"the parts of a\.npz do not fit together"):
        read(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", **{**parts, "y_test": 1.0})
    with pytest.raises(InputError, match=r"y_test of b\.npz must hold rows, got a single value"):
        read(tmp_path / "b.npz")


def test_validation_rows_that_are_lacking_are_drawn_alike_for_tables_and_arrays(tmp_path: Path) -> None:
    x, y = np.arange(24.0)[:, None], np.array(["b", "a", "a"] * 8)
    frame = pd.DataFrame({"a": x[:, 0], "y": y, "part": ["train"] * 20 + ["test"] * 4})
    frame.to_csv(tmp_path / "t.csv", index=False)
    np.savez(tmp_path / "t.npz", x_train=x[:20], y_train=y[:20], x_test=x[20:], y_test=y[20:])
    table, arrays = read(tmp_path / "t.csv", label="y", parts="part", seed=3), read(tmp_path / "t.npz", seed=3)
    assert [len(table[part]) for part in ("train", "validation", "test")] == [16, 4, 4]
    for part in ("train", "validation", "test"):
        assert table[part].x.tolist() == arrays[part].x.tolist()
    turned = frame.iloc[::-1]  # training rows come last
    turned.to_csv(tmp_path / "u.csv", index=False)
    made = read(tmp_path / "u.csv", label="y", parts="part")
    assert made.test.x[:, 0].tolist() == [23.0, 22.0, 21.0, 20.0]
    assert sorted([*made.train.x[:, 0].tolist(), *made.validation.x[:, 0].tolist()]) == list(map(float, range(20)))
    frame.assign(part=["train"] * 20 + ["dev"] * 4).to_csv(tmp_path / "v.csv", index=False)
    with pytest.raises(InputError, match="each of train, validation and test needs at least one row"):
        read(tmp_path / "v.csv", label="y", parts="part")


def test_words_that_look_like_missing_values_are_words(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("note,n,y\n" + "null,NA,None\nn/a,1,NA\nfine,2,null\n" * 4)
    made = read(tmp_path / "t.csv", label="y", text="note")
    assert made.classes == ("NA", "None", "null")
    assert ["null"] in made.train.x
    table = read(tmp_path / "t.csv", label="y", drop=["note"])
    assert table.units == ("n",)
    assert table.train.x.isnan().any()  # elsewhere NA is a missing value


def test_empty_cells_and_gaps_among_numbers_are_missing_labels(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("n,y\n" + "1,NA\n2,None\n3,\n" * 4)
    with pytest.raises(InputError, match=r"y is missing \(NaN\) in row 2"):
        read(tmp_path / "t.csv", label="y")
    (tmp_path / "u.csv").write_text("n,y\n" + "1,0\n2,1\n3,NA\n" * 4)
    with pytest.raises(InputError, match=r"y is missing \(NaN\) in row 2"):
        read(tmp_path / "u.csv", label="y")


def test_columns_of_lists_are_refused(tmp_path: Path) -> None:
    rows = [{"a": [1, 2], "b": i, "y": i % 2} for i in range(12)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=r"column 'a' must hold .* got list; make columns of it or drop it"):
        read(tmp_path / "t.jsonl", label="y")
    assert read(tmp_path / "t.jsonl", label="y", drop=["a"]).units == ("b",)


def test_parquet_with_names_of_several_levels(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow, of the extra parquet, is not installed")
    levels = pd.MultiIndex.from_tuples([("y", "a"), ("y", "b")])
    pd.DataFrame(np.zeros((6, 2)), columns=levels).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"one name, got the levels \('y', 'a'\)"):
        read(tmp_path / "t.parquet", label="y")
