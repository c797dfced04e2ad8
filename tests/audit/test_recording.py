"""What an audit was run with."""

from __future__ import annotations

import json
import warnings

import pytest

from audit.cases import linear, table
from unmask import api
from unmask.audit import evidence
from unmask.audit.recording import recorded
from unmask.audit.subjects import Settings, assemble
from unmask.errors import UnmaskWarning
from unmask.methods import make
from unmask.models import bind, wrap


def test_all_that_decides_is_written_down() -> None:
    data = table()
    settings = Settings(k=2, n=30, seed=4, removal="zero", pool=100)
    model = bind(wrap(linear), data)
    found = recorded(assemble(model, data, {"it": make("occlusion", 2, "zero").fit(model, data)}, settings), settings)
    assert (found["k"], found["n"], found["seed"], found["removal"], found["split"]) == (2, 30, 4, "zero", "test")
    assert found["explanations"]["it"]["method"] == "occlusion"
    assert "seconds" not in found["explanations"]["it"]
    assert found["thresholds"]["better off elsewhere"] == evidence.ELSEWHERE
    assert found["model is right in"] == "100% of the rows"
    assert found["data"]["units"] == list(data.units)
    assert json.dumps(found)


def test_a_model_that_is_right_less_often_than_by_chance_may_have_its_classes_in_another_order() -> None:
    data = table()

    def turned(x):
        return linear(x).flip(1)

    explanations = {"it": "occlusion"}
    with pytest.warns(UnmaskWarning, match=r"turned agrees with the labels in 0% of the rows, .* data, 0, 1\?"):
        report = api.audit(bind(wrap(turned), data), data, explanations, k=2, n=40, checks="fs-m")
    assert report.findings.settings["model is right in"] == "0% of the rows"
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnmaskWarning)
        api.audit(bind(wrap(linear), data), data, explanations, k=2, n=40, checks="fs-m")
