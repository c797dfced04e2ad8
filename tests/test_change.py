"""What a training changed: in the terminal, on the page and for machines."""

from __future__ import annotations

from unmask.change import Change
from unmask.report import Report
from unmask.types import Findings

FELL = Change("jsd", 0.02, 0.01, "lower", "how far attention moves")
ONLY = Change("beta", None, 0.857, "higher", "the same words")


def test_a_change_is_told_everywhere() -> None:
    report = Report(Findings("a task", "a model", (), (), changes=(FELL, ONLY)))
    printed = str(report)
    assert "what the training changed" in printed
    lines = [line.split() for line in printed.splitlines()]
    assert ["jsd", "↓", "0.020", "0.010", "how", "far", "attention", "moves"] in lines
    assert ["beta", "↑", "–", "0.857", "the", "same", "words"] in lines
    first, second = report.to_json()["changes"]
    assert first == {"name": "jsd", "before": 0.02, "after": 0.01, "better": "lower", "told": "how far attention moves"}
    assert second["before"] is None
    assert '<th scope="row">jsd ↓</th><td>0.020</td><td><b>0.010</b></td>' in report.html


def test_without_any_nothing_is_said() -> None:
    report = Report(Findings("a task", "a model", (), ()))
    assert "changed" not in str(report)
    assert "changes" not in report.to_json()
    assert "What the training changed" not in report.html
