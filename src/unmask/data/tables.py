"""Real tables: census incomes, two kinds of credit, repeated arrests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from unmask.data import DATASETS, folder, frames, sizes, splits
from unmask.errors import InputError
from unmask.types import Dataset

__all__ = ["TABLES", "Table", "load_table"]


@dataclass(frozen=True)
class Table:
    """The files of one set, its label, and which columns may be used."""

    files: dict[str, int]  # file -> rows; a second file is the test
    label: str
    classes: dict[Any, str]  # value in the file -> name, in the order of the class numbers
    columns: tuple[str, ...] = ()  # () = all
    remark: str = ""


TABLES = {
    "adult": Table(
        {"adult_train": 32561, "adult_test": 16281},
        "income",
        {"<=50K": "up to 50K", ">50K": "above 50K"},
        remark="a missing value is the category '?'",
    ),
    "compas": Table(
        {"compas_two_years": 7214},
        "two_year_recid",
        {0: "no", 1: "yes"},
        (
            "sex",
            "age",
            "race",
            "juv_fel_count",
            "juv_misd_count",
            "juv_other_count",
            "priors_count",
            "c_charge_degree",
        ),
        "left out: the COMPAS scores, custody and follow-up dates and all that was recorded after the screening, which "
        "give the label away; age_cat (age again); the free text of the charge. No rows are filtered out",
    ),
    "german": Table({"german_credit": 1000}, "label", {1: "good", 2: "bad"}),
    "heloc": Table(
        {"heloc": 10459},
        "risk_performance_bad",
        {0: "good", 1: "bad"},
        remark="special values stay as numbers: -7 condition not met, -8 no usable trades or inquiries, -9 no record",
    ),
}


def load_table(name: str, seed: int, rows: Any = None, scale: str = "default") -> Dataset:
    """A table with one unit for each variable; without a test file the rows are split 60/20/20."""
    recipe = TABLES[name]
    files = [_read(name, file, expected) for file, expected in recipe.files.items()]
    whole = pd.concat(files, ignore_index=True)
    codes = {value: code for code, value in enumerate(recipe.classes)}
    y = torch.tensor([codes[value] for value in whole[recipe.label]])
    frame = whole[list(recipe.columns)] if recipe.columns else whole.drop(columns=recipe.label)
    codec = frames.learn(frame)
    x, layout = codec.encode(frame), codec.layout()
    caps = sizes.caps(rows, scale, sizes.SMALL)
    chosen = _positions(y, [len(file) for file in files], caps, seed)
    parts = [splits.array_split(x[index], y[index], layout) for index in chosen]
    notes = {"source": DATASETS[name].where, "columns": list(frame.columns), "remark": recipe.remark, "scale": scale}
    return splits.joined(name, layout, tuple(recipe.classes.values()), parts, notes, codec)


def _read(name: str, file: str, expected: int) -> pd.DataFrame:
    source = DATASETS[name]
    place = folder.find(source.where)
    path = None if place is None else Path(place, f"{file}.csv.gz")
    if path is None or not path.is_file():
        raise folder.missing(name, f"{source.where}/{file}.csv.gz", source.hub)
    try:
        frame = pd.read_csv(path, keep_default_na=name != "adult")
    except (OSError, EOFError, ValueError) as fault:
        raise InputError(f"{path} cannot be read as a table ({fault}); check the file or fetch it again") from fault
    folder.check_rows(name, file, len(frame), expected)
    return frame


def _positions(y: torch.Tensor, files: list[int], caps: sizes.Caps, seed: int) -> list[torch.Tensor]:
    """Row numbers of the three splits in the files put end to end."""
    if len(files) == 1:
        pieces = splits.shares(y, seed)
        return [piece[sizes.some(y[piece], cap, seed)] for piece, cap in zip(pieces, caps, strict=True)]
    first = files[0]
    train, validation = sizes.held_out(y[:first], caps[0], caps[1], seed)
    return [train, validation, first + sizes.some(y[first:], caps[2], seed)]
