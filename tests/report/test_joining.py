"""Two audits in one report: every name says which."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from report import invented
from unmask.errors import InputError
from unmask.report import Report, side_by_side


def both() -> Report:
    before = invented.findings()
    after = replace(before, model="another model")
    return side_by_side({"before": Report(before), "after": Report(after)}, {"training": {"epochs": 3}})


def test_everything_of_both_is_there_under_names_that_say_which() -> None:
    one, found = invented.findings(), both().findings
    assert len(found.rows) == 2 * len(one.rows)
    assert found.rows[0].explanation == f"{one.rows[0].explanation} (before)"
    assert found.rows[-1].explanation == f"{one.rows[-1].explanation} (after)"
    assert [v.explanation for v in found.verdicts] == [
        f"{v.explanation} ({when})" for when in ("before", "after") for v in one.verdicts
    ]
    assert found.controls == tuple(f"{c} ({when})" for when in ("before", "after") for c in one.controls)
    assert len(found.examples) == 2 * len(one.examples)
    assert [(heat.explanation, heat.words) for heat in found.heats] == [
        (f"{heat.explanation} ({when})", heat.words) for heat in one.heats for when in ("before", "after")
    ]
    assert found.model == f"{one.model} and another model"
    assert found.settings["training"] == {"epochs": 3}
    assert found.settings["k"] == one.settings["k"]


def test_places_and_training_are_named_too_and_people_are_the_same() -> None:
    one = Report(invented.rationales())
    found = side_by_side({"before": one, "after": one})
    names = [f"{name} ({when})" for when in ("before", "after") for name in ("cheater", "random")]
    assert sorted(found.findings.places) == sorted(["people", *names])
    assert set(found.findings.learning) == {"cheater (before)", "cheater (after)"}
    assert "<li>" in found.html
    assert found.html.count("random (before)</li>") == found.html.count("random (after)</li>") >= 1


def test_explanations_named_inside_checks_say_which_too() -> None:
    one, found = invented.findings(), both().findings
    pairs = [(r.explanation, r.check) for r in one.rows if "@explanation=" in r.check]
    assert [(r.explanation, r.check) for r in found.rows if "@explanation=" in r.check] == [
        (f"{name} ({when})", f"{check} ({when})") for when in ("before", "after") for name, check in pairs
    ]
    assert {r.check for r in found.rows if "@class=" in r.check} == {r.check for r in one.rows if "@class=" in r.check}
    grid = re.findall(r'<table class="grid">.*?</table>', both().html, re.DOTALL)[-1]
    columns = re.findall(r'<th scope="col">([^<]*)', grid)
    assert columns == re.findall(r'<th scope="row">([^<]*)', grid)
    assert columns == [f"{name} ({when})" for when in ("before", "after") for name in invented.NAMES[:5]]


def test_the_page_shows_both() -> None:
    page = both().html
    assert "integrated-gradients (before)" in page
    assert "integrated-gradients (after)" in page


def test_one_report_alone_or_two_tasks_are_refused() -> None:
    one = Report(invented.findings())
    with pytest.raises(InputError, match="two reports or more"):
        side_by_side({"before": one})
    with pytest.raises(InputError, match="reports of one task"):
        side_by_side({"a": one, "b": Report(replace(one.findings, task="another"))})
