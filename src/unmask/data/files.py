"""Data files as Datasets: csv, jsonl, parquet and npz."""

from __future__ import annotations

import itertools
import zipfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask import progress
from unmask.data import folder, frames
from unmask.data.labels import labels
from unmask.data.own import dataset
from unmask.data.splits import shares
from unmask.errors import InputError, unknown
from unmask.types import Dataset, Kind

__all__ = ["ENDINGS", "read"]

ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".npz", ".parquet")
SEPARATORS = {";": "semicolons", "\t": "tabs"}
NUMBERING = "Unnamed: 0"  # what pandas calls a first column without a name
_VALIDATION = ("validation", "valid", "val", "dev")


def read(
    path: str | Path,
    label: str | None = None,
    text: str | None = None,
    kind: Kind | None = None,
    seed: int = 0,
    drop: Sequence[str] = (),
    parts: str | None = None,
) -> Dataset:
    """A data file by its ending, in capitals or not.

    `label` names the column of the classes and `text` that of the texts, which are cut into words as `dataset` does it;
    without `text` all other columns are a table, but those in `drop`. `parts` names the column that says train,
    validation or test; without it rows are divided. Validation rows are drawn from the training rows where only they
    are lacking.
    An npz holds the arrays x and y, or x_train, y_train, x_test, y_test and perhaps x_validation, y_validation.
    """
    path = Path(path)
    ending = next((known for known in sorted(ENDINGS, key=len) if path.name.lower().endswith(known)), None)
    if ending is None:
        raise InputError(f"{path.name} has an unknown ending; the known ones are: {', '.join(ENDINGS)}")
    if not path.is_file():
        raise InputError(f"there is no file {path}; check the path")
    if ending == ".npz":
        arrays = _stored(path)
        if drop or any(column is not None for column in (label, text, parts)):
            raise InputError(f"{path.name} holds arrays, not columns: leave label, text, drop and parts out")
        return _arrays(arrays, path.name, kind, seed)
    frame = _frame(path, ending, (label, text))
    _check_frame(frame, path, ending)
    if label is None:
        raise InputError(f"say which column of {path.name} is the label; it has: {', '.join(map(str, frame.columns))}")
    named = _found(frame, [column for column in (label, text, *drop, parts) if column is not None])
    y = frame[named[label]]
    split = None if parts is None else _completed(_named_parts(frame[named[parts]], path.name), y, seed)
    if text is not None:
        return dataset(_texts(frame[named[text]]), y, kind or "words", split=split, seed=seed, name=path.name)
    x = frame.drop(columns=list(named.values()))
    _tell_numbering(x, path.name)
    return dataset(x, y, kind, split=split, seed=seed, name=path.name)


def _check_frame(frame: pd.DataFrame, path: Path, ending: str) -> None:
    """Refuse what holds no rows, or no columns as they were meant."""
    if not len(frame):
        raise InputError(f"{path} holds no rows: it is empty, or has a header only; check the file")
    frames.check_names(frame)
    only = str(frame.columns[0]) if len(frame.columns) == 1 and ending.startswith(".csv") else ""
    between = next((name for sign, name in SEPARATORS.items() if sign in only), None)
    if between is not None:
        raise InputError(
            f"{path.name} has one column, {only[:60]!r}, with {between} in its name; write commas between the columns"
        )


def _found(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Hashable]:
    """Columns by what they are called: a name may be a number in the file."""
    known = {str(column): column for column in frame.columns}
    for name in names:
        if str(name) not in known:
            raise unknown("column", str(name), known)
    return {name: known[str(name)] for name in names}


def _tell_numbering(x: pd.DataFrame, name: str) -> None:
    """Warn of the index of a data frame that was written along: it has no name and numbers the rows."""
    for column in x.columns:
        if str(column).startswith(NUMBERING) and x[column].astype(str).is_unique:
            progress.warn(
                f"the column {column!r} of {name} has no name in the file and another value in every row: row numbers? "
                f"the model would see them; leave it out (--drop {column!r})"
            )


def _named_parts(column: pd.Series, name: str) -> dict[str, Any]:
    """Row numbers by the words in a column."""
    words = {"train": ("train", "training"), "validation": _VALIDATION, "test": ("test", "testing")}
    told = column.astype(str).str.strip().str.lower()
    strange = np.flatnonzero(~told.isin([word for several in words.values() for word in several]).to_numpy())
    if len(strange):
        raise InputError(
            f"the column {str(column.name)!r} of {name} must say train, validation or test in every row, got "
            f"{column.iloc[strange[0]]!r} in row {strange[0]}"
        )
    return {part: np.flatnonzero(told.isin(several).to_numpy()) for part, several in words.items()}


