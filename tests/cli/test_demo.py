"""The tour on embedded data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run, hidden, refused
from unmask import api
from unmask.cli import demo
from unmask.data import DATASETS
from unmask.methods import METHODS
from unmask.training import Recipe


def test_every_tour_names_what_exists() -> None:
    for name, tour in demo.TOURS.items():
        assert DATASETS[name].where == "embedded"
        assert set(tour.methods) <= set(METHODS)
        assert "cheater" in tour.methods


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_the_whole_job(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = api.train_model

    def hasty(data: Any, **settings: Any) -> Any:
        return train(data, seed=settings["seed"], recipe=Recipe(epochs=3))

    monkeypatch.setattr(api, "train_model", hasty)
    monkeypatch.setitem(demo.TOURS, "tumours", demo.Tour(4, "a short tour", ("occlusion", "cheater")))
    ended = run("demo", "--task", "tumours", "--out", str(tmp_path / "tour"))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("tumours: a short tour\na model (reference TableNet) is trained: ")
    assert "'cheater' is a liar put there on purpose" in ended.out
    report = json.loads((tmp_path / "tour" / "report.json").read_text(encoding="utf-8"))
    assert [v["explanation"] for v in report["verdicts"]] == ["occlusion", "cheater", "random", "first-k", "last-k"]
    assert (tmp_path / "tour" / "report.html").is_file()
    assert hidden(tmp_path) == []


def test_refused_before_any_work(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "load", None)
    assert refused(run("demo", "--task", "tumour")) == "unknown demo task 'tumour'; did you mean 'tumours'?"
    (tmp_path / "taken").touch()
    said = refused(run("demo", "--out", str(tmp_path / "taken")))
    assert said.endswith("is a file; name a folder")
