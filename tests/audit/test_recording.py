"""What an audit was run with."""

from __future__ import annotations

import json

from audit.cases import linear, table
from unmask.audit import evidence
from unmask.audit.recording import recorded
from unmask.audit.subjects import Settings, assemble
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
    assert json.dumps(found)
