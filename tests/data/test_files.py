"""Data files, right and wrong."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unmask.data import read
from unmask.errors import InputError, UnmaskWarning

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
    ("name", "content"), [("t.csv", b"\xff\xfe\x00"), ("t.csv.gz", b"no gzip"), ("t.npz", b"nothing")]
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


def test_columns_whose_names_are_numbers(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow, of the extra parquet, is not installed")
    frame = pd.DataFrame(np.column_stack([np.arange(36.0).reshape(12, 3), [0, 1] * 6]))
    frame[4] = ["train"] * 6 + ["dev"] * 2 + ["test"] * 4
    frame.to_parquet(tmp_path / "t.parquet")
    made = read(tmp_path / "t.parquet", label="3", drop=["0"], parts="4")
    assert made.units == ("1", "2")
    assert [len(made[part]) for part in ("train", "validation", "test")] == [6, 2, 4]
    with pytest.raises(InputError, match="unknown column '7'; there are: 0, 1, 2, 3, 4"):
        read(tmp_path / "t.parquet", label="7")


@pytest.mark.parametrize("name", ["T.CSV", "T.Csv.GZ", "T.JSONL", "T.JSONL.GZ", "T.NPZ"])
def test_endings_in_capitals(tmp_path: Path, name: str) -> None:
    x, y = np.arange(20.0)[:, None], [0, 1] * 10
    frame = pd.DataFrame({"a": x[:, 0], "y": y})
    written = frame.to_json(orient="records", lines=True) if "JSONL" in name else frame.to_csv(index=False)
    if name == "T.NPZ":
        with (tmp_path / name).open("wb") as file:
            np.savez(file, x=x, y=y)
    else:
        (tmp_path / name).write_bytes(gzip.compress(written.encode()) if name.endswith("GZ") else written.encode())
    assert len(read(tmp_path / name, label=None if name == "T.NPZ" else "y").train) == 12


@pytest.mark.parametrize(("sign", "said"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_csv_without_commas_is_told_so(tmp_path: Path, sign: str, said: str) -> None:
    FRAME[["age", "town", "y"]].to_csv(tmp_path / "t.csv", sep=sign, index=False)
    with pytest.raises(InputError, match=rf"t\.csv has one column, .*, with {said} in its name; write commas between"):
        read(tmp_path / "t.csv", label="y")


@pytest.mark.parametrize("label", ["y", None])
@pytest.mark.parametrize(("name", "content"), [("t.csv", ""), ("t.csv", "a,y\n"), ("t.jsonl", ""), ("t.jsonl", "\n")])
def test_files_without_rows(tmp_path: Path, name: str, content: str, label: str | None) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=rf"{name} holds no rows: it is empty, or has a header only; check the file"):
        read(tmp_path / name, label=label)


def test_row_numbers_that_were_written_along_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    FRAME[["age", "town", "y"]].sample(frac=1, random_state=0).to_csv(tmp_path / "t.csv")
    with pytest.warns(
        UnmaskWarning, match=r"the column 'Unnamed: 0' of t\.csv .* leave it out \(--drop 'Unnamed: 0'\)"
    ):
        assert read(tmp_path / "t.csv", label="y").units == ("Unnamed: 0", "age", "town")
    FRAME.assign(age=1).rename(columns={"age": ""}).to_csv(tmp_path / "u.csv", index=False)  # the same in every row
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(tmp_path / "t.csv", label="y", drop=["Unnamed: 0"]).units == ("age", "town")
        assert read(tmp_path / "u.csv", label="y").units == ("Unnamed: 0", "town", "note")
        assert read(tmp_path / "t.csv", label="y", text="town").kind == "words"  # no table, so no feature