def _completed(split: dict[str, Any], y: Any, seed: int) -> dict[str, Any]:
    """The split, its validation rows drawn from the training rows where it has none."""
    train = split["train"]
    if len(split["validation"]) or not len(train):
        return split
    codes, _ = labels(y)
    rest, drawn = (train[piece.numpy()] for piece in shares(codes[train], seed, (0.8, 0.2)))
    return {**split, "train": rest, "validation": drawn}


def _texts(column: pd.Series) -> list[Any]:
    return ["" if isinstance(value, float) and value != value else value for value in column]


def _frame(path: Path, ending: str, spelled: Sequence[str | None]) -> pd.DataFrame:
    """The table of a file; `spelled` are columns in whose words a csv file means no missing value by NA."""
    if ending.startswith(".jsonl"):
        rows = folder.read_jsonl(path)
        if not all(isinstance(row, dict) for row in rows):
            raise InputError(f'{path}: every line must be an object such as {{"text": "...", "label": "..."}}')
        return pd.DataFrame(rows)
    try:
        return pd.read_parquet(path) if ending == ".parquet" else _csv(path, spelled)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except ImportError as fault:
        raise InputError(f'{path.name} needs the package pyarrow; run pip install "unmask[parquet]"') from fault
    except (OSError, EOFError, ValueError) as fault:  # the errors of the parsers are ValueErrors
        raise InputError(f"{path} cannot be read as {ending} ({fault}); check the file") from fault


def _csv(path: Path, spelled: Sequence[str | None]) -> pd.DataFrame:
    """A csv file; of words in `spelled` columns only an empty cell is missing, while NA, None or null are words.

    Among numbers they still say that one is missing.
    """
    frame = pd.read_csv(path)
    wordy = [column for column in spelled if column in frame.columns and _has_gaps_in_words(frame[column])]
    if wordy:
        written = pd.read_csv(path, keep_default_na=False, na_values=[""])
        for column in wordy:
            frame[column] = written[column].array
    return frame


def _has_gaps_in_words(column: pd.Series) -> bool:
    return bool(column.isna().any()) and all(isinstance(value, str) for value in column.dropna())


def _stored(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            return {name: stored[name] for name in stored.files}
    except (AttributeError, OSError, EOFError, ValueError, zipfile.BadZipFile) as fault:
        raise InputError(f"{path} cannot be read as plain arrays ({fault}); save it with numpy.savez") from fault


def _arrays(arrays: dict[str, Any], name: str, kind: Kind | None, seed: int) -> Dataset:
    if {"x", "y"} <= set(arrays):
        return dataset(arrays["x"], arrays["y"], kind, seed=seed, name=name)
    if {"x_train", "y_train", "x_test", "y_test"} <= set(arrays):
        return _given_parts(arrays, kind, seed, name)
    held = ", ".join(arrays) or "nothing"
    raise InputError(f"{name} must hold x and y, or x_train, y_train, x_test and y_test, got {held}; rename them")


def _given_parts(arrays: dict[str, Any], kind: Kind | None, seed: int, name: str) -> Dataset:
    """The splits of the file; validation rows are drawn from the training rows where it has none."""
    middle = next((part for part in _VALIDATION if f"x_{part}" in arrays and f"y_{part}" in arrays), None)
    held = ["train", *([middle] if middle else []), "test"]
    alone = next((key for part in held for key in (f"x_{part}", f"y_{part}") if not np.ndim(arrays[key])), None)
    if alone is not None:
        raise InputError(f"{alone} of {name} must hold rows, got a single value")
    for part in held:
        if len(arrays[f"x_{part}"]) != len(arrays[f"y_{part}"]):
            raise InputError(
                f"x_{part} and y_{part} of {name} must have the same number of rows, "
                f"got {len(arrays[f'x_{part}'])} and {len(arrays[f'y_{part}'])}; match them up"
            )
    sizes = np.cumsum([0, *(len(arrays[f"y_{part}"]) for part in held)])
    spans = [np.arange(start, end) for start, end in itertools.pairwise(sizes)]
    if middle is None:
        spans.insert(1, np.arange(0))
    try:
        x, y = (np.concatenate([arrays[f"{xy}_{part}"] for part in held]) for xy in "xy")
    except (TypeError, ValueError) as fault:
        raise InputError(f"the parts of {name} do not fit together ({fault}); give them rows of one shape") from fault
    split = dict(zip(("train", "validation", "test"), spans, strict=True))
    return dataset(x, y, kind, split=_completed(split, y, seed), seed=seed, name=name)
