"""Tables for people, JSON for machines."""

from __future__ import annotations

import json
from math import nan

import pytest

from cli.conftest import Run, refused
from unmask.audit import CHECKS
from unmask.auto import Comparison
from unmask.cli import tables
from unmask.data import DATASETS
from unmask.methods import METHODS, MODELS
from unmask.types import Findings, Result, Verdict


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize(
    ("words", "key", "table"),
    [
        (["methods"], "method", {**METHODS, **MODELS}),
        (["checks"], "check", CHECKS),
        (["data", "list"], "data set", DATASETS),
    ],
    ids=["methods", "checks", "data"],
)
def test_lists(run: Run, words: list[str], key: str, table: dict[str, object]) -> None:
    shown = run(*words)
    assert shown.code == 0
    lines = shown.out.partition("\n\n")[0].splitlines()
    assert lines[0].split()[0] == key.split()[0]
    assert [line.split()[0] for line in lines[1:] if line[0] != " "] == list(table)
    rows = json.loads(run(*words, "--json").out)
    assert [row[key] for row in rows] == list(table)
    assert all(row["line"] for row in rows)


def test_facts_of_rows() -> None:
    gradient = next(row for row in tables.method_rows(METHODS) if row["method"] == "gradient")
    assert (gradient["model"], gradient["paper"]) == ("torch", "Simonyan et al. 2014")
    assert {row["model"] for row in tables.method_rows(MODELS, "itself")} == {"itself"}
    assert tables.check_rows(CHECKS)[0]["better"] == CHECKS["fs-m"].better
    when = {row["check"]: row["run"] for row in tables.check_rows(CHECKS)}
    assert (when["fs-m"], when["calls"], when["fs-a"], when["sen"]) == ("default", "default", "on demand", "on demand")
    assert {row["data set"]: row["here"] for row in tables.data_rows()}["digits"] == "embedded"


def test_one_data_set(run: Run) -> None:
    shown = run("data", "info", "reviews:preset=hard,skew=10").out
    assert "preset=hard, skew=10" in shown
    assert "opening sentence alone" in shown
    assert "reviews:option=value" in shown
    facts = json.loads(run("data", "info", "emotion", "--json").out)
    assert facts["options"] == list(DATASETS["emotion"].options)
    assert facts["write"].startswith("emotion:VALUE sets only")
    assert "reviews has no option 'size'" in refused(run("data", "info", "reviews:size=3"))
    assert tables.data_facts("tumours")["options"] == []
    assert "none" in run("data", "info", "tumours").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["data", "info", "tumour"], "unknown data set 'tumour'; did you mean 'tumours'?"),
        (["data", "info"], "say which data set"),
        (["data", "show"], "unmask data takes 'list' or 'info NAME', got 'show'"),
        (["data", "digits"], "unmask data takes 'list' or 'info NAME', got 'digits'; for one data set: unmask data in"),
    ],
)
def test_mistakes(run: Run, words: list[str], said: str) -> None:
    assert refused(run(*words)).startswith(said)


def test_the_candidates_of_auto_stand_in_a_table_the_chosen_one_first() -> None:
    results = [
        Result(name, check, value, value, value, 0.5, "none", None, 10, 0.0)
        for name, value in (("meed", 0.6), ("mimic", 0.91234))
        for check in ("fs-m", "fu-m", "reading")
    ]
    nothing = [Result(name, "encoding-share", nan, nan, nan, nan, "lower", None, 0, 0.0) for name in ("meed", "mimic")]
    verdicts = (Verdict("meed", "care", ()), Verdict("mimic", "trust", ()))
    rows = tables.compared_rows(Comparison("mimic", "", Findings("t", "m", (*results, *nothing), verdicts)))
    assert [row["method"] for row in rows] == ["mimic", "meed"]
    assert rows[0] == {
        "method": "mimic",
        "fs-m": 0.912,
        "fu-m": 0.912,
        "reading": 0.912,
        "share": None,
        "verdict": "trust",
        "chosen": "yes",
    }
