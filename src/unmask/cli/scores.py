"""Scores that were made elsewhere, from a file: npy, npz, csv, parquet or json."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from unmask.errors import InputError
from unmask.writing import read_json

__all__ = ["read_scores"]


def read_scores(path: Path) -> Any:
    """What `audit` takes: an array, a data frame, a list of rows, scores with their classes, or SHAP values.

    An npz holds one array, or one called scores, or SHAP's values with base_values and perhaps data. A csv or parquet
    has a column for each unit. A json is a list of rows, which may differ in length, or what `unmask explain` writes.
    """
    ending = path.suffix.lower()
    if ending == ".json":
        return _from_json(path)
    if ending in (".csv", ".parquet"):
        return _from_table(path, ending)
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            return _one_of({name: found[name] for name in found.files}, path)
    except InputError:
        raise
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot read scores from {path}: {error}; expected .npy or .npz of numpy, .csv, .parquet or .json"
        ) from error


def _one_of(arrays: dict[str, Any], path: Path) -> Any:
    if {"values", "base_values"} <= set(arrays):
        return SimpleNamespace(**{"data": None, **arrays})
    if len(arrays) == 1 or "scores" in arrays:
        return arrays.get("scores", next(iter(arrays.values())))
    held = ", ".join(arrays) or "nothing"
    raise InputError(f"cannot read scores from {path}: it holds {held}; expected one array, or one called scores")


def _from_json(path: Path) -> Any:
    found = read_json(path, "scores, a list of rows")
    rows = found.get("scores") if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InputError(f"cannot read scores from {path}: expected a list of rows, or a mapping with 'scores'")
    flat = json.dumps(rows)
    if '"' in flat or "{" in flat:
        raise InputError(f"cannot read scores from {path}: it holds something else than numbers")
    target = found.get("target") if isinstance(found, dict) else None
    return rows if not isinstance(target, list) else SimpleNamespace(scores=rows, target=target)


def _from_table(path: Path, ending: str) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path) if ending == ".csv" else pd.read_parquet(path)
    except (OSError, ImportError, ValueError) as error:
        raise InputError(f"cannot read scores from {path}: {error}; expected a column for each unit") from error
    words = next((c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])), None)
    if words is not None:
        raise InputError(f"cannot read scores from {path}: the column {str(words)!r} holds no numbers; leave it out")
    return frame
