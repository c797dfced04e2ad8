"""Noise into every loader: what comes out is a data set or one sentence, never another error.

Few tries by default; `make fuzz`, or any number as `UNMASK_FUZZ`, makes more, shared out among the tests.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unmask.cli.scores import read_scores
from unmask.data import read
from unmask.data.files import ENDINGS
from unmask.errors import InputError
from unmask.loading import load as load_explainer
from unmask.stored import check, read_report

SORTS = 7  # of noise, a test for each
TRIES = -(-int(os.environ.get("UNMASK_FUZZ", "175")) // SORTS)
often = settings(max_examples=TRIES, deadline=None, derandomize=TRIES <= 25, suppress_health_check=list(HealthCheck))

cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)
plain = st.one_of(st.integers(-5, 5), st.floats(), st.sampled_from(["a", "b", "", "good film", "\u200d", "<br />"]))
NAMES = ["label", "t", "a", "b", ""]
rows = st.one_of(
    st.lists(st.dictionaries(st.sampled_from(NAMES), cells, max_size=4), max_size=9),
    st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, plain)), min_size=6, max_size=12),
    st.lists(cells, max_size=3),
)
columns = st.sampled_from([None, "label", "t", "a", "", "nowhere"])
kinds: Any = st.sampled_from([None, "table", "image", "words", "sentences"])


def survives(work: Any) -> None:
    """`work()` gives something, or says one thing clearly."""
    with warnings.catch_warnings(), contextlib.suppress(InputError):
        warnings.simplefilter("ignore")  # of pandas and numpy, about what is in the noise
        work()


def opened(content: bytes, ending: str, *how: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"noise{ending}"
        path.write_bytes(content)
        survives(lambda: read(path, *how))


@often
@given(st.binary(max_size=200), st.sampled_from(ENDINGS), columns, columns, kinds)
def test_noise_in_files(content: bytes, ending: str, label: Any, text: Any, kind: Any) -> None:
    opened(content, ending, label, text, kind)


@often
@given(rows, columns, columns, kinds, st.sampled_from([(), ("a",), ("label",), ("t", "b")]), columns)
def test_lines_of_json(lines: list[Any], label: Any, text: Any, kind: Any, drop: Any, parts: Any) -> None:
    content = "\n".join(json.dumps(row) for row in lines).encode()
    opened(content, ".jsonl", label, text, kind, 0, drop, parts)


@often
@given(st.lists(st.lists(plain, min_size=1, max_size=4), max_size=12), columns, columns, kinds)
def test_rows_of_csv(table: list[list[Any]], label: Any, text: Any, kind: Any) -> None:
    content = "\n".join(",".join(f'"{value}"' for value in row) for row in [["label", "t", "a", "b"], *table])
    opened(content.encode(), ".csv", label, text, kind)


arrays = st.one_of(
    st.lists(plain, max_size=12).map(lambda v: np.array(v if v else [], dtype=object).astype(str)),
    st.lists(st.integers(0, 2), max_size=12).map(np.array),
    st.tuples(st.integers(0, 12), st.integers(0, 4)).map(np.zeros),
    st.tuples(st.integers(6, 12), st.integers(1, 4), st.integers(1, 4)).map(np.zeros),
    st.tuples(st.integers(6, 9), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)).map(np.ones),
    st.floats().map(np.array),
    st.just(np.full((9, 3), np.nan)),
)
KEYS = ["x", "y", "x_train", "y_train", "x_test", "y_test", "x_dev", "y_dev", "other"]


@often
@given(st.dictionaries(st.sampled_from(KEYS), arrays, max_size=6), kinds)
def test_arrays_of_npz(held: dict[str, Any], kind: Any) -> None:
    stream = io.BytesIO()
    np.savez(stream, **held)
    opened(stream.getvalue(), ".npz", None, None, kind)


@often
@given(
    st.one_of(st.binary(max_size=99), cells.map(lambda v: json.dumps(v).encode())),
    st.sampled_from(["s.npy", "s.npz", "s.csv", "s.json", "s.parquet"]),
)
def test_noise_as_scores_reports_and_explainers(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        survives(lambda: read_scores(path))
        survives(lambda: read_report(path))
        (Path(folder) / "explainer.json").write_bytes(content)
        survives(lambda: load_explainer(folder))


FACTS = ["rows", "verdicts", "task", "model", "check", "value", "format", "method", "settings"]
facts = st.recursive(cells, lambda inner: st.dictionaries(st.sampled_from(FACTS), inner, max_size=5), max_leaves=9)


@often
@given(facts)
def test_json_of_other_shapes(found: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explainer.json"
        path.write_text(json.dumps(found), encoding="utf-8")
        survives(lambda: read_report(path))
        survives(lambda: load_explainer(folder))
        survives(lambda: read_scores(path))


@often
@given(
    st.lists(
        st.sampled_from(
            ["fs-m", ">", "<=", "0.9", "and", "or", "not", "(", ")", ":", "'", "verdict", "care", "@", "="]
        ),
        max_size=9,
    )
)
def test_rules(words: list[str]) -> None:
    from unmask.stored.reading import Number, Stored

    report = Stored("r", "", "", {("a", "fs-m"): Number(0.5, 0.4, 0.6, "higher", 9)}, {"a": "care"})
    survives(lambda: check(report, " ".join(words)))
    survives(lambda: check(report, "".join(words), strict=True))


def test_the_tries_are_shared_out_among_all_tests() -> None:
    assert sum(hasattr(thing, "hypothesis") for name, thing in globals().items() if name.startswith("test_")) == SORTS
