"""How units lie in rows, and how rows are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import unmask
from unmask.layout import Layout

FRAME = pd.DataFrame(
    {
        "city": ["Köln", "Bonn", None, "Köln"] * 15,
        "age": [30.0, 41.5, 22.0, 63.0] * 15,
        "job": ["cook", "nurse", "cook", "smith"] * 15,
    }
)
LABELS = ["yes", "no", "no", "yes"] * 15


def by_hand(frame: pd.DataFrame) -> list[list[str]]:
    return [["?" if v is None else str(v) for v in row] for row in frame.itertuples(index=False)]


def test_categories_are_read_by_their_names_and_numbers_as_they_are() -> None:
    data = unmask.dataset(FRAME, LABELS)
    rows = [data.layout.told(row)[0] for row in data.train.x.tolist()]
    assert [list(map(str, row)) for row in rows] == by_hand(
        data.frames.decode(data.train.x).astype(object).where(lambda f: f.notna(), None)
    )
    assert data.layout.told(data.train.x[0].tolist())[1] == [0, 1, 2]


def test_variables_of_one_group_keep_a_value_each() -> None:
    data = unmask.dataset(FRAME, LABELS, groups={"who": ["age", "job"], "where": ["city"]})
    values, owner = data.layout.told(data.train.x[0].tolist())
    assert len(values) == 3
    assert sorted(owner) == [0, 0, 1]


def test_without_names_values_are_as_they_are() -> None:
    layout = Layout("table", (2,), (0, 0), ("both",))
    assert layout.told([1.0, 0.0]) == ([1.0, 0.0], [0, 0])


def test_names_of_categories_are_drawn_and_outlive_the_disk(tmp_path: Path) -> None:
    data = unmask.dataset(FRAME, LABELS)
    model = unmask.wrap(lambda x: np.stack([x[:, 0], 1 - x[:, 0]], 1) * 0.8 + 0.1, takes="array")
    explainer = unmask.L2X(k=3, recipe=unmask.Recipe(epochs=1)).fit(model, data)
    explainer.save(tmp_path / "it")
    again = unmask.load_explainer(tmp_path / "it", model=model, data=data)
    for e in (explainer.explain(data.test.x), again.explain(data.test.x)):
        city = data.frames.decode(data.test.x)["city"].iloc[0]
        assert ("?" if city is None or city != city else city) in str(e.show(0))
